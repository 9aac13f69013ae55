"""Read sessions for people: the list of `sessions`, the transcript of `show`.

What it promises: it takes no lock and changes no byte; a session that is being written is shown as
far as its complete lines go. Facts have the names that `--json` gives them.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from agent.errors import SessionError
from agent.facts import Fact
from agent.output import shortened
from agent.reducer import SessionReducer, reduce_session
from agent.state import SessionState
from agent.workspace import Workspace, session_id_of

_PROMPT_SHOWN = 60
_INDENT = " " * 16


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
    """The log, fact by fact: number, time (UTC), name, what a reader wants to know of it.

    Raises SessionError at the first line that is not legal.
    """
    reducer = SessionReducer()
    for number, line in enumerate(data.split(b"\n")[:-1]):
        facts = reducer.feed(line)
        if number == 0:
            header = reducer.state.header
            yield f"session {header.id}, {_time(header.created_at)}, {header.model}, {header.cwd}"
        for fact in facts:
            yield from _fact(fact)
    state = reducer.state
    yield f"{_condition(state)}; tokens: {_tokens(state.usage)}"
    if _condition(state) != "idle":
        yield f"go on with: resume {state.header.id}"


def _fact(fact: Fact) -> Iterator[str]:
    name = _NAMES.get(fact.variant, fact.variant)
    details = _DETAILS[fact.variant](fact.body)
    yield f"{fact.seq:5}  {_time(fact.timestamp, '%H:%M:%S')}  {name}{details and ': '}{details}"
    message = fact.body.get("message", {})
    for line in (message.get("content") or fact.body.get("summary") or "").splitlines():
        yield _INDENT + line
    for call in message.get("tool_calls", ()):
        yield f"{_INDENT}-> {call['function']['name']} {call['function']['arguments']}"


# variant -> the name that `--json` gives it, where that is another
_NAMES: Mapping[str, str] = {"startedResult": "toolResult", "unstartedResult": "toolResult"}


def _result(body: Mapping[str, Any]) -> str:
    result = body["result"]
    return f"{body['toolName']}, {result.get('reason', result['type'])}"


def _intent(body: Mapping[str, Any]) -> str:
    arguments = json.dumps(body["arguments"], ensure_ascii=False)
    safe = " (safe to run again)" if body["replay"] == "safe" else ""
    return f"{body['toolName']} {arguments}{safe}"


def _error(body: Mapping[str, Any]) -> str:
    return f"{body['error']['code']}: {body['error']['message']}"


def _end(body: Mapping[str, Any]) -> str:
    words = [body["operationKind"], body["outcome"]]
    if body.get("completion") == "truncated":
        words.append("(truncated)")
    # Why a step failed stands in the fact before; an operation can fail without one.
    return " ".join(words) + (f", {body['error']['code']}" if "error" in body else "")


def _tokens(usage: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in usage.items())


# variant -> what a reader wants to know beside its text and calls
_DETAILS: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "user": lambda _: "",
    "assistant": lambda body: str(body["stopReason"]),
    "startedResult": _result,
    "unstartedResult": _result,
    "compaction": lambda body: f"messages kept {len(body['retainedTail'])}, summary",
    "runStarted": lambda _: "",
    "compactionStarted": lambda body: (
        f"messages to summarise {len(body['compactedEntryIds'])}, "
        f"to keep {len(body['retainedEntryIds'])}"
    ),
    "stepAttempt": lambda body: f"{body['attempt']}, {body['configurationSnapshot']['model']}",
    "stepFailed": _error,
    "toolStarted": _intent,
    "abortRequested": lambda body: f"{body['operationKind']}, phase {body['phase']}",
    "operationFinished": _end,
    "usage": lambda body: _tokens(body["usage"]),
}


def _condition(state: SessionState) -> str:
    return "idle" if state.operation.kind == "idle" else "unfinished"


def _time(ms: int, form: str = "%Y-%m-%dT%H:%M:%SZ") -> str:
    return time.strftime(form, time.gmtime(ms // 1000))
