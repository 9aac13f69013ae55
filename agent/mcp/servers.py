"""The agent's side of the MCP servers: start them, offer their tools, call, close.

What it promises: `offered_tools` either gives the built-in tools and all that the servers list, or
raises before anything was accepted: a session is never worked on with a part of the tools it was
configured with. A call is sent once and always ends, with a result or an error for the model. On
every way out the servers are closed, the last one first, and what does not end is killed.
What it does not do: it starts no server again. One that has ended stays so until the next start of
the agent, and its calls say so.

Source: issue 3; session contract, section 6 ("Tool output", "Children").
"""

from __future__ import annotations

import contextlib
import select
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent import strict_json
from agent.abort import Abort
from agent.failures import AgentFailure
from agent.mcp.config import Server
from agent.signals import AbortSwitch
from agent.tools import BUILTIN_TOOLS, CallContext, Tool, ToolResult
from agent.tools.base import Arguments, ToolError

if TYPE_CHECKING:
    from socket import socket

    from agent.mcp.tools import Listed

START_LIMIT_S = 30  # until all servers have listed their tools
_CLOSE_LIMIT_S = 3.0  # for all servers together
_ANSWER_LIMIT_S = 10.0  # beyond what the host itself waits for a server
_CANCEL_LIMIT_S = 2.0
_LONGEST_LINE = 8 << 20  # bytes; a listing of all that `agent.mcp.tools` allows is shorter

_NO_SDK = "MCP servers need the MCP SDK, install it with: pip install 'killpoint[mcp]'"


@contextlib.contextmanager
def offered_tools(
    servers: Sequence[Server], workspace: Path, lock_fd: int | None, switch: AbortSwitch
) -> Iterator[Mapping[str, Tool]]:
    """The built-in tools and those of the servers, for as long as the context lasts.

    `lock_fd` is the session's lock. Raises AgentFailure where a server cannot be used. An abort
    that is asked for meanwhile leaves the built-in tools: no other will be called any more.
    """
    if not servers:
        yield BUILTIN_TOOLS
        return
    from agent.mcp.tools import offered  # as little as can be for those who have no servers

    host = Host(servers, workspace, lock_fd)
    try:
        if host.await_listing(switch):
            yield {**BUILTIN_TOOLS, **offered(host.listed(), host.call)}
        else:
            host.close(0)
            yield BUILTIN_TOOLS
    finally:
        host.close()


class Host:
    """The process that holds the connections to all servers. One exchange at a time."""

    def __init__(self, servers: Sequence[Server], workspace: Path, lock_fd: int | None) -> None:
        from agent.mcp.process import GuardedProcess

        self._limits_s = {server.name: server.timeout_s for server in servers}
        self._received = b""

        def serve(channel: socket) -> None:
            try:
                from agent.mcp.host import serve  # the SDK is imported there and nowhere else
            except ImportError as error:
                channel.sendall(strict_json.dumps({"failed": f"{_NO_SDK}: {error}"}) + b"\n")
            else:
                serve(channel, servers, workspace)

        self._process = GuardedProcess(serve, lock_fd)
        self._channel = self._process.channel

    def await_listing(self, switch: AbortSwitch) -> bool:
        """Until the servers have listed their tools or failed to. False if the switch is thrown."""
        switch.wait({self._channel.fileno(): select.POLLIN}, START_LIMIT_S + _ANSWER_LIMIT_S)
        return not switch.requested

    def listed(self) -> list[Listed]:
        """What the servers list; the first thing that comes. Raises AgentFailure."""
        try:
            first = self._line(_ANSWER_LIMIT_S)
        except (OSError, EOFError):
            raise AgentFailure(
                "the MCP servers could not be started: their host process ended or hung"
            ) from None
        from agent.mcp.tools import Listed

        if "failed" in first:
            raise AgentFailure(f"{first['failed']}; nothing was changed")
        return [Listed(**each) for each in first["tools"]]

    def call(
        self, server: str, tool: str, arguments: Arguments, context: CallContext
    ) -> ToolResult:
        """Carry out one call. Raises ToolError where there is no answer of the host."""
        request = {"server": server, "tool": tool, "arguments": arguments, "call": context.call_id}
        try:
            self._send(request)
            answer = self._answer(self._limits_s[server] + _ANSWER_LIMIT_S, context.abort)
        except (OSError, EOFError):
            self.close()
            raise ToolError(
                "the process that holds the connections to the MCP servers has ended; whether the "
                "call took effect is unknown"
            ) from None
        except BaseException:  # an answer that nobody waited for would be taken for the next one
            self.close(0)
            raise
        return ToolResult(answer["kind"], answer["text"])

    def close(self, grace_s: float = _CLOSE_LIMIT_S) -> None:
        """End the servers, the last one first; kill what is left of them after `grace_s`.

        Closing twice is harmless.
        """
        self._process.close(grace_s)

    def _answer(self, limit_s: float, abort: Abort) -> Any:
        """The answer to the call in hand. After an abort the server is told to stop."""
        ready = abort.wait({self._channel.fileno(): select.POLLIN}, limit_s)
        if abort.durable:
            self._send({"cancel": True})
            limit_s = _CANCEL_LIMIT_S
        elif not ready:
            raise TimeoutError
        return self._line(limit_s)

    def _send(self, value: Mapping[str, Any]) -> None:
        self._channel.settimeout(_ANSWER_LIMIT_S)
        self._channel.sendall(strict_json.dumps(value) + b"\n")

    def _line(self, limit_s: float) -> Any:
        """The next line. Raises TimeoutError and other OSErrors, EOFError."""
        deadline = time.monotonic() + limit_s
        while b"\n" not in self._received:
            self._channel.settimeout(max(0.001, deadline - time.monotonic()))
            data = self._channel.recv(1 << 16)
            if not data or len(self._received) > _LONGEST_LINE:
                raise EOFError
            self._received += data
        line, _, self._received = self._received.partition(b"\n")
        return strict_json.loads(line)
