"""The `odoo:` section of the configuration."""

from typing import Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, field_validator

Transport = Literal["auto", "json2", "xmlrpc"]


class OdooSettings(BaseModel):
    """Which Odoo, which database, as whom, and how to speak with it; the key itself stands in a file."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    url: str
    database: str = Field(min_length=1, max_length=255)
    login: str = Field(min_length=1, max_length=255)
    api_key_file: str = Field(min_length=1)
    transport: Transport = "auto"

    @field_validator("url")
    @classmethod
    def _plain_http_url(cls, value: str) -> str:
        try:
            parts = urlsplit(value)
            port = parts.port
        except ValueError as fault:
            raise ValueError("is no URL such as https://odoo.example") from fault
        if parts.scheme not in ("http", "https") or not parts.hostname or port == 0 or not value.isprintable():
            raise ValueError("must be an http or https URL such as https://odoo.example")
        if "@" in parts.netloc or "?" in value or "#" in value or " " in value:
            raise ValueError("must have no user, query or fragment")
        if parts.path.rstrip("/").endswith(("/odoo", "/web", "/xmlrpc/2", "/jsonrpc", "/json/2")):
            raise ValueError("must be the address of the server itself, without /odoo, /web or another page of it")
        return value.rstrip("/")

    @field_validator("database", "login")
    @classmethod
    def _printable(cls, value: str) -> str:
        if not value.isprintable() or value != value.strip():
            raise ValueError("must be one line without blank space around it")
        return value
