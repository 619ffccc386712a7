"""`python -m demo up` and `python -m demo down`: what `make demo` and `make demo-down` run."""

import fcntl
import os
import shutil
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager

import anyio

import hosts
import play
from demo import agent, deployment, outside, place, tunnel
from demo.words import DemoError, chapter, complain, tell

# What a shell reports for a program that ctrl-C ended.
INTERRUPTED = 130


@contextmanager
def alone() -> Iterator[None]:
    """Only one run of this checkout at a time. Raise DemoError when another one is at it."""
    cache = place.CHECKOUT / ".cache"
    cache.mkdir(exist_ok=True)
    with (cache / "demo.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise DemoError("Another `make demo` of this checkout is running. Wait for it, or end it first.") from None
        yield


def up() -> None:
    """Bring everything up, deploy, show, and leave it running."""
    host = deployment.start_host()
    deployment.deploy()
    port = tunnel.open_tunnel()
    base = f"http://127.0.0.1:{port}"
    anyio.run(agent.show, base)
    outside.show(host.ports["443/tcp"])
    chapter("It stays up. What you can do now")
    tell(f"the gateway    {base}/mcp/{agent.CHANNEL}   (through an SSH tunnel that stays open)")
    tell("the token      .demo/token   (readable by you only)")
    tell(f"a client       claude mcp add --transport http talaria {base}/mcp/{agent.CHANNEL} \\")
    tell('                 --header "Authorization: Bearer $(cat .demo/token)"')
    tell(f"the host       ssh -F .demo/ssh_config {place.HOST}")
    tell("prove it       make verify INVENTORY=inventory/demo")
    tell("remove it      make demo-down")


def down() -> None:
    """Remove the host, its network and .demo."""
    tunnel.close_tunnel()
    removed = hosts.down(deployment.network())
    shutil.rmtree(place.PLACE, ignore_errors=True)
    print("The demo is removed." if removed else "There is no demo host of this checkout.", end=" ")
    print("What it is built from stays in .cache for the next time; `make clean` removes that too.")


def cause_of(error: BaseException) -> BaseException:
    """What lies inside the groups that task groups make of an error."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def explain(error: BaseException) -> None:
    """Say why the demo stopped and what to do; what nobody foresaw goes to a log with all its details."""
    if isinstance(error, DemoError | hosts.HostError | play.PlayError):
        complain(f"The demo stopped. {error}")
    else:
        log = place.CHECKOUT / ".cache" / "demo-failure.log"
        log.write_text("".join(traceback.format_exception(error)))
        complain(f"The demo stopped: {type(error).__name__}: {error}. The whole story: {log}")
    complain("`make demo` goes on from there once that is mended. `make demo-down` removes everything.")


def main() -> int:
    """Entry point: every failure ends with words and a status that is not zero."""
    os.chdir(place.CHECKOUT)
    try:
        with alone():
            {"up": up, "down": down}[sys.argv[1]]()
    except KeyboardInterrupt:
        complain("Interrupted. `make demo` goes on with what is there, `make demo-down` removes it.")
        return INTERRUPTED
    except Exception as error:
        explain(cause_of(error))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
