"""SIGHUP: a new configuration is read and checked whole, and either replaces the old one or changes nothing."""

import logging
from pathlib import Path

from mcp_gateway import notify
from mcp_gateway.app import Gateway
from mcp_gateway.errors import ConfigurationError
from mcp_gateway.planning import Plan, plan

logger = logging.getLogger(__name__)


async def reload(gateway: Gateway, path: Path) -> bool:
    """Whether the configuration now in the file is in force. If not, the log tells every reason."""
    notify.reloading()
    try:
        old, new = gateway.present, plan(path, gateway.catalogue, gateway.secrets, gateway.present.backends)
        await gateway.put_in_force(new)
    except ConfigurationError as fault:
        for problem in fault.problems:
            logger.error("reload refused: %s", problem)
        return _ended(gateway, "refused")
    except Exception:
        logger.exception("reload refused: the new configuration could not be put in force")
        return _ended(gateway, "refused")
    for words in (*new.remarks, *restart_needed(old, new)):
        logger.warning("%s", words)
    await gateway.tell_tools_changed()
    return _ended(gateway, "ok")


def _ended(gateway: Gateway, result: str) -> bool:
    gateway.metrics.reloaded(result)
    kept = "" if result == "ok" else "; the one before stays in force"
    logger.log(logging.INFO if result == "ok" else logging.ERROR, "reload %s%s", result, kept)
    notify.ready()
    return result == "ok"


def restart_needed(old: Plan, new: Plan) -> list[str]:
    """What the new configuration asks for and only a restart can give."""
    pairs = {
        "listen": (old.settings.core.listen, new.settings.core.listen),
        "state_dir": (old.settings.state_dir, new.settings.state_dir),
    }
    return [f"{key}: changed; takes effect at the next restart" for key, (was, now) in pairs.items() if was != now]
