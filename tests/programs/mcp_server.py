"""A small real MCP server, made with the official SDK.

    mcp_server.py stdio                  serves its standard streams
    mcp_server.py http                   serves http://127.0.0.1:PORT/mcp; prints PORT when it does;
                                         asks for `Authorization: Bearer token`

The environment variable MCP_TEST_FILE names a file that it appends lines to: `started PID`,
`waiting`, `cancelled`, `ended NAME`. MCP_TEST_NAME is its name, MCP_TEST_ABOUT describes `wait`.
"""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path
from typing import Any

import anyio
import uvicorn
from mcp import types
from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError

NAME = os.environ.get("MCP_TEST_NAME", "test")
server = MCPServer(NAME, log_level="ERROR")


def remember(line: str) -> None:
    path = os.environ.get("MCP_TEST_FILE")
    if path:
        with Path(path).open("a") as file:
            file.write(f"{line}\n")


@server.tool(structured_output=False)
def echo(text: str) -> str:
    """Give the text back."""
    return text


@server.tool(structured_output=False)
def environment() -> str:
    """The names of the variables that the server was started with, and where it runs."""
    return " ".join([*sorted(os.environ), str(Path.cwd())])


@server.tool(structured_output=False)
def fail(why: str) -> str:
    """Fail."""
    raise ToolError(why)


@server.tool(structured_output=False)
def mixed() -> list[types.ContentBlock]:
    """A text and a picture."""
    picture = types.ImageContent(type="image", data="aGk=", mime_type="image/png")
    return [types.TextContent(type="text", text="a picture:"), picture]


@server.tool(structured_output=False)
def flood(lines: int) -> str:
    """Many lines."""
    return "".join(f"line {number} ✓\n" for number in range(1, lines + 1))


@server.tool(description=os.environ.get("MCP_TEST_ABOUT", "Wait."), structured_output=False)
async def wait(seconds: float) -> str:
    remember("waiting")
    try:
        await anyio.sleep(seconds)
    except anyio.get_cancelled_exc_class():
        remember("cancelled")
        raise
    return "waited"


@server.tool(structured_output=False)
def die() -> str:
    """End in the middle of the call."""
    print("last words of the server", file=sys.stderr, flush=True)
    os._exit(3)


@server.tool(structured_output=False)
def babble() -> str:
    """Begin a message that never ends, beside the protocol."""
    chunk = b"x" * (1 << 20)
    while True:
        os.write(1, chunk)


async def asking_for_a_token(scope: Any, receive: Any, send: Any) -> None:
    """The server, for those who bring the token."""
    if scope["type"] == "http" and (b"authorization", b"Bearer token") not in scope["headers"]:
        await send({"type": "http.response.start", "status": 401, "headers": []})
        await send({"type": "http.response.body", "body": b""})
    else:
        await application(scope, receive, send)


application = server.streamable_http_app()


async def over_http() -> None:
    listening = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(asking_for_a_token, log_level="error")
    print(listening.getsockname()[1], flush=True)
    await uvicorn.Server(config).serve([listening])


if __name__ == "__main__":
    remember(f"started {os.getpid()}")
    if sys.argv[1] == "http":
        anyio.run(over_http)
    else:
        server.run("stdio")
    remember(f"ended {NAME}")
