"""Ansible callback: writes what a run did on each host, as JSON, to the file that TALARIA_RECAP names."""

import json
import os
from collections import defaultdict
from pathlib import Path
from typing import Any

from ansible.plugins.callback import CallbackBase

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
