"""How the demo speaks."""

import sys
import time

_started = time.monotonic()


class DemoError(Exception):
    """The demo cannot go on; the text says what happened and what to do."""


def chapter(text: str) -> None:
    """Announce what comes next, with the time that has passed."""
    minutes, seconds = divmod(int(time.monotonic() - _started), 60)
    print(f"\n[{minutes}:{seconds:02}] {text}", flush=True)


def tell(text: str) -> None:
    """Say what was seen."""
    print(f"  {text}", flush=True)


def expect(holds: bool, text: str, instead: object = "") -> None:
    """Say what was seen, or stop with what came instead."""
    if not holds:
        raise DemoError(f"Expected: {text}\n  but saw: {instead}")
    tell(text)


def complain(text: str) -> None:
    """Say on the error stream why the demo ends."""
    print(f"\n{text}", file=sys.stderr, flush=True)
