"""Ask the model: one OpenAI-style chat completion over HTTP.

What it promises: `complete` sends exactly one request, follows no redirect, retries nothing, and
either gives a `Reply` that the log can hold or raises `FailedAttempt` with a code, within limits of
time and size. Its messages never hold the API key.
What it does not do: it writes no fact; the attempt must be durable before it is called.

Source: session contract, sections 3 and 6; design, section 7.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from agent import strict_json
from agent.abort import Abort
from agent.configuration import DEFAULT_TIMEOUT_S, OUTPUT_OPTIONS, Configuration, Settings
from agent.reply import FailedAttempt, MalformedReply, Reply, StreamedReply, error_text, parse_reply
from agent.sse import EventDecoder

if TYPE_CHECKING:
    import ssl

    import httpx

Show = Callable[[str], None]  # is given text that a person may see; nothing of it is kept

_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_ERROR_BODY_LIMIT = 64 * 1024


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of one exchange, in seconds and bytes."""

    connect_s: float = 10.0
    silence_s: float = DEFAULT_TIMEOUT_S  # without a byte of the reply
    total_s: float = 900.0
    reply_bytes: int = 16 << 20


class Provider:
    """The adapter to one base URL. Use it as a context manager, or `close` it."""

    def __init__(
        self, settings: Settings, limits: Limits | None = None, abort: Abort | None = None
    ) -> None:
        """With `abort`, a durable abort ends the exchange with FailedAttempt `aborted`."""
        self._settings = settings
        self._limits = limits or Limits(silence_s=settings.timeout_s)
        self._abort = abort
        self._client: httpx.Client | None = None

    def complete(
        self, configuration: Configuration, context: Sequence[Mapping[str, Any]], show: Show
    ) -> Reply:
        """The model's reply to the active context. Raises FailedAttempt.

        `show` is given the text of a streamed reply as it comes, before anything says that the
        reply will reach its end.
        """
        import httpx  # the longest import there is: only for a process that asks the model

        if self._client is None:
            self._client = self._open_client()
        try:
            return self._exchange(self._client, request_body(configuration, context), show)
        except FailedAttempt as failed:
            message = self._settings.redact(str(failed))
            raise type(failed)(code=failed.code, message=message, usage=failed.usage) from None
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise self._failed(error, None) from None

    def close(self) -> None:
        if self._client is not None:
            self._client.close()
            self._client = None

    def _open_client(self) -> httpx.Client:
        import httpx

        url = urlsplit(self._settings.base_url)
        limits = self._limits
        client = httpx.Client(
            verify=True if url.scheme == "https" else _no_tls(),
            trust_env=url.hostname not in _LOOPBACK,  # no proxy for this very machine
            follow_redirects=False,
            timeout=httpx.Timeout(limits.silence_s, connect=limits.connect_s),
            # A connection kept over a long tool call may be closed just when it is used again.
            limits=httpx.Limits(max_keepalive_connections=0),
            headers={
                "Authorization": f"Bearer {self._settings.api_key}",
                "Content-Type": "application/json",
                "Accept": "text/event-stream" if self._settings.stream else "application/json",
                "Accept-Encoding": "identity",
                "User-Agent": "killpoint-agent",
            },
        )
        if self._abort is not None:
            from agent.network import make_abortable  # imports httpx and httpcore

            make_abortable(client, self._abort)
        return client

    def _exchange(self, client: httpx.Client, body: bytes, show: Show) -> Reply:
        url = f"{self._settings.base_url}/chat/completions"
        with client.stream("POST", url, content=body) as response:
            if response.status_code != 200:
                text = error_text(_start_of(self._bounded(response)))
                raise FailedAttempt(
                    code=f"http_{response.status_code}",
                    message=f"{url} answered {response.status_code}: {text or 'no text'}",
                )
            kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
            chunks = self._bounded(response)
            if kind == "text/event-stream":
                return self._streamed(chunks, show)
            if kind == "application/json":
                return parse_reply(b"".join(chunks))
            raise MalformedReply(
                f"expected content type application/json or text/event-stream, found {kind!r}"
            )

    def _bounded(self, response: httpx.Response) -> Iterator[bytes]:
        """The body in chunks, within the limits."""
        deadline = time.monotonic() + self._limits.total_s
        size = 0
        for chunk in response.iter_bytes():
            size += len(chunk)
            if size > self._limits.reply_bytes:
                raise FailedAttempt(
                    "reply_too_large", f"the reply exceeds {self._limits.reply_bytes} bytes"
                )
            if time.monotonic() > deadline:
                raise FailedAttempt(
                    "timeout", f"the reply took longer than {self._limits.total_s:g} s"
                )
            yield chunk

    def _streamed(self, chunks: Iterator[bytes], show: Show) -> Reply:
        import httpx

        decoder, streamed = EventDecoder(), StreamedReply()
        try:
            for chunk in chunks:
                for data in decoder.feed(chunk):
                    text = streamed.feed(data)
                    if text:
                        show(text)
                if streamed.done:
                    break
        except httpx.HTTPError as error:
            # What was reported is paid for, wherever the stream breaks off after it.
            raise self._failed(error, streamed.usage) from None
        except FailedAttempt as failed:
            failed.usage = streamed.usage
            raise
        return streamed.reply()

    def _failed(self, error: Exception, usage: Mapping[str, int] | None) -> FailedAttempt:
        import httpx

        if isinstance(error, httpx.TimeoutException):
            code, what = "timeout", "did not answer in time"
        elif isinstance(error, httpx.ConnectError):
            code, what = "connection_failed", "cannot be reached"
        else:
            code, what = "connection_lost", "broke off the exchange"
        text = f"{self._settings.base_url} {what}: {str(error) or type(error).__name__}"
        return FailedAttempt(code, self._settings.redact(text), usage)


@cache
def _no_tls() -> ssl.SSLContext:
    """What httpx is given for plain HTTP: it would make one for each client, and with the CA
    certificates that takes 30 ms."""
    import httpx

    return httpx.create_ssl_context(verify=False)


def request_body(configuration: Configuration, context: Sequence[Mapping[str, Any]]) -> bytes:
    """The bytes of a request: system message, then the context exactly as the log has it."""
    settings = configuration.settings
    body: dict[str, Any] = {
        "model": settings.model,
        "messages": [{"role": "system", "content": configuration.system_prompt}, *context],
        "tools": [tool.definition for tool in configuration.tools.values()],
        **OUTPUT_OPTIONS,
    }
    if settings.stream:
        body |= {"stream": True, "stream_options": {"include_usage": True}}
    return strict_json.dumps(body)


def _start_of(chunks: Iterator[bytes]) -> bytes:
    """The first bytes of an error body; whatever goes wrong while reading them matters less."""
    import httpx

    body = b""
    try:
        for chunk in chunks:
            body += chunk
            if len(body) > _ERROR_BODY_LIMIT:
                break
    except (httpx.HTTPError, FailedAttempt):
        pass
    return body[:_ERROR_BODY_LIMIT]
