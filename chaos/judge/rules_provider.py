"""Rules P: what goes over the wire to the model, set against the log at that very moment.

A request is judged by the log that was on disk when its first byte arrived, so a request that
overtakes its durable fact is seen in every run, killed or not.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from chaos.evidence import Request
from chaos.flavours import flavour_of
from chaos.flavours.chat import CHAT
from chaos.judge.case import Case, Need, Rule, Where, asks_the_model, broken, shown
from chaos.judge.history import Attempt, History, Message
from chaos.results import Violation

_FACTS = frozenset({Need.FACTS})
_COMPARED = ("role", "content", "tool_calls", "tool_call_id")


def attempt_first(case: Case) -> Iterator[Violation]:
    """P1. When a request arrives, the last attempt in the log is open. Fails when there is no
    attempt that could be this request's: none, or only ones that a reply, a failure or a terminal
    fact has closed. A request that goes on with a finished or an aborted operation is P5's."""
    for request, attempt in case.requests:
        history = case.log(request.log)
        operation = history.open_operation
        aborted = operation is not None and operation.aborted is not None
        if attempt is None and not aborted and not _goes_on(case, request, history):
            last = history.last_fact
            found = f"{last.type if last else 'no fact'} as the last fact of the log"
            where = Where(case.launch_of(request), last, request)
            yield broken(
                "P1", "a request overtook its attempt", "an open stepAttempt", found, where
            )


def attempts_bound(case: Case) -> Iterator[Violation]:
    """P2. Each attempt pays for one request, each step for two. Fails when two requests arrive
    under the same open attempt, when a step has a third, or when there were more requests by the
    end of a launch than attempts in its log."""
    by_attempt: dict[str, Request] = {}
    by_step: Counter[str] = Counter()
    quiet = True
    for request, attempt in case.requests:
        if attempt is None:
            continue
        where = Where(case.launch_of(request), attempt.fact, request)
        if attempt.id in by_attempt:
            found = f"a second one after event {by_attempt[attempt.id].order}"
            quiet = False
            yield broken("P2", "an attempt was used twice", "one request an attempt", found, where)
        by_attempt.setdefault(attempt.id, request)
        by_step[attempt.step] += 1
        if by_step[attempt.step] == 3:
            quiet = False
            yield broken("P2", "a step asked too often", "at most 2 requests", "3", where)
    if quiet:
        yield from _totals(case)


def _totals(case: Case) -> Iterator[Violation]:
    for launch in case.evidence.launches:
        asked = sum(request.launch <= launch.index for request, _ in case.requests)
        recorded = len(case.log(launch.log_after).attempts)
        if asked > recorded:
            expected = f"at most {recorded}, the attempts recorded"
            yield broken("P2", "more requests than attempts", expected, asked, Where(launch))
            return


def legal_transcript(case: Case) -> Iterator[Violation]:
    """P3. Every request is one that a real provider accepts. A request cut by a kill, of which
    only a part arrived, is not judged."""
    for event in case.evidence.events:
        if isinstance(event, Request) and asks_the_model(event) and _arrived_whole(event):
            flavour = flavour_of(event.method, event.path) or CHAT
            for fault in flavour.faults(case.evidence.blobs.get(event.body)):
                where = Where(case.launch_of(event), event=event)
                yield broken(
                    "P3", "a request is illegal", "a transcript a provider accepts", fault, where
                )


def active_context(case: Case) -> Iterator[Violation]:
    """P4. The messages of an assistant step are the system message and then the active context of
    the log at that moment: same roles, contents, calls and call ids, nothing more, nothing less.
    Those of a compaction are the part of the context that goes, and then at most the words that ask
    for its summary. The system message is the same in all requests whose attempts record the same
    digest of it; the model is the attempt's. Anything else that asks the provider is a side
    request, which no profile allows yet. Requests without an attempt are P1's and P5's."""
    prompts: dict[str, tuple[object, Request]] = {}
    for event in case.evidence.events:
        if isinstance(event, Request) and not asks_the_model(event):
            where = Where(case.launch_of(event), event=event)
            found = f"{event.method} {event.path}"
            yield broken("P4", "a side request", "chat completions only", found, where)
    for request, attempt in case.requests:
        messages = _messages(case, request)
        if messages is None or attempt is None:
            continue
        where = Where(case.launch_of(request), attempt.fact, request)
        if not messages or messages[0].get("role") not in ("system", "developer"):
            found = _brief(messages[0]) if messages else "no message"
            yield broken("P4", "no system message", "one, as the first message", found, where)
        else:
            system, messages = messages[0].get("content"), messages[1:]
            yield from _same_system(system, attempt, request, prompts, where)
        asked = _body(case, request).get("model")
        if attempt.model and asked not in (None, attempt.model):
            yield broken("P4", "another model is asked", attempt.model, asked, where)
        context = case.log(request.log).context
        if attempt.kind == "compaction" and attempt.operation is not None:
            context = context[: len(context) - attempt.operation.retained]
            if len(messages) == len(context) + 1 and messages[-1].get("role") == "user":
                messages = messages[:-1]
        yield from _same_context(context, messages, where)


def _same_system(
    system: object,
    attempt: Attempt,
    request: Request,
    prompts: dict[str, tuple[object, Request]],
    where: Where,
) -> Iterator[Violation]:
    first, of = prompts.setdefault(attempt.system_prompt_digest, (system, request))
    if first != system:
        prompts[attempt.system_prompt_digest] = (system, request)
        what = f"the system message is not that of event {of.order}, under the same digest"
        yield broken("P4", what, first, system, where)


def _same_context(
    context: list[Message], messages: list[Message], where: Where
) -> Iterator[Violation]:
    """At most one violation: what follows the first difference is a consequence."""
    for index in range(max(len(context), len(messages))):
        expected = _compared(context[index]) if index < len(context) else None
        found = _compared(messages[index]) if index < len(messages) else None
        if expected != found:
            what = f"message {index + 1} of the context is not the log's"
            yield broken("P4", what, _brief(expected), _brief(found), where)
            return


def _compared(message: Message) -> dict[str, object]:
    """What counts of a message; a key without a value is as good as no key."""
    return {key: message[key] for key in _COMPARED if message.get(key) is not None}


def _brief(message: Message | None) -> str:
    return "no message" if message is None else json.dumps(message, ensure_ascii=False)


def after_the_end(case: Case) -> Iterator[Violation]:
    """P5. No request of an operation after its terminal fact or its durable abort; none while
    blocked. Fails when a request arrives while the log shows the abort of the open operation, when
    a request goes on with the conversation of a finished operation (a new prompt would be P1's), or
    when a launch that ends blocked asks under an attempt that it did not make."""
    for request, attempt in case.requests:
        launch, history = case.launch_of(request), case.log(request.log)
        operation = history.last_operation
        if attempt is None and operation is not None and _goes_on(case, request, history):
            where = Where(launch, operation.finished[-1], request)
            found = f"one after operation {operation.ordinal} {operation.outcome}"
            yield broken("P5", "a finished operation asked on", "no request", found, where)
        if operation is not None and operation.aborted is not None and not operation.finished:
            where = Where(launch, operation.aborted, request)
            yield broken("P5", "an aborted operation asked on", "no request", "one", where)
        if attempt is None:
            continue
        known = {known.id for known in case.log(launch.log_before).attempts}
        if case.exited(launch, "blocked") and attempt.id in known:
            where = Where(launch, attempt.fact, request)
            found = f"one under attempt {attempt.number} of an earlier launch"
            yield broken("P5", "a blocked launch asked", "no request", found, where)


def _goes_on(case: Case, request: Request, history: History) -> bool:
    """Is this request of the operation that the log shows as finished: no new prompt in it?"""
    messages = _messages(case, request)
    operation = history.last_operation
    if messages is None or operation is None or not operation.finished:
        return False
    return _prompts(messages) <= _prompts(history.context)


def _prompts(messages: list[Message]) -> int:
    return sum(message.get("role") == "user" for message in messages)


def _messages(case: Case, request: Request) -> list[Message] | None:
    """The messages of a request that arrived whole; None if it cannot be read (P3)."""
    messages = _body(case, request).get("messages") if _arrived_whole(request) else None
    if not isinstance(messages, list):
        return None
    return [m if isinstance(m, Mapping) else {"content": shown(m)} for m in messages]


def _body(case: Case, request: Request) -> Mapping[str, Any]:
    """The body of a request, as far as it is a JSON object."""
    try:
        body: Any = json.loads(case.evidence.blobs.get(request.body))
    except (ValueError, RecursionError):
        return {}
    return body if isinstance(body, dict) else {}


def _arrived_whole(request: Request) -> bool:
    """The mock decided about it. It decides nothing about a request that was cut."""
    return request.status != 0 or request.injected


RULES: tuple[Rule, ...] = (
    Rule("P1", "the attempt is durable before its request reaches the wire", _FACTS, attempt_first),
    Rule("P2", "requests ≤ recorded attempts; at most two for one step", _FACTS, attempts_bound),
    Rule(
        "P3", "every request is a transcript a real provider accepts", frozenset(), legal_transcript
    ),
    Rule(
        "P4",
        "a request is the system message plus the active context of the log at that moment",
        _FACTS,
        active_context,
    ),
    Rule(
        "P5",
        "no request after the terminal fact or the durable abort, none while blocked",
        _FACTS,
        after_the_end,
    ),
)
