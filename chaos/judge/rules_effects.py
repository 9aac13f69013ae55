"""Rules E1 to E4: what happened outside the log, set against the intents in it.

An effect belongs to the intent that is pending in the log when it happens; an effect of a tool
that outlives its agent is judged by the log as it is then. Three kinds of event count: a line in
the effect journal (`Effect`), a change of a workspace file (`FileChange`), and the start of a
program that carries out a call (`Exec` with a string of the call's arguments in its command line).

E5, the bytes of files, is in `chaos.judge.rules_files`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TypeGuard

from chaos.evidence import Effect, Event, Exec, FileChange, Launch
from chaos.judge.case import Case, Need, Rule, Where, broken
from chaos.judge.history import Call, CallKey, History
from chaos.judge.workspace import is_temporary, removes
from chaos.results import Violation

Act = Effect | Exec | FileChange

_FACTS = frozenset({Need.FACTS})
_MOST = {"never": 0, "once": 1, "at-most-once": 1}  # what a scenario may expect of an effect


def is_act(event: Event, case: Case) -> TypeGuard[Act]:
    """Did a target do something to the world? A call that left a file as it was did nothing; nor is
    the start of a helper (a wrapper, a server for tools) an act."""
    if isinstance(event, FileChange):
        return event.before != event.after
    return isinstance(event, Effect) or (isinstance(event, Exec) and case.tool_start(event))


def acts(case: Case) -> Iterator[Act]:
    """The acts that an intent must announce: sweeping a temporary file of an earlier start is no
    tool's work."""
    temporary = case.evidence.facts.temporary
    for event in case.evidence.events:
        swept = (
            isinstance(event, FileChange) and removes(event) and is_temporary(event.path, temporary)
        )
        if is_act(event, case) and not swept:
            yield event


def words(act: Act) -> str:
    """What happened, for a message."""
    if isinstance(act, Effect):
        return f"effect {act.name!r}"
    if isinstance(act, Exec):
        return f"start of {' '.join(act.argv)!r}"
    return f"{act.call} of {act.path}"


def intent_first(case: Case) -> Iterator[Violation]:
    """E1. When something happens, an intent is pending in the log. Fails when none is; and when a
    program starts whose command is word for word that of calls none of which is pending, while
    another call is. Of one early tool, only the first act is reported."""
    said: set[tuple[int, str]] = set()
    for act in acts(case):
        history = case.log(act.log)
        pending = history.pending
        if pending and not _of_another_call(case, act, pending):
            continue
        last = history.last_fact
        if (act.launch, act.log) not in said:
            said.add((act.launch, act.log))
            found = f"{words(act)} with {last.type if last else 'no fact'} as the last fact"
            where = Where(case.launch_of(act), last, act)
            yield broken(
                "E1", "it happened before its intent", "a pending toolStarted", found, where
            )


def _of_another_call(case: Case, act: Act, pending: list[Call]) -> bool:
    """A command of several words is one call's own: it starts for that call, or it is a fault."""
    if not isinstance(act, Exec):
        return False
    commands = {word for word in act.argv if " " in word} & case.argument_texts
    meant = {text for call in pending for text in call.texts()}
    return bool(commands) and not any(c in text for c in commands for text in meant)


def once_per_intent(case: Case) -> Iterator[Violation]:
    """E2. What may not be replayed happens at most once per intent. Fails when a call recorded
    `never` has an effect more often, over all launches, than the reference run has it for this
    call (once, where the reference does not know the call or the effect): give the effects of one
    call names of their own. Fails too when the scenario's expectation of an effect is not met. An
    effect whose intent a damage of the log took away counts no more."""
    for key, counted in case.effects.items():
        call = case.calls.get(key)
        if call is None or call.replay != "never":
            continue
        for name, count in counted.items():
            twins = [known.effects[twin.key][name] for known, twin in case.twins(call)]
            if count > (limit := max([1, *twins])):
                what = f"effect {name!r} of {call.name} call {call.id!r} happened too often"
                where = Where(_launch_of_last(case, name), call.intent)
                yield broken("E2", what, f"at most {limit}", count, where)
    yield from _expectations(case)


def _launch_of_last(case: Case, name: str) -> Launch:
    events = [e for e in case.evidence.events if isinstance(e, Effect) and e.name == name]
    return case.launch_of(events[-1]) if events else case.evidence.launches[0]


def _expectations(case: Case) -> Iterator[Violation]:
    """The scenario's own words: never, once, at-most-once, per-intent."""
    known = (*case.inherited, *case.evidence.events)
    counts = Counter(e.name for e in known if isinstance(e, Effect))
    for name, wanted in case.evidence.facts.expect_effects.items():
        found = _unmet(case, name, wanted, counts[name])
        if found:
            launch = _launch_of_last(case, name) if counts[name] else case.evidence.launches[-1]
            yield broken("E2", f"effect {name!r}", wanted, found, Where(launch))


def _unmet(case: Case, name: str, wanted: str, count: int) -> str:
    """What is wrong with the count of an effect; empty if nothing is. `once` accepts that it did
    not happen where the log says of a call that it is unknown, or the session is blocked, aborted
    or damaged: no agent can do better than that without risking it twice."""
    if wanted == "per-intent":
        most = max((effects[name] for effects in case.effects.values()), default=0)
        return f"{most} times for one intent" if most > 1 else ""
    missed = wanted == "once" and not count and case.end is not None and not _excused(case)
    return f"{count} times" if count > _MOST[wanted] or missed else ""


def _excused(case: Case) -> bool:
    """May a call have been left undone?"""
    undone = any(call.outcome in ("interrupted", "aborted") for call in case.final.calls)
    aborted = any(operation.aborted is not None for operation in case.final.operations)
    return case.blocked or undone or aborted or case.damaged is not None


def success_means_done(case: Case) -> Iterator[Violation]:
    """E3. A recorded success means that the effect happened. Fails when a call succeeded here and
    in the reference, and an effect that it had there happened less often here. An effect that came
    before its intent did happen: E1 names it."""
    counts, early = case.effects, case.unannounced
    for call in case.final.calls:
        if call.outcome != "success":
            continue
        for known, twin in case.twins(call):
            if twin.outcome != "success":
                continue
            for name, wanted in known.effects[twin.key].items():
                found = counts[call.key][name] + early[name]
                if found < wanted:
                    what = f"{call.name} call {call.id!r} succeeded without its effect {name!r}"
                    where = Where(fact=call.result)
                    yield broken("E3", what, f"{wanted}, as in the reference", found, where)
            break


def only_safe_is_replayed(case: Case) -> Iterator[Violation]:
    """E4. Only a call recorded safe is run again. Fails when something happens in a launch while
    the only pending intents are recorded `never` and were durable before that launch began; and
    when an intent is recorded safe for anything but the built-in `read`. Fails too when a call
    succeeds in a launch that found its intent under another replay key than the run without a kill
    gives this call: it is not declared so any more."""
    yield from _declared_otherwise(case)
    for call in case.final.calls:
        if call.replay == "safe" and call.intent is not None and not _may_be_safe(call):
            found = f"safe for {call.name}, key {call.intent.body.get('replayKey')!r}"
            where = Where(fact=call.intent)
            yield broken(
                "E4", "an intent is recorded safe", "safe for the built-in read only", found, where
            )
    said: set[tuple[int, CallKey]] = set()
    for act in acts(case):
        launch = case.launch_of(act)
        pending = case.log(act.log).pending
        old = _intents(case.log(launch.log_before))
        again = [c for c in pending if c.replay == "never" and c.intent and c.intent.id in old]
        if not again or len(again) < len(pending) or (launch.index, again[-1].key) in said:
            continue
        call = again[-1]
        said.add((launch.index, call.key))
        what = f"{call.name} call {call.id!r} of an earlier launch was run again"
        where = Where(launch, call.intent, act)
        yield broken("E4", what, "no replay: the log says replay=never", words(act), where)


def _declared_otherwise(case: Case) -> Iterator[Violation]:
    for launch in case.evidence.launches:
        found = {call.key: call for call in case.log(launch.log_before).pending}
        for call in case.log(launch.log_after).calls:
            pending = found.get(call.key)
            if pending is None or call.outcome != "success" or call.replay != "safe":
                continue
            declared = {_replay_key(twin) for _, twin in case.twins(call)}
            if declared and _replay_key(pending) not in declared:
                expected = f"no replay: it is declared {' or '.join(sorted(declared))} now"
                what = f"{call.name} call {call.id!r} was run again"
                where = Where(launch, call.intent)
                yield broken("E4", what, expected, f"recorded {_replay_key(pending)}", where)


def _replay_key(call: Call) -> str:
    return str(call.intent.body.get("replayKey")) if call.intent else "nothing"


def _intents(history: History) -> set[str | None]:
    return {call.intent.id for call in history.calls if call.intent is not None}


def _may_be_safe(call: Call) -> bool:
    key = call.intent.body.get("replayKey") if call.intent else None
    return call.name == "read" and isinstance(key, str) and key.startswith("builtin:read:")


RULES: tuple[Rule, ...] = (
    Rule("E1", "the intent is durable before its effect happens", _FACTS, intent_first),
    # Before E2: a call that is run again is why its effect happens twice.
    Rule(
        "E4",
        "only a call recorded safe and still declared identically is replayed",
        _FACTS,
        only_safe_is_replayed,
    ),
    Rule(
        "E2",
        "an effect that may not be replayed happens at most once per intent",
        _FACTS,
        once_per_intent,
    ),
    Rule("E3", "a recorded success means that the effect happened", _FACTS, success_means_done),
)
