"""What can be wrong, in words for whoever can mend it."""


class ConfigurationError(Exception):
    """Everything that is wrong with a configuration, each fault with its key and its remedy."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("; ".join(problems))
        self.problems = problems


class NotFound(Exception):
    """There is no such request, or it is another service's."""


class TooManyPending(Exception):
    """A client has as many requests waiting as it may have."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"{limit} requests of this client are waiting already")
        self.limit = limit
