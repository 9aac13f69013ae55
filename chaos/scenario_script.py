"""The provider's part of a scenario file: what the model answers, and how it fails.

Reads `[[provider.turn]]` and `[[event]]`, and walks the conversation that they describe, so that a
turn which can never be an answer, a request which nothing answers, and a fault at a request that
is never made are refused before anything runs.

Pure. What tools will say is unknown here, so a script that asks for a `last_result` is taken as it
is.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from chaos.errors import ScenarioError
from chaos.provider.faults import Fault
from chaos.provider.script import USAGE_KEYS, ToolCall, Turn, When, answer
from chaos.toml_table import Table, nearest

_AT = re.compile(r"provider:[1-9][0-9]*/request")
_TURN_KEYS = ("content", "tool_calls", "finish_reason", "usage", "when")


def read_turns(root: Table) -> tuple[Turn, ...]:
    """The scripted answers, in the order of the file. Raises ScenarioError."""
    provider = root.table("provider")
    provider.only("turn")
    turns = tuple(_turn(table) for table in provider.tables("turn"))
    if not turns:
        raise root.error("expected at least one [[provider.turn]]: what does the model answer?")
    return turns


def _turn(table: Table) -> Turn:
    table.only(*_TURN_KEYS)
    content = table.either("content", str)
    calls = tuple(_tool_call(call) for call in table.tables("tool_calls"))
    if content is None and not calls:
        raise table.error("a turn needs content or tool_calls")
    return Turn(
        content=content,
        tool_calls=calls,
        finish_reason=table.text("finish_reason") if "finish_reason" in table else None,
        usage=_usage(table) if "usage" in table else None,
        when=_when(table.table("when")) if "when" in table else None,
    )


def _tool_call(table: Table) -> ToolCall:
    table.only("id", "name", "arguments")
    arguments = table.either("arguments", dict, str)
    if arguments is None:
        raise table.error("missing key 'arguments' (a table, or a string to be sent as it is)")
    try:
        return ToolCall.of(
            table.text("name"), arguments, table.text("id") if "id" in table else None
        )
    except TypeError:
        raise table.error(
            "arguments hold a date or time, which JSON has not", "arguments"
        ) from None


def _usage(table: Table) -> dict[str, int]:
    table.table("usage").only(*USAGE_KEYS)
    usage: dict[str, int] = table.mapping("usage", int)
    for name, count in usage.items():
        if count < 0:
            raise table.error(f"usage.{name}: expected 0 or more, found {count}", "usage", name)
    return usage


def _when(table: Table) -> When:
    table.only("prompt", "last_result")
    if not table.names():
        raise table.error("when is empty; say prompt or last_result")
    said = {key: table.text(key) for key in table.names()}
    return When(prompt=said.get("prompt"), last_result=said.get("last_result"))


def read_events(root: Table) -> list[tuple[int, str, str]]:
    """`[[event]]` as (launch, at, do). Only provider faults exist so far. Raises ScenarioError."""
    events: dict[tuple[int, str], str] = {}
    for table in root.tables("event"):
        table.only("launch", "at", "do")
        launch, at, do = table.whole("launch", least=1), table.text("at"), table.text("do")
        try:
            Fault.parse(do)
        except ScenarioError as error:
            raise table.error(str(error), "do") from None
        if not _AT.fullmatch(at):
            raise table.error(
                f"{do!r} happens at a request, 'provider:N/request'; found {at!r}", "at"
            )
        if (launch, at) in events:
            raise table.error(f"launch {launch} has an event at {at} already", "at")
        events[launch, at] = do
    return [(launch, at, do) for (launch, at), do in events.items()]


def check_reach(
    root: Table, prompts: Sequence[str], turns: Sequence[Turn], events: Sequence[int]
) -> None:
    """Refuse turns that no prompt reaches, requests without an answer, and faults (given by the
    ordinals of their requests) at requests that no launch makes. Raises ScenarioError."""
    tables = root.table("provider").tables("turn")
    for table, turn in zip(tables, turns, strict=True):
        wanted = turn.when.prompt if turn.when else None
        if wanted is not None and wanted not in prompts:
            raise table.error(
                f"no step says {wanted!r}{nearest(wanted, prompts)}", "when", "prompt"
            )
    if any(turn.when and turn.when.last_result for turn in turns):
        return
    used: set[int] = set()
    longest = 0
    for step, prompt in enumerate(prompts):
        answers = _conversation(root, step, prompt, turns)
        used.update(answers)
        longest = max(longest, len(answers))
    for index, table in enumerate(tables):
        if index not in used:
            raise table.error(
                f"turn {index + 1} can never be the answer: a turn without tool_calls (or cut by "
                "'length') is the last of its run, and none that goes on leads here"
            )
    for table, request in zip(root.tables("event"), events, strict=True):
        if request > longest:
            raise table.error(
                f"no launch makes request {request}: the longest run makes {longest}", "at"
            )


def _conversation(root: Table, step: int, prompt: str, turns: Sequence[Turn]) -> list[int]:
    """The turns that answer one prompt, by index, up to the one that ends its run."""
    answers: list[int] = []
    while True:
        found = answer(turns, _transcript(prompt, len(answers)))
        if found is None:
            where = ("step", step) if "step" in root else ("provider",)
            after = f"after {len(answers)} turn(s) with tool_calls" if answers else "at first"
            raise root.error(
                f"nothing answers the prompt {prompt!r} when the model is asked {after}; "
                "add a [[provider.turn]] without tool_calls at the end",
                *where,
            )
        index, turn = found
        answers.append(index)
        if not turn.tool_calls or turn.finish_reason == "length":
            return answers


def _transcript(prompt: str, answers: int) -> list[dict[str, Any]]:
    """What a request holds after some answers, as far as a script looks at it."""
    user = {"role": "user", "content": prompt}
    return [user, *({"role": "assistant"}, {"role": "tool", "content": ""}) * answers]
