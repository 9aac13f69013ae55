"""Which MCP servers there are: one JSON file, named by `AGENT_MCP_CONFIG`.

    {"mcpServers": {
        "files":   {"command": "npx", "args": ["-y", "server-files"], "env": {"ROOT": "${HOME}"}},
        "tracker": {"url": "https://example.org/mcp", "headers": {"Authorization": "Bearer ${KEY}"}}
    }}

What it promises: the file is one that the user has named and that neither the tools `write` and
`edit` nor another user can change; a mistake in it is a UsageFailure before anything is started.
`${NAME}` in `command`, `args` and the values of `env` and `headers` is the agent's environment
variable, so that secrets need not lie in the file.
What it does not do: it looks nowhere else (a workspace may come from strangers), and it cannot
guard against `bash`, which can change whatever the user can.

Source: issue 3 ("servers named in a trusted config file; never from model output").
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from agent import strict_json
from agent.failures import UsageFailure, describe
from agent.shapes import Check, Closed, Matching, an_object, array, integer, non_empty, string

VARIABLE = "AGENT_MCP_CONFIG"
MAX_SERVERS = 16
_DEFAULT_TIMEOUT_S = 120
_GREATEST_TIMEOUT_S = 3600
_SIZE_LIMIT = 1 << 20  # bytes of the file

_NAME = Matching("[A-Za-z0-9-]{1,24}", "a name of 1 to 24 letters, digits and '-'")
_REFERENCE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


@dataclass(frozen=True, slots=True)
class StdioServer:
    """A program that speaks MCP on its standard streams; it runs in the workspace."""

    name: str
    timeout_s: int  # bounds a call
    command: str
    args: tuple[str, ...]
    env: Mapping[str, str] = field(repr=False)  # beside HOME, PATH and the like; may hold secrets


@dataclass(frozen=True, slots=True)
class HttpServer:
    """A server behind a URL (streamable HTTP)."""

    name: str
    timeout_s: int  # bounds a call
    url: str
    headers: Mapping[str, str] = field(repr=False)  # may hold secrets


Server = StdioServer | HttpServer


def configured_servers(environ: Mapping[str, str], workspace: Path) -> tuple[Server, ...]:
    """The servers of the file that `environ` names, in its order; none where it names no file.

    Raises UsageFailure for a file that cannot be read, is not to be trusted, or is wrong.
    """
    name = environ.get(VARIABLE)
    if not name:
        return ()
    try:
        data = _trusted(Path(name), workspace)
    except OSError as error:
        raise UsageFailure(f"{VARIABLE}: {describe(error)}; correct it, or unset it") from None
    try:
        value = strict_json.loads(data)
    except strict_json.StrictJSONError as error:
        raise UsageFailure(f"{name}: not JSON: {error}") from None
    complaint = _SHAPE(value)
    if complaint:
        raise UsageFailure(f"{name}: {complaint}")
    named: dict[str, dict[str, Any]] = value["mcpServers"]
    if len(named) > MAX_SERVERS:
        raise UsageFailure(f"{name}: expected at most {MAX_SERVERS} servers, found {len(named)}")
    return tuple(_server(name, server, entry, environ) for server, entry in named.items())


def _trusted(path: Path, workspace: Path) -> bytes:
    """The bytes of the file. The looks are at the open file, so that nobody can swap it."""
    if not path.is_absolute():
        raise UsageFailure(f"{VARIABLE}: expected an absolute path, found {str(path)!r}")
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    with open(fd, "rb") as file:  # noqa: PTH123 - a descriptor, not a path
        if Path(f"/proc/self/fd/{fd}").readlink().is_relative_to(workspace):
            raise UsageFailure(
                f"{path} lies in the workspace {workspace}, where the agent's own tools can write; "
                f"move it out of there and set {VARIABLE} to its new place"
            )
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode):
            raise UsageFailure(f"{path}: expected a regular file")
        if found.st_uid not in (0, os.geteuid()) or found.st_mode & stat.S_IWOTH:
            raise UsageFailure(
                f"{path} can be changed by other users, and it names programs to start; "
                f"make it yours (chown) and keep others from writing (chmod o-w {path})"
            )
        data = file.read(_SIZE_LIMIT + 1)
    if len(data) > _SIZE_LIMIT:
        raise UsageFailure(f"{path}: expected at most {_SIZE_LIMIT} bytes")
    return data


def _strings(value: Any) -> str:
    """An object whose values are strings without NUL."""
    complaint = an_object(value)
    for name, text in {} if complaint else value.items():
        wrong = string(text) or ("a NUL character" if "\0" in name + text else "")
        if wrong:
            return f"{name}: {wrong}"
    return complaint


def _url(value: Any) -> str:
    if string(value):
        return string(value)
    try:
        parts = urlsplit(value)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    return "" if usable else f"expected http(s)://HOST[:PORT]/PATH, found {value!r}"


_TIMEOUT: Mapping[str, Check] = {"timeout_s": integer(1, _GREATEST_TIMEOUT_S)}
_STDIO = Closed({"command": non_empty}, {"args": array(string), "env": _strings, **_TIMEOUT})
_HTTP = Closed({"url": _url}, {"headers": _strings, **_TIMEOUT})


def _servers(value: Any) -> str:
    complaint = an_object(value)
    for name, entry in {} if complaint else value.items():
        shape = _HTTP if type(entry) is dict and "url" in entry else _STDIO
        wrong = _NAME(name) or shape(entry)
        if wrong:
            return f"{name}: {wrong}"
    return complaint


_SHAPE = Closed({"mcpServers": _servers})


def _server(
    file: str, name: str, entry: Mapping[str, Any], environ: Mapping[str, str]
) -> StdioServer | HttpServer:
    """One entry, whose shape is right."""

    def variable(reference: re.Match[str]) -> str:
        if reference[1] not in environ:
            raise UsageFailure(f"{file}: {name}: the environment has no {reference[1]}; set it")
        return environ[reference[1]]

    def filled(text: str) -> str:
        return _REFERENCE.sub(variable, text)

    def values(key: str) -> dict[str, str]:
        return {inner: filled(text) for inner, text in entry.get(key, {}).items()}

    timeout_s = entry.get("timeout_s", _DEFAULT_TIMEOUT_S)
    if "url" in entry:
        return HttpServer(name, timeout_s, entry["url"], values("headers"))
    args = tuple(map(filled, entry.get("args", ())))
    return StdioServer(name, timeout_s, filled(entry["command"]), args, values("env"))
