"""Rules for a session whose log is not read: what was said on the wire, and what happened outside.

The same ids promise the same things as for a target that records facts; what is seen of it is less.
A prompt is **accepted** when a turn that holds it has arrived (`acknowledged = "request"`), or when
the launch that was given it has ended well (`"exit"`). Turns are `chaos.judge.talks`'.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from chaos.evidence import Answered, Effect, Launch, Request
from chaos.judge.case import Case, Need, Rule, Where, asks_the_model, broken, ended_from_outside
from chaos.judge.rules_recovery import crash_report, last_line, named_elsewhere
from chaos.judge.talks import Turn, answered, first_lost, is_side, turns, words
from chaos.results import Violation

_WIRE = frozenset({Need.WIRE})
_MOST = {"never": 0, "once": 1, "at-most-once": 1}
PROBE_EFFECT = "probe"  # what the probe turn appends to the effect journal


def keeps_prompts(case: Case) -> Iterator[Violation]:
    """Without a log: from the moment a prompt is accepted, every turn holds it, as often as it was
    given at most; and a prompt that a kill left without its whole answer is asked again. Fails when
    a turn has lost it or has it too often, when a launch that ended well never asked for it, when
    the answer never comes; and when the probe turn does not arrive, or its tool has no effect."""
    said: set[str] = set()
    for prompt, most, count, turn in case.remember(_miscounted):
        if prompt in said:
            continue
        said.add(prompt)
        where = Where(case.launch_of(turn.request), event=turn.request)
        if count:
            what, expected = f"prompt {prompt!r} is doubled", f"it {most} times at most"
            yield broken("R1", what, expected, f"it {count} times", where)
        else:
            what, users = (
                f"prompt {prompt!r} is lost",
                [text for text in turn.conversation.users if text],
            )
            yield broken("R1", what, "it in every later request", f"a user saying {users}", where)
    for launch in case.evidence.launches:
        if launch.role == "run" and _well(case, launch) and not _asked(case, launch):
            what, found = f"prompt {launch.prompt!r} reached nobody", "an end without one"
            yield broken("R1", what, "a request that holds it", found, Where(launch))
    yield from _unanswered(case, said)
    yield from _probe(case)


def _miscounted(case: Case) -> list[tuple[str, int, int, Turn]]:
    """The prompts that a turn lacks, or holds too often: the prompt, how often it was given, how
    often it is there, and the turn."""
    given: dict[str, list[Launch]] = {}
    found = []
    for launch in case.evidence.launches:
        if launch.prompt is not None and launch.role in ("run", "probe"):
            given.setdefault(launch.prompt, []).append(launch)
        for turn in _of(case, launch):
            held = _prompts(case, turn)
            for prompt, launches in given.items():
                lost = not held[prompt] and _accepted_before(case, prompt, launches, turn.request)
                if lost or held[prompt] > len(launches):
                    found.append((prompt, len(launches), held[prompt], turn))
    return found


def _without_prompt(case: Case) -> set[int]:
    """Turns that have lost a prompt: what they have lost besides is no news."""
    return {turn.request.order for _, _, count, turn in case.remember(_miscounted) if not count}


def _accepted_before(case: Case, prompt: str, given: list[Launch], request: Request) -> bool:
    if any(_well(case, launch) and launch.index < request.launch for launch in given):
        return True
    if case.evidence.facts.acknowledged == "exit":
        return False
    first = next((t for t in turns(case) if _prompts(case, t)[prompt]), None)
    return first is not None and first.request.order < request.order


def _unanswered(case: Case, said: set[str]) -> Iterator[Violation]:
    """A prompt whose launch was killed before its answer was out must be asked again by the end of
    the steps. What an answer that was out has left, the target knows alone."""
    end = case.end
    if end is None or case.evidence.facts.acknowledged == "exit":
        return
    for prompt in dict.fromkeys(case.evidence.facts.prompts):
        asked = [t for t in turns(case) if _prompts(case, t)[prompt]]
        if prompt in said or not asked or asked[-1].request.launch > end.launch.index:
            continue
        launch = case.launch_of(asked[-1].request)
        if launch.killed and not _answer_out(case, asked[-1].request):
            where = Where(end.launch)
            what = f"prompt {prompt!r} was given up"
            found = f"none after launch {launch.index + 1} was killed before its answer was out"
            yield broken("R1", what, "a request that holds it", found, where)


def _answer_out(case: Case, request: Request) -> bool:
    return any(
        isinstance(e, Answered) and e.complete and e.ordinal == request.ordinal
        for e in case.evidence.of_launch(request.launch)
    )


def _probe(case: Case) -> Iterator[Violation]:
    """The session can be used again."""
    for launch in case.evidence.launches:
        if launch.role != "probe" or not _well(case, launch):
            continue
        if not _asked(case, launch):
            what, found = "the probe turn failed", "no request that holds its prompt"
            yield broken("R1", what, "one", found, Where(launch))
        elif case.evidence.facts.shell:
            count = _effects(case, launch)[PROBE_EFFECT]
            if count != 1:
                what, found = "the probe turn failed", f"its tool's effect {count} times"
                yield broken("R1", what, "it once", found, Where(launch))


def stays_told(case: Case) -> Iterator[Violation]:
    """P6. What a turn holds, every later turn holds too, in the same order: what the user said
    (perhaps joined with more), what the model said, its calls with their arguments, and their
    results. Ids may be given anew. Fails at the first thing that is gone. A prompt that is lost is
    R1's, and what is lost with it."""
    lost = _without_prompt(case)
    before: Turn | None = None
    for turn in turns(case):
        gone = first_lost(before.conversation, turn.conversation) if before else None
        if gone is not None and before is not None and turn.request.order not in lost:
            what = f"what event {before.request.order} told the model is not told any more"
            where = Where(case.launch_of(turn.request), event=turn.request)
            yield broken("P6", what, words(gone), _last(turn), where)
            return
        before = turn


def _last(turn: Turn) -> str:
    messages = turn.conversation.messages
    return f"a request of {len(messages)} messages without it"


def counted_effects(case: Case) -> Iterator[Violation]:
    """Without a log: an effect happens as often as the scenario expects, `once` at most once where
    there was a kill; one of which the scenario says nothing, as often as in the run without a kill
    at most. Fails at the first that is one too many. Where a prompt is acknowledged by the end of
    its launch only, whoever gives it again asks for its effects again. `per-intent` needs facts."""
    facts = case.evidence.facts
    killed = any(launch.killed for launch in case.evidence.launches)
    counts = _steps(case)
    usual: Counter[str] = Counter()
    for known in case.evidence.references:
        usual |= _steps(Case(known))
    for name in dict.fromkeys((*facts.expect_effects, *counts)):
        wanted = facts.expect_effects.get(name, "")
        missing = wanted == "once" and not counts[name] and not killed and case.end is not None
        most = _MOST.get(wanted, usual[name] if case.evidence.references else counts[name])
        most *= _times_given(case)
        if wanted == "per-intent" or not (counts[name] > most or missing):
            continue
        launch = _launch_of_last(case, name)
        expected = wanted or f"at most {most} times, as without a kill"
        yield broken("E2", f"effect {name!r}", expected, f"{counts[name]} times", Where(launch))


def _times_given(case: Case) -> int:
    """How often the same prompt was given, at most, by somebody who must do so."""
    if case.evidence.facts.acknowledged != "exit":
        return 1
    runs = Counter(x.prompt for x in case.evidence.launches if x.role == "run")
    return max(runs.values(), default=1)


def _steps(case: Case) -> Counter[str]:
    """The effects of the steps and of what must do nothing, which is R3's too."""
    counts: Counter[str] = Counter()
    for launch in case.evidence.launches:
        if launch.role != "probe":
            counts += _effects(case, launch)
    return counts


def _launch_of_last(case: Case, name: str) -> Launch:
    events = [e for e in case.evidence.events if isinstance(e, Effect) and e.name == name]
    return case.launch_of(events[-1]) if events else case.evidence.launches[-1]


def not_forgotten(case: Case) -> Iterator[Violation]:
    """Without a log: once an effect happened, every later turn holds a call that names it with a
    result (its own, or that it is unknown), or words that name it. Fails when one does not: of each
    effect, the first turn is reported. What was told once, and is not any more, is P6's; where the
    prompt is lost with it, R1's."""
    lost = _without_prompt(case)
    happened: dict[str, Effect] = {}
    told: set[str] = set()
    asked = {turn.request.order: turn for turn in turns(case)}
    for event in case.evidence.events:
        if isinstance(event, Effect):
            happened.setdefault(event.name, event)
        turn = asked.get(event.order)
        if turn is None:
            continue
        for name, effect in happened.items():
            if name in told or event.order in lost:
                continue
            told.add(name)  # of each, one turn is judged
            if not _tells(case, turn, name):
                what = f"effect {name!r} is forgotten"
                expected = "a call that names it, with a result"
                found = f"a request of {len(turn.conversation.messages)} messages without one"
                where = Where(case.launch_of(event), event=turn.request)
                more = f" (it happened at event {effect.order})"
                yield broken("E6", what, expected, found + more, where)


def _tells(case: Case, turn: Turn, name: str) -> bool:
    if any(name in call.arguments for call, _ in answered(turn.conversation)):
        return True
    prompts = (*case.evidence.facts.prompts, case.evidence.facts.probe_prompt)
    texts = [m.text for m in turn.conversation.messages]
    for prompt in prompts:
        texts = [text.replace(prompt, "") for text in texts]
    return any(name in text for text in texts)


def ends_well(case: Case) -> Iterator[Violation]:
    """Without a log: the exit code is that of an operation that completed; or that failed, where
    the scenario expects it. One that fell over is told as such."""
    allowed = [case.code("completed")]
    if case.evidence.facts.expect_outcome == "failed":
        allowed.append(case.code("failed"))
    for launch in case.evidence.launches:
        itself = not ended_from_outside(launch) and launch.signal is None
        elsewhere = crash_report(case.text(launch.stderr)) or named_elsewhere(case, launch)
        if itself and not elsewhere and launch.exit_code not in allowed:
            expected = " or ".join(str(code) for code in allowed if code is not None)
            found = f"{launch.exit_code}: {last_line(case, launch)}"
            yield broken("R2", "wrong exit code", expected, found, Where(launch))


def rests(case: Case) -> Iterator[Violation]:
    """Without a log: a second resume has no effect; and no turn, where resume is given no prompt.
    What it loses of the conversation is R1's and P6's."""
    for launch in case.evidence.launches:
        if launch.role != "idle":
            continue
        for event in case.evidence.of_launch(launch.index):
            if isinstance(event, Effect):
                done = f"effect {event.name!r}"
            elif isinstance(event, Request) and _asks_unasked(case, event):
                done = "a request to the provider"
            else:
                continue
            where = Where(launch, event=event)
            yield broken("R3", "an idle resume was not idle", "nothing to happen", done, where)
            return


def _asks_unasked(case: Case, request: Request) -> bool:
    """Does a resume that was told nothing ask the model?"""
    unasked = not case.evidence.facts.goes_on
    return unasked and asks_the_model(request) and not is_side(case, request)


def _asked(case: Case, launch: Launch) -> bool:
    """Did a launch ask the model what it was given?"""
    return any(_prompts(case, turn)[launch.prompt or ""] for turn in _of(case, launch))


def _of(case: Case, launch: Launch) -> list[Turn]:
    return [turn for turn in turns(case) if turn.request.launch == launch.index]


def _effects(case: Case, launch: Launch) -> Counter[str]:
    events = case.evidence.of_launch(launch.index)
    return Counter(event.name for event in events if isinstance(event, Effect))


def _well(case: Case, launch: Launch) -> bool:
    return case.exited(launch, "completed")


def _prompts(case: Case, turn: Turn) -> Counter[str]:
    """How often a turn holds each prompt. Of several that a text holds, the longest is meant, so
    that one prompt may begin another."""
    facts = case.evidence.facts
    known = sorted({*facts.prompts, facts.probe_prompt, facts.goes_on}, key=len, reverse=True)
    counts: Counter[str] = Counter()
    for text in turn.conversation.users:
        left = text
        for prompt in filter(None, known):
            counts[prompt] += left.count(prompt)
            left = left.replace(prompt, "")
    return counts


RULES: tuple[Rule, ...] = (
    Rule("R1", "an accepted prompt reaches the model again, and once", _WIRE, keeps_prompts),
    Rule("P6", "what the model was told stays told in every later request", _WIRE, stays_told),
    Rule(
        "E6", "an effect that happened is told to the model in later requests", _WIRE, not_forgotten
    ),
    Rule("E2", "an effect happens no more often than without a kill", _WIRE, counted_effects),
    Rule("R2", "a launch ends with the exit code of a completed operation", _WIRE, ends_well),
    Rule(
        "R3", "a second resume has no effect, and asks nothing if it takes no prompt", _WIRE, rests
    ),
)
