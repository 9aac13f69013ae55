"""The provider's part of a scenario file: what the model answers.

Reads `[[provider.turn]]`, and walks the conversation that the turns describe, so that a turn which
can never be an answer, a request which nothing answers, and an event at a request that is never
made are refused before anything runs.

Pure. What tools and summaries will say is unknown here, so a script that asks for a `last_result`
or a `summary` is taken as it is.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from chaos.flavours.form import USAGE_KEYS, Message
from chaos.provider.script import ToolCall, Turn, When, answer
from chaos.target_session import Shell
from chaos.toml_table import Table, nearest

# What a turn says, one of three ways, and what else it may hold.
_SAYING = (("content", "tool_calls"), ("message",), ("choices",))
_TURN_KEYS = (
    *(key for keys in _SAYING for key in keys),
    *("repeat", "finish_reason", "usage", "when", "compaction"),
)
_MOST_REPEATED_CHARACTERS = 64 * 2**20


def read_turns(root: Table, shell: Shell | None) -> tuple[Turn, ...]:
    """The scripted answers, in the order of the file; `shell` is the tool by which the target's
    model runs commands. Raises ScenarioError."""
    provider = root.table("provider")
    provider.only("turn")
    turns = tuple(_turn(table, shell) for table in provider.tables("turn"))
    if not turns:
        raise root.error("expected at least one [[provider.turn]]: what does the model answer?")
    return turns


def _turn(table: Table, shell: Shell | None) -> Turn:
    table.only(*_TURN_KEYS)
    _says_one_thing(table)
    content = table.either("content", str)
    return Turn(
        content=content,
        tool_calls=tuple(_tool_call(call, shell) for call in table.tables("tool_calls")),
        finish_reason=table.text("finish_reason") if "finish_reason" in table else None,
        usage=_usage(table) if "usage" in table else None,
        when=_when(table.table("when")) if "when" in table else None,
        compaction=bool(table.either("compaction", bool)),
        repeat=_repeat(table, content or "") if "repeat" in table else 1,
        message=_message(table) if "message" in table else None,
        no_choices=_no_choices(table),
    )


def _says_one_thing(table: Table) -> None:
    said = [key for keys in _SAYING for key in keys if key in table]
    if not said or ("tool_calls" in said and not table.tables("tool_calls") and len(said) == 1):
        raise table.error("a turn needs content or tool_calls (or message, or choices = [])")
    others = next(keys for keys in _SAYING if said[0] in keys)
    for key in said:
        if key not in others:
            raise table.error(f"{said[0]} says it all; leave {key!r} out", key)


def _repeat(table: Table, content: str) -> int:
    times = table.whole("repeat", least=1)
    if not content:
        raise table.error("repeat repeats the content, and there is none", "repeat")
    if times * len(content) > _MOST_REPEATED_CHARACTERS:
        raise table.error(
            f"repeat: expected at most {_MOST_REPEATED_CHARACTERS} characters of content in the "
            f"end, found {times * len(content)}",
            "repeat",
        )
    return times


def _message(table: Table) -> dict[str, Any]:
    """The JSON of a message, which may hold what TOML cannot: a lone surrogate, null …"""
    text = table.text("message")
    try:
        message = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise table.error(f"message is not JSON: {error}", "message") from None
    if not isinstance(message, dict):
        raise table.error("message: expected the JSON of an object", "message")
    return message


def _no_choices(table: Table) -> bool:
    if table.either("choices", list):
        raise table.error(
            "choices can only be empty; say content, tool_calls or message instead", "choices"
        )
    return "choices" in table


def _tool_call(table: Table, shell: Shell | None) -> ToolCall:
    if "shell" in table:
        return _shell_call(table, shell)
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


def _shell_call(table: Table, shell: Shell | None) -> ToolCall:
    """A command, run by whatever tool the target has for it."""
    table.only("id", "shell")
    if shell is None:
        raise table.error("the target has no [shell] table that says how a command is run", "shell")
    given = table.text("id") if "id" in table else None
    return ToolCall.of(shell.tool, shell.call(table.text("shell")), given)


def _usage(table: Table) -> dict[str, object]:
    """The counters, sent as they are: a provider may report nonsense."""
    usage = table.table("usage")
    usage.only(*USAGE_KEYS)
    return {name: usage.either(name, int, float, str, bool) for name in usage.names()}


def _when(table: Table) -> When:
    table.only("prompt", "last_result", "summary")
    if not table.names():
        raise table.error("when is empty; say prompt, last_result or summary")
    said = {key: table.text(key) for key in ("prompt", "last_result") if key in table}
    return When(said.get("prompt"), said.get("last_result"), table.either("summary", bool))


def check_reach(
    root: Table,
    prompts: Mapping[int, str],
    turns: Sequence[Turn],
    requests: Sequence[int | None],
    *,
    compacts: bool,
) -> None:
    """Refuse turns that nothing reaches, requests without an answer, and events at requests that no
    launch makes. `prompts` are by index of their step; `requests` holds the ordinal that each event
    names, if any. Raises ScenarioError."""
    tables = root.table("provider").tables("turn")
    said = tuple(prompts.values())
    for table, turn in zip(tables, turns, strict=True):
        wanted = turn.when.prompt if turn.when else None
        if wanted is not None and wanted not in said:
            raise table.error(f"no step says {wanted!r}{nearest(wanted, said)}", "when", "prompt")
    _check_summaries(root, turns, compacts=compacts)
    if any(turn.when and (turn.when.last_result or turn.when.summary) for turn in turns):
        return
    spoken = [turn for turn in turns if not turn.compaction]
    used: set[int] = set()
    longest = int(compacts)
    for step, prompt in prompts.items():
        answers = _conversation(root, step, prompt, spoken)
        used.update(answers)
        longest = max(longest, len(answers))
    places = [index for index, turn in enumerate(turns) if not turn.compaction]
    for number, index in enumerate(places):
        if number not in used:
            raise tables[index].error(
                f"turn {index + 1} can never be the answer: a turn without tool_calls (or cut by "
                "'length') is the last of its run, and none that goes on leads here"
            )
    for table, request in zip(root.tables("event"), requests, strict=True):
        if request is not None and request > longest:
            raise table.error(
                f"no launch makes request {request}: the longest run makes {longest}", "at"
            )


def _check_summaries(root: Table, turns: Sequence[Turn], *, compacts: bool) -> None:
    """A compaction makes one request: a summary is the first of its `when`, or never heard."""
    known: set[When | None] = set()
    for table, turn in zip(root.table("provider").tables("turn"), turns, strict=True):
        if not turn.compaction:
            continue
        if not compacts:
            raise table.error("no step compacts, so nothing asks for a summary", "compaction")
        if turn.when in known:
            raise table.error(
                "this summary can never be the answer: an earlier one answers whenever it could; "
                "tell them apart with `when`, by summary = true or false for instance",
                "compaction",
            )
        known.add(turn.when)
    if compacts and not known:
        raise root.error(
            "a step compacts, and no summary answers it; add a [[provider.turn]] with "
            "compaction = true",
            "step",
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
        if not turn.calls or turn.finish_reason == "length":
            return answers


def _transcript(prompt: str, answers: int) -> list[Message]:
    """What a request holds after some answers, as far as a script looks at it."""
    return [Message("user", prompt), *(Message("assistant"), Message("tool")) * answers]
