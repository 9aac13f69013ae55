"""The host: connections to MCP servers through the SDK, for one agent at the other end of a socket.

What it promises: all servers are started side by side and closed in reverse order; each lives in a
task of its own, so that one that breaks takes no other with it. A call is one request: it is not
sent again, whatever the server answers. It ends within its server's time limit, and its result
within the output limits of the contract. The end of the channel ends the host.
What it does not do: it serves no request of a server (sampling, elicitation, roots) and takes no
new tool while it runs.

Protocol, a JSON object a line: first `{"tools": […]}` or `{"failed": TEXT}`; then per call
`{"server","tool","arguments","call"}` → `{"kind","text"}`, with at most one `{"cancel"}` between.

Source: issue 3; session contract, section 6 ("Tool output").
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import resource
import socket
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import anyio
import httpx2
from mcp import Client, ClientSession, StdioServerParameters, types
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

from agent import strict_json
from agent.mcp.config import HttpServer, Server, StdioServer
from agent.mcp.servers import START_LIMIT_S
from agent.mcp.tools import MAX_DEFINITION, MAX_TOOLS
from agent.tools.output import CapturedOutput

_MEMORY_LIMIT = 1 << 30  # bytes of data: a server that never ends a message ends the host
_LAST_WORDS = 1_000  # bytes of a server's standard error that are kept
_WE = types.Implementation(name="killpoint-agent", version="1")  # as servers log it
_LOOPBACK = ("127.0.0.1", "localhost", "::1")


def serve(channel: socket.socket, servers: Sequence[Server], workspace: Path) -> None:
    """Serve the agent at the other end of `channel` until it is closed."""
    anyio.run(_serve, channel, servers, workspace)


async def _serve(channel: socket.socket, servers: Sequence[Server], workspace: Path) -> None:
    reader, writer = await asyncio.open_connection(sock=channel, limit=_MEMORY_LIMIT)
    connections = [_Connection(server, workspace) for server in servers]
    async with anyio.create_task_group() as tasks:
        for connection in connections:
            tasks.start_soon(connection.run)
        with anyio.move_on_after(START_LIMIT_S):
            for connection in connections:
                await connection.listed.wait()
        failed = next((each for each in connections if each.problem), None)
        if failed:
            _write(writer, {"failed": failed.problem})
        else:
            # The servers run already, so the limit is the host's alone.
            resource.setrlimit(resource.RLIMIT_DATA, (_MEMORY_LIMIT, _MEMORY_LIMIT))
            _write(writer, {"tools": [tool for each in connections for tool in each.tools]})
            await _answer(reader, writer, {each.name: each for each in connections}, workspace)
        await writer.drain()
        for connection in reversed(connections):
            await connection.close()


def _write(writer: asyncio.StreamWriter, value: Any) -> None:
    writer.write(strict_json.dumps(value) + b"\n")


async def _answer(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    connections: dict[str, _Connection],
    workspace: Path,
) -> None:
    """Answer one call after the other until the channel is closed."""
    while line := await reader.readline():
        request = strict_json.loads(line)
        if "cancel" in request:
            continue  # it crossed the answer
        answer = {"kind": "error", "text": "cancelled"}
        async with anyio.create_task_group() as tasks:

            async def call(request: dict[str, Any], tasks: Any = tasks) -> None:
                nonlocal answer
                kind, text = await connections[request["server"]].call(request)
                answer = {"kind": kind, "text": _shown(text, workspace, request["call"])}
                tasks.cancel_scope.cancel()

            tasks.start_soon(call, request)
            await reader.readline()  # a cancel, or the end; the call itself ends this wait too
            tasks.cancel_scope.cancel()
        _write(writer, answer)
        await writer.drain()


class _Connection:
    """One server. `run` is its life; the rest is called from other tasks."""

    def __init__(self, server: Server, workspace: Path) -> None:
        self.name = server.name
        self.tools: list[dict[str, Any]] = []
        self.listed = anyio.Event()  # or failed
        self._server = server
        self._workspace = workspace
        self._failure = ""
        self._session: ClientSession | None = None
        self._last_words = _LastWords()
        self._stop, self._ended = anyio.Event(), anyio.Event()
        self._scope = anyio.CancelScope()

    async def run(self) -> None:
        """Connect, list, stay until `close`."""
        try:
            with self._scope:
                async with Client(self._transport(), cache=None, client_info=_WE) as client:
                    self.tools = await _tools(client.session, self.name)
                    self._session = client.session
                    self.listed.set()
                    await self._stop.wait()
        except Exception as error:  # whatever a server or its transport does, it is told
            self._failure = _words(error)
        finally:
            self._session = None
            self.listed.set()
            self._ended.set()

    @property
    def problem(self) -> str:
        """Why the server cannot be used, with its last words; empty if it can."""
        if self._session is not None:
            return ""
        why = self._failure or f"it did not list its tools within {START_LIMIT_S} s"
        return f"the MCP server {self.name} cannot be used: {why}{self._last_words}"

    async def call(self, request: dict[str, Any]) -> tuple[str, str]:
        """Kind and text of the result."""
        if self._session is None:
            return "error", self.problem
        try:
            with anyio.fail_after(self._server.timeout_s):
                result = await self._session.call_tool(request["tool"], request["arguments"])
        except TimeoutError:
            return "error", (
                f"timed out after {self._server.timeout_s} s; the server was told to stop, but "
                "whether the call took effect is unknown"
            )
        except Exception as error:  # as in `run`
            return "error", f"the call failed: {_words(error)}{self._last_words}"
        text = "\n".join(_content(result)) or "(no output)"
        return "error" if result.is_error else "success", text

    async def close(self) -> None:
        """End the connection and wait for its end."""
        if self._session is None:
            self._scope.cancel()
        self._stop.set()
        await self._ended.wait()

    def _transport(self) -> AbstractAsyncContextManager[Any]:
        if isinstance(self._server, HttpServer):
            return _over_http(self._server)
        return _over_stdio(self._server, self._workspace, self._last_words)


def _over_stdio(
    server: StdioServer, workspace: Path, last_words: _LastWords
) -> AbstractAsyncContextManager[Any]:
    parameters = StdioServerParameters(
        command=server.command, args=list(server.args), env=dict(server.env), cwd=workspace
    )
    return stdio_client(parameters, errlog=last_words.open())


@contextlib.asynccontextmanager
async def _over_http(server: HttpServer) -> AsyncIterator[Any]:
    client = httpx2.AsyncClient(
        headers=dict(server.headers),
        timeout=httpx2.Timeout(10.0, read=None),  # a call has a time limit of its own
        trust_env=httpx2.URL(server.url).host not in _LOOPBACK,  # no proxy for this very machine
    )
    async with client, streamable_http_client(server.url, http_client=client) as streams:
        yield streams


async def _tools(session: ClientSession, server: str) -> list[dict[str, Any]]:
    """What the server lists, over all pages; the first thing too many or too large ends it."""
    found: list[dict[str, Any]] = []
    cursor: str | None = None
    for _ in range(MAX_TOOLS):
        page = await session.list_tools(params=types.PaginatedRequestParams(cursor=cursor))
        for tool in page.tools:
            listed = {
                "server": server,
                "name": tool.name,
                "description": tool.description or "",
                "parameters": tool.input_schema,
            }
            if len(strict_json.dumps(listed)) > MAX_DEFINITION:
                raise ValueError(
                    f"it lists a tool {tool.name[:100]!a} of more than {MAX_DEFINITION} bytes"
                )
            found.append(listed)
        cursor = page.next_cursor
        if len(found) > MAX_TOOLS:
            raise ValueError(f"it lists more than {MAX_TOOLS} tools")
        if cursor is None:
            return found
    raise ValueError(f"its list of tools has more than {MAX_TOOLS} pages")


def _content(result: types.CallToolResult) -> Iterator[str]:
    """The parts of a result as text. What is no text is named, not shown."""
    for part in result.content:
        match part:
            case types.TextContent():
                yield part.text
            case types.EmbeddedResource(resource=types.TextResourceContents() as inner):
                yield inner.text
            case types.ResourceLink():
                yield f"[resource {part.uri}]"
            case types.ImageContent() | types.AudioContent():
                yield f"[{part.type}, {part.mime_type}: not shown]"
            case _:
                yield f"[{part.type}: not shown]"
    if not result.content and result.structured_content is not None:
        yield strict_json.dumps(result.structured_content).decode()


def _shown(text: str, workspace: Path, call_id: str) -> str:
    """The text within the output limits, with a word on where the whole is."""
    captured = CapturedOutput()
    captured.add(text.encode("utf-8", "replace"))
    shown, cut = captured.shown()
    return f"{shown}\n[{captured.save(workspace, call_id)}]" if cut else shown


def _words(error: BaseException) -> str:
    """An exception, and those it groups, in words."""
    if isinstance(error, BaseExceptionGroup):
        return "; ".join(dict.fromkeys(map(_words, error.exceptions)))
    words = str(error) or type(error).__name__
    return words.encode("utf-8", "replace").decode()


class _LastWords:
    """The end of what a server prints on standard error."""

    def __init__(self) -> None:
        self._tail = b""

    def open(self) -> Any:
        """A file for the server to write to; what comes is read at once."""
        read_fd, write_fd = os.pipe()
        os.set_blocking(read_fd, False)
        asyncio.get_running_loop().add_reader(read_fd, self._take, read_fd)
        return os.fdopen(write_fd, "w")

    def _take(self, fd: int) -> None:
        self._tail = (self._tail + os.read(fd, 1 << 16))[-_LAST_WORDS:]

    def __str__(self) -> str:
        text = self._tail.decode("utf-8", "replace").strip()
        return f"; its last words: {text}" if text else ""
