"""kill -9 at every step of a request's life: no decision is lost, none is made up, nothing is run twice."""

import contextlib
import threading
from collections.abc import Callable

import httpx2
import pytest
from tests.services.approvals.conftest import Asking, Process

DONE = {"outcome": "done", "answer": {"success": True}}

Step = Callable[[Process, Asking, str], object]
STEPS: list[tuple[str, Step, str]] = [
    ("stored", lambda process, gateway, id_: None, "pending"),
    ("decided", lambda process, gateway, id_: process.command("approve", id_), "approved"),
    ("claimed", lambda process, gateway, id_: gateway.post(id_, "claim"), "dispatched"),
    ("reported", lambda process, gateway, id_: gateway.post(id_, "result", DONE), "done"),
]


@pytest.mark.parametrize("place", range(len(STEPS)), ids=[name for name, _, _ in STEPS])
def test_killed_after_a_step_the_request_stands_where_it_was(process: Process, gateway: Asking, place: int) -> None:
    request_id = gateway.request()["id"]
    for _, step, _ in STEPS[: place + 1]:
        step(process, gateway, request_id)
    process.kill()
    process.start()
    again = Asking(process.url)
    assert again.state(request_id) == STEPS[place][2]
    for _, step, state in STEPS[place + 1 :]:
        step(process, again, request_id)
        assert again.state(request_id) == state
    assert again.post(request_id, "claim").status_code == 409


def test_a_decision_is_made_while_the_service_is_down(process: Process, gateway: Asking) -> None:
    request_id = gateway.request()["id"]
    process.kill()
    assert process.command("deny", request_id, "--reason", "not now").returncode == 0
    process.start()
    assert Asking(process.url).state(request_id) == "denied"


def test_killed_under_load_every_acknowledged_request_is_there(process: Process, gateway: Asking) -> None:
    told: list[str] = []
    for round_ in range(3):
        asking = Asking(process.url)
        told += [asking.ask(f"client{round_}{number}", n=number).json()["id"] for number in range(15)]
        process.kill()
        process.start()
    again = Asking(process.url)
    assert [again.state(one) for one in told] == ["pending"] * 45
    assert len(set(told)) == 45


def test_it_ends_within_five_seconds_with_somebody_waiting(process: Process, gateway: Asking) -> None:
    waiting = threading.Thread(target=lambda: _ignoring(lambda: gateway.get("/api/requests", state="done", wait=30)))
    waiting.start()
    assert process.stop() < 5
    waiting.join(10)
    process.start()


def _ignoring(work: Callable[[], object]) -> None:
    with contextlib.suppress(httpx2.HTTPError):
        work()
