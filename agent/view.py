"""Read sessions for people: the list of `sessions`, the transcript of `show`.

What it promises: it takes no lock and changes no byte; a session that is being written is shown as
far as its complete lines go.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from typing import Any

from agent.errors import SessionError
from agent.facts import Fact
from agent.output import shortened
from agent.reducer import SessionReducer, reduce_session
from agent.state import Idle, SessionState
from agent.workspace import Workspace, session_id_of

_PROMPT_SHOWN = 60
_INDENT = " " * 6


def listing(workspace: Workspace) -> Iterator[str]:
    """A line per session: id, time of creation, condition, first prompt."""
    for path in workspace.session_files():
        data = path.read_bytes()
        if b"\n" not in data:
            continue  # not a session yet
        try:
            state = reduce_session(data)
        except SessionError as error:
            yield f"{session_id_of(path)}  corrupt: {error}"
        else:
            prompts = (m["content"] for m in state.transcript if m["role"] == "user")
            prompt = shortened(next(prompts, ""), _PROMPT_SHOWN)
            created = _time(state.header.created_at)
            yield f"{state.header.id}  {created}  {_condition(state):10}  {prompt}"


def transcript(data: bytes) -> Iterator[str]:
    """The log, fact by fact. Raises SessionError at the first line that is not legal."""
    reducer = SessionReducer()
    lines = data.split(b"\n")[:-1]
    for number, line in enumerate(lines):
        facts = reducer.feed(line)
        if number == 0:
            header = reducer.state.header
            yield f"session {header.id}, {_time(header.created_at)}, {header.model}, {header.cwd}"
        for fact in facts:
            yield from _fact(fact)
    state = reducer.state
    spent = ", ".join(f"{name} {count}" for name, count in state.usage.items())
    yield f"{_condition(state)}; tokens: {spent}"


def _fact(fact: Fact) -> Iterator[str]:
    message = fact.body.get("message")
    if fact.kind == "entry" and message is not None:
        yield f"{fact.seq:5} {fact.variant}{_about(fact.body)}"
        for line in (message["content"] or "").splitlines():
            yield _INDENT + line
        for call in message.get("tool_calls", ()):
            yield f"{_INDENT}-> {call['function']['name']} {call['function']['arguments']}"
    else:
        yield f"{fact.seq:5} {fact.variant}{_about(fact.body)}"


def _about(body: Mapping[str, Any]) -> str:
    """What a reader wants to know of a fact beside its kind."""
    told = []
    for name in ("stopReason", "toolName", "attempt", "arguments", "outcome", "phase", "summary"):
        if name in body:
            value = body[name]
            told.append(value if isinstance(value, str) else f"{name} {_json(value)}")
    told += [_json(body[name]) for name in ("result", "error", "usage") if name in body]
    return ": " + ", ".join(told) if told else ""


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _condition(state: SessionState) -> str:
    return "idle" if isinstance(state.operation, Idle) else "unfinished"


def _time(ms: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(ms // 1000))
