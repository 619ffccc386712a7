"""The files that hold secrets, and the values that must never be seen again once they were read."""

import os
from pathlib import Path

from mcp_gateway.errors import ConfigurationError

# A file of this size is no credential; reading more would only cost memory.
MAX_BYTES = 64 * 1024
# Shorter pieces occur in ordinary text by chance: hiding them would mutilate answers and protect nothing.
MIN_CHARACTERS = 8
# Lines of a key file that are long enough to be key material by themselves.
MIN_LINE_CHARACTERS = 24

# Beside the configuration of a deployed service; for root only.
DEPLOYED = Path("credentials") / "mcp_gateway"


class Secrets:
    """Finds secret files by name and remembers their values, so that they can be taken out of every text."""

    def __init__(self, directory: Path, needed: bool = True) -> None:
        self.directory = directory
        self._needed = needed
        self._known: dict[str, None] = {}

    @classmethod
    def beside(cls, configuration: Path) -> "Secrets":
        """Secrets of a service: in `$CREDENTIALS_DIRECTORY` when systemd gives one, else beside the configuration.

        An operator's command on a deployed host gets none from systemd, and finds them where systemd takes them from.
        """
        if given := os.environ.get("CREDENTIALS_DIRECTORY"):
            return cls(Path(given))
        folder = configuration.resolve().parent
        deployed = folder / DEPLOYED
        there = os.path.isdir(deployed)  # noqa: PTH112  # Path's own fails where we may not look
        return cls(deployed if there else folder)

    @classmethod
    def unread(cls) -> "Secrets":
        """For a look at the tools without anything behind them: no file is read and none is missed."""
        return cls(Path("/nonexistent"), needed=False)

    @property
    def known(self) -> tuple[str, ...]:
        """Every value read so far, and the long lines of those that have several."""
        return tuple(self._known)

    def path(self, name: str, key: str = "") -> Path:
        """Where the file is. Raise ConfigurationError naming key and file when it cannot be read."""
        self.read(name, key)
        return self.directory / name

    def read(self, name: str, key: str = "") -> str:
        """The value without surrounding blank space. Raise ConfigurationError naming key and file."""
        if not self._needed:
            return ""
        path = self.directory / name
        where = f"{key}: {path}" if key else str(path)
        try:
            with path.open("rb") as file:
                value = file.read(MAX_BYTES + 1).decode("utf-8").strip()
        except OSError as fault:
            raise ConfigurationError([f"{where}: cannot be read: {fault.strerror}; put the secret there"]) from fault
        except UnicodeDecodeError as fault:
            raise ConfigurationError([f"{where}: is not text"]) from fault
        if not value or len(value) > MAX_BYTES:
            raise ConfigurationError([f"{where}: is {'empty' if not value else 'too large for a secret'}"])
        self._remember(value)
        return value

    def _remember(self, value: str) -> None:
        lines = [line.strip() for line in value.splitlines()]
        pieces = [line for line in lines if len(line) >= MIN_LINE_CHARACTERS and not line.startswith("-----")]
        for piece in (value, *pieces):
            if len(piece) >= MIN_CHARACTERS:
                self._known[piece] = None
