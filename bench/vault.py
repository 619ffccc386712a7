"""The vault tools over SSH, against the plain git and file commands over one SSH connection that is already open."""

import random
import shlex
import statistics
import string
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import anyio
import paramiko

from bench.table import Ratio, table
from bench.vault_host import NEEDLE, NEEDLES, VaultHost, git, vault_host
from mcp_gateway.actions.vault import vault_tools
from mcp_gateway.audit import new_receipt
from mcp_gateway.ports.vault import VaultPort
from mcp_gateway.settings.secrets import Secrets
from mcp_gateway.settings.vault import VaultSettings
from mcp_gateway.tools import Call

SMALL, LARGE = 1_224, 6_500
# Both sides take turns; a round is one of each.
SEARCHES, READS, WRITES = 15, 40, 12
WRITTEN_CHARACTERS = 120_000

Ask = Callable[..., Mapping[str, object]]


def measure() -> list[Ratio]:
    """Search on two vaults, read and write on the larger one."""
    ratios = []
    for notes in (SMALL, LARGE):
        with tempfile.TemporaryDirectory() as place, vault_host(Path(place), notes) as host, _sides(host) as sides:
            ratios.append(_search(host, *sides, notes))
            if notes == LARGE:
                ratios += [_read(host, *sides), _write(host, *sides)]
    return ratios


class Plain:
    """One open SSH connection on which plain commands run, each on a channel of its own."""

    def __init__(self, host: VaultHost) -> None:
        self._client = paramiko.SSHClient()
        self._client.load_host_keys(str(host.place / "known_hosts"))
        self._client.connect(
            "127.0.0.1",
            host.port,
            host.user,
            key_filename=str(host.place / "shell.key"),
            allow_agent=False,
            look_for_keys=False,
        )
        transport = self._client.get_transport()
        assert transport
        self._transport = transport

    def run(self, command: str, content: bytes = b"") -> bytes:
        """The output of a shell command that reads `content`."""
        channel = self._transport.open_session()
        channel.exec_command(command)
        channel.sendall(content)
        channel.shutdown_write()
        output = b"".join(iter(lambda: channel.recv(1 << 20), b""))
        if status := channel.recv_exit_status():
            raise RuntimeError(f"{command}: exit status {status}: {channel.recv_stderr(4096)!r}")
        return output

    def close(self) -> None:
        """End the connection."""
        self._client.close()


@contextmanager
def _sides(host: VaultHost) -> Iterator[tuple[Ask, Plain]]:
    """Our tools and the plain connection, both warm."""
    settings = VaultSettings(
        host="127.0.0.1",
        port=host.port,
        user=host.user,
        identity_file="gateway.key",
        known_hosts_file=str(host.place / "known_hosts"),
        writable_prefixes=("research/",),
    )
    port = VaultPort(settings, Secrets(host.place))
    tools = {tool.name: tool for tool in vault_tools(port)}
    with anyio.from_thread.start_blocking_portal() as portal:

        async def ask(name: str, **arguments: object) -> Mapping[str, object]:
            call = Call("bench", "bench", name, new_receipt(), "1:" + "0" * 64, anyio.current_time() + 60)
            return await tools[name].run(call, tools[name].arguments(**arguments))

        portal.call(port.open)
        plain = Plain(host)
        yield lambda name, **arguments: portal.call(lambda: ask(name, **arguments)), plain
        plain.close()
        portal.call(port.close)


def _search(host: VaultHost, ask: Ask, plain: Plain, notes: int) -> Ratio:
    flags = "-I -n -z --column -i -P --max-count=3 --no-color --full-name"
    command = f"LC_ALL=C.UTF-8 git -C {host.repository} grep {flags} -e {NEEDLE}"

    def ours() -> None:
        found = ask("vault_search", query=NEEDLE)["matches"]
        assert isinstance(found, list)
        assert NEEDLES <= len(found) <= NEEDLES + 1, len(found)

    def theirs() -> None:
        assert plain.run(command).count(b"\n") >= NEEDLES

    return _ratio(f"vault_search, {notes:,} notes", ours, theirs, SEARCHES, 1.3)


def _read(host: VaultHost, ask: Ask, plain: Plain) -> Ratio:
    path = "research/07/note-00007.md"
    whole = (host.repository / path).read_text(encoding="utf-8")

    def ours() -> None:
        assert ask("vault_read", path=path)["content"] == whole

    def theirs() -> None:
        assert plain.run(f"cat {host.repository / path}") == whole.encode()

    return _ratio("vault_read", ours, theirs, READS, 2.0)


def _write(host: VaultHost, ask: Ask, plain: Plain) -> Ratio:
    chance = random.Random(11)
    numbers = iter(range(10_000))

    def note() -> tuple[str, str]:
        text = "".join(chance.choices(string.ascii_letters + " \n", k=WRITTEN_CHARACTERS))
        return f"research/00/written-{next(numbers):03}.md", text

    def ours() -> None:
        path, text = note()
        answer = ask("vault_write", path=path, content=text)
        assert answer["pushed"] is True, answer

    def theirs() -> None:
        path, text = note()
        steps = [
            f"cd {host.repository}",
            f"cat > {path}",
            f"git add -- {path}",
            f"git -c user.name=bench -c user.email=b@localhost commit -q -m {shlex.quote('Write ' + path)} -- {path}",
            "git push -q origin HEAD:main",
        ]
        plain.run(" && ".join(steps), text.encode())

    ratio = _ratio(f"vault_write, {WRITTEN_CHARACTERS:,} characters", ours, theirs, WRITES, 1.5)
    assert git(host.repository, "status", "--porcelain") == ""
    assert git(host.repository, "rev-parse", "main") == git(host.place / "remote.git", "rev-parse", "main")
    return ratio


def _ratio(what: str, ours: Callable[[], None], theirs: Callable[[], None], rounds: int, bound: float) -> Ratio:
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(2):  # the first round of each warms caches and connections
        ours()
        theirs()
    for _ in range(rounds):
        for side, act in enumerate((ours, theirs)):
            began = time.perf_counter()
            act()
            times[side].append(time.perf_counter() - began)
    return Ratio(what, statistics.median(times[0]) * 1000, statistics.median(times[1]) * 1000, "ms", bound)


if __name__ == "__main__":
    print(table(measure()))
