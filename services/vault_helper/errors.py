"""What can go wrong between the gateway and the vault host; every text is safe to show."""

from collections.abc import Mapping


class VaultError(Exception):
    """A failure the caller can act on."""


class VaultRefused(VaultError):
    """The vault host refused the request by one of its rules."""

    def __init__(self, code: str, hint: str, facts: Mapping[str, object] | None = None) -> None:
        super().__init__(f"{code}: {hint}")
        self.code = code
        self.hint = hint
        self.facts = dict(facts or {})


class VaultUnreachable(VaultError):
    """The vault host did not answer; nothing was asked of it."""


class HostKeyRefused(VaultUnreachable):
    """The vault host shows another key than the one we know, or we know none."""


class LoginRefused(VaultUnreachable):
    """The vault host does not accept our key."""


class ShellRefused(VaultUnreachable):
    """The forced command did not start, or is of another release."""


class ChannelBroken(VaultUnreachable):
    """A channel ended in the middle of a request."""

    def __init__(self, words: str, sent: bool) -> None:
        super().__init__(words)
        # Whether the vault host may have the whole request, and so may have carried it out.
        self.sent = sent


class AnswerLate(VaultError):
    """The vault host did not answer before the deadline."""

    def __init__(self, words: str, sent: bool = False) -> None:
        super().__init__(words)
        # As above: a request that was not sent whole is never carried out.
        self.sent = sent


class OutcomeUnknown(VaultError):
    """A write was sent, and nobody can say whether it was carried out."""
