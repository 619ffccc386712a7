"""A tool call that does nothing, through the whole gateway and through a bare SDK server."""

import json
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.servers import CHANNEL, TOKEN
from bench.table import Ratio, table

HERE = Path(__file__).parent
# The two take turns, so that what else the machine does meets both; the median round is reported.
ROUNDS = 5
SECONDS = 2.0
BUSY_SESSIONS = 8

Figures = dict[str, float]


def measure() -> list[Ratio]:
    """Calls a second with eight sessions, and the median time of a call with one."""
    with tempfile.TemporaryDirectory() as place, _server("bare", place) as bare, _server("gateway", place) as ours:
        for port in (bare, ours):
            _load(port, BUSY_SESSIONS, 1.0)  # warm up
        busy = [(_load(ours, BUSY_SESSIONS), _load(bare, BUSY_SESSIONS)) for _ in range(ROUNDS)]
        calm = [(_load(ours, 1), _load(bare, 1)) for _ in range(ROUNDS)]
    return [
        _ratio("no-op call, 8 sessions", busy, "calls_per_second", "calls/s", 0.9, at_least=True),
        _ratio("no-op call, 1 session, p50", calm, "p50_ms", "ms", 1.2),
    ]


def _ratio(
    what: str, rounds: list[tuple[Figures, Figures]], name: str, unit: str, bound: float, at_least: bool = False
) -> Ratio:
    ours, plain = (statistics.median(one[side][name] for one in rounds) for side in (0, 1))
    return Ratio(what, ours, plain, unit, bound, at_least)


@contextmanager
def _server(kind: str, place: str) -> Iterator[int]:
    """The port of a running server."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    journal = Path(place) / f"{kind}.log"
    command = [sys.executable, str(HERE / "servers.py"), kind, place, str(port)]
    with journal.open("wb") as log, subprocess.Popen(command, stdout=log, stderr=log) as process:
        try:
            _wait_for(port, process, journal)
            yield port
        finally:
            process.terminate()


def _wait_for(port: int, process: "subprocess.Popen[bytes]", journal: Path) -> None:
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            if process.poll() is not None:
                raise RuntimeError(journal.read_text()) from None
            time.sleep(0.05)
        else:
            return


def _load(port: int, sessions: int, seconds: float = SECONDS) -> Figures:
    command = [sys.executable, str(HERE / "load.py"), str(port), f"/mcp/{CHANNEL}", TOKEN, str(sessions), str(seconds)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    figures: Figures = json.loads(done.stdout)
    return figures


if __name__ == "__main__":
    print(table(measure()))
