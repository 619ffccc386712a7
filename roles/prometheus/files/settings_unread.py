"""Say whether Prometheus runs with the settings that the host holds: `read` or `unread`.

Asks the process itself when it last read its files with success, so that it does not matter how earlier deployments
ended.
"""

import sys
import urllib.request
from pathlib import Path

LAST_READ = "prometheus_config_last_reload_success_timestamp_seconds "


def last_read(url: str) -> float:
    """Return when the process last read its settings with success, 0 when it cannot say."""
    try:
        with urllib.request.urlopen(f"{url}/metrics", timeout=10) as metrics:  # noqa: S310 (the role's own URL)
            lines = metrics.read().decode().splitlines()
    except OSError:
        return 0.0
    return next((float(line.removeprefix(LAST_READ)) for line in lines if line.startswith(LAST_READ)), 0.0)


def last_written(directory: Path) -> float:
    """Return when the configuration, a rule file or the list of rule files last changed."""
    rules = directory / "rules"
    settings = [directory / "prometheus.yml", rules, *rules.glob("*.yml")]
    return max((setting.stat().st_ctime for setting in settings if setting.exists()), default=0.0)


if __name__ == "__main__":
    print("read" if last_written(Path(sys.argv[2])) < last_read(sys.argv[1]) else "unread")
