"""The configuration file as plain data, with every mistake of YAML itself named."""

from collections.abc import Hashable
from pathlib import Path
from typing import Any

import yaml

from mcp_gateway.errors import ConfigurationError

# A configuration is some kilobytes; a file above this is not one, and YAML needs about a hundred times its size.
MAX_BYTES = 1024 * 1024


class _Loader(yaml.SafeLoader):
    """A safe loader that notes every key written twice, because YAML would silently take the last one."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.problems: list[str] = []

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode):
                if key.value in seen:
                    line = key.start_mark.line + 1
                    self.problems.append(f"{key.value}: written twice in the same place, again on line {line}")
                seen.add(key.value)
        return super().construct_mapping(node, deep)


def read_document(path: Path) -> dict[str, Any]:
    """The top-level mapping of a YAML file. Raise ConfigurationError with everything that is wrong with it."""
    try:
        raw = path.read_bytes()
    except OSError as fault:
        raise ConfigurationError([f"{path}: cannot be read: {fault.strerror}"]) from fault
    if len(raw) > MAX_BYTES:
        raise ConfigurationError([f"{path}: is larger than {MAX_BYTES} bytes, so it is no configuration"])
    try:
        loader = _Loader(raw.decode("utf-8"))
        document = loader.get_single_data()
    except UnicodeDecodeError as fault:
        raise ConfigurationError([f"{path}: is not UTF-8 text"]) from fault
    except (yaml.YAMLError, RecursionError) as fault:
        raise ConfigurationError([f"{path}: is not YAML: {_where(fault)}"]) from fault
    if loader.problems:
        raise ConfigurationError(loader.problems)
    if not isinstance(document, dict):
        raise ConfigurationError(
            [f"{path}: must be a mapping of keys, such as `state_dir: /var/lib/talaria/mcp_gateway`"]
        )
    return document


def _where(fault: Exception) -> str:
    """Line and cause, without the lines themselves: they may hold something secret."""
    mark, problem = getattr(fault, "problem_mark", None), getattr(fault, "problem", None)
    place = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
    return f"{place}{problem or 'nested too deeply'}"
