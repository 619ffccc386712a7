"""Run a playbook and judge it by its numbers, not by its words.

play.py [--unchanged] --log FILE ARGUMENTS…      ARGUMENTS are those of ansible-playbook

Ends with 1 when the playbook failed, or, with --unchanged, when a host was changed (in check mode: would be).
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

PLUGINS = Path(__file__).with_name("plugins") / "callback"
# The lines of a log that a terminal still shows whole.
LOG_TAIL_LINES = 40


class PlayError(Exception):
    """A playbook failed, or changed what it should not have; the text names the tasks or the log."""


def play(
    arguments: Sequence[str], log: Path, each_line: Callable[[str], None] = lambda line: None
) -> dict[str, list[str]]:
    """The tasks that changed something, by host. Everything that was said goes to the log and, by line, to `each_line`.

    Raise PlayError when the run failed.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary, log.open("w") as written:
        recap = Path(temporary, "recap.json")
        environment = os.environ | {"TALARIA_RECAP": str(recap), "ANSIBLE_CALLBACK_PLUGINS": str(PLUGINS)}
        command = [str(Path(sys.executable).with_name("ansible-playbook")), *arguments]
        with subprocess.Popen(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        ) as process:
            for line in process.stdout or ():
                written.write(line)
                written.flush()
                each_line(line)
        if process.returncode != 0 or not recap.exists():
            raise PlayError(f"The playbook failed (exit {process.returncode}). The whole story: {log}\n{tail(log)}")
        hosts = json.loads(recap.read_text())
    if not hosts:
        raise PlayError(f"The playbook found no host. See {log}")
    return {name: host["changed"] for name, host in hosts.items() if host["totals"]["changed"]}


def tail(log: Path) -> str:
    """The last lines of a log."""
    return "\n".join(log.read_text(errors="replace").splitlines()[-LOG_TAIL_LINES:])


def require_unchanged(changed: dict[str, list[str]]) -> None:
    """Raise PlayError naming the tasks when anything was changed."""
    if changed:
        lines = [f"  {host}: {task}" for host, tasks in changed.items() for task in tasks]
        raise PlayError("Nothing should have changed, but these tasks did:\n" + "\n".join(lines))


def main() -> int:
    """Entry point of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--unchanged", action="store_true")
    parser.add_argument("--log", type=Path, required=True)
    options, arguments = parser.parse_known_args()
    try:
        changed = play(arguments, options.log)
        if options.unchanged:
            require_unchanged(changed)
    except PlayError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
