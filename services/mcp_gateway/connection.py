"""One peer's connection: what it may send before anybody knows it is bounded in size and in time."""

import asyncio

from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

# A token, a session and what any client adds are some hundred bytes. It is also the limit for everything else that is
# neither the end of a head nor content, such as trailers and chunk extensions.
MAX_HEAD = 64 * 1024
# A whole request on loopback takes milliseconds. This is a little more than a body may take, so that who has a token
# is told about it; everybody else is only let go.
MESSAGE_SECONDS = 40.0

TOO_LONG = b'{"error":"head_too_large"}'
TOO_LONG_HEAD = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-type: application/json\r\n"
    b"connection: close\r\ncontent-length: %d\r\n\r\n" % len(TOO_LONG)
)


class Connection(HttpToolsProtocol):
    """uvicorn's protocol, which by itself waits for ever and keeps a head of any length."""

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, object],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._in_head = True
        self._idle_bytes = 0
        self._patience: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        self._wait_no_more()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self._idle_bytes += len(data)
        super().data_received(data)
        if self._idle_bytes > MAX_HEAD and not self.transport.is_closing():
            if self._in_head and (self.cycle is None or self.cycle.response_complete):
                self.transport.write(TOO_LONG_HEAD + TOO_LONG)
            self.transport.close()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._in_head = True
        self._wait()

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._in_head:  # a trailer says nothing that counts
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._in_head, self._idle_bytes = False, 0
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._idle_bytes = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._idle_bytes = 0
        self._wait_no_more()
        super().on_message_complete()

    def _unsupported_upgrade_warning(self) -> None:
        """Nothing here can be upgraded to; whoever asks must not fill the journal with advice about it."""

    def _wait(self) -> None:
        self._wait_no_more()
        self._patience = self.loop.call_later(MESSAGE_SECONDS, self._give_up)

    def _wait_no_more(self) -> None:
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None

    def _give_up(self) -> None:
        if self.pipeline:  # it is we who do not read on before the answers ahead of it are out
            self._wait()
        else:
            self.transport.close()
