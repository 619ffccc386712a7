"""The `approvals:` section of the configuration: where a person's word is asked for."""

from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, field_validator

# What a call keeps back of its own deadline, so that the answer still reaches the agent.
KEPT_BACK_SECONDS = 2.0


class ApprovalsSettings(BaseModel):
    """Where the approvals service answers, and how long a call waits there before it says that it waits."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, hide_input_in_errors=True)

    url: str = "http://127.0.0.1:8730"
    token_file: str = Field(min_length=1)
    wait_seconds: float = Field(default=5, ge=0, le=300)
    # Where a person decides, as an agent may tell it; the service's own address where nobody says another.
    console_url: str | None = None

    @field_validator("url", "console_url")
    @classmethod
    def _plain_http_url(cls, value: str | None) -> str:
        if value is None:
            raise ValueError("null says nothing; leave the key out")
        try:
            parts = urlsplit(value)
            port = parts.port
        except ValueError as fault:
            raise ValueError("is no URL such as http://127.0.0.1:8730") from fault
        if parts.scheme not in ("http", "https") or not parts.hostname or port == 0 or not value.isprintable():
            raise ValueError("must be an http or https URL such as http://127.0.0.1:8730")
        if "@" in parts.netloc or "?" in value or "#" in value or " " in value:
            raise ValueError("must have no user, query or fragment")
        return value.rstrip("/")

    def wait(self, deadline_seconds: float) -> float:
        """How long a call may wait when it has this long in all."""
        return max(0.0, min(self.wait_seconds, deadline_seconds - KEPT_BACK_SECONDS))
