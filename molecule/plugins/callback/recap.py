"""Ansible callback: writes what a run did on each host, as JSON, to the file that TALARIA_RECAP names.

It also prints which tasks took longest.
"""

import json
import os
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

from ansible.plugins.callback import CallbackBase

SLOWEST_TASKS = 12

DOCUMENTATION = """
name: recap
type: aggregate
short_description: What a run did, in numbers
description: Writes the totals of every host and the tasks that changed something to the file named by TALARIA_RECAP.
requirements: [none]
"""


class CallbackModule(CallbackBase):  # type: ignore[misc]  # ansible-core has no types
    """One object {host: {"totals": {ok, changed, failures, …}, "changed": [task, …]}}."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "recap"

    def __init__(self) -> None:
        super().__init__()
        self._changed: dict[str, list[str]] = defaultdict(list)
        self._starts: list[tuple[float, str]] = []

    def v2_playbook_on_task_start(self, task: Any, is_conditional: bool) -> None:
        """Remember when a task began; the one before ended then."""
        self._starts.append((time.monotonic(), task.get_name()))

    def v2_playbook_on_handler_task_start(self, task: Any) -> None:
        """Remember when a handler began."""
        self.v2_playbook_on_task_start(task, False)

    def v2_runner_on_ok(self, result: Any) -> None:
        """Remember a task that changed something."""
        if result.is_changed():
            self._changed[result._host.get_name()].append(result._task.get_name())

    def v2_playbook_on_stats(self, stats: Any) -> None:
        """Write the file at the end of the run."""
        recap = {
            host: {"totals": stats.summarize(host), "changed": self._changed[host]} for host in sorted(stats.processed)
        }
        Path(os.environ["TALARIA_RECAP"]).write_text(json.dumps(recap))
        ends = [start for start, _ in self._starts[1:]] + [time.monotonic()]
        took = sorted(
            ((end - start, name) for end, (start, name) in zip(ends, self._starts, strict=True)), reverse=True
        )
        self._display.banner(f"SLOWEST of {len(took)} tasks")
        for seconds, name in took[:SLOWEST_TASKS]:
            self._display.display(f"{seconds:7.1f} s  {name}")
