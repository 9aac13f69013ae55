"""Rule L4 over evidence: what the log holds as the model's reply is what the provider said.

What one log shows alone (references, legal transitions) is in `chaos.judge.strict`; what a reply
cost is in `chaos.judge.rules_usage`. Nothing is asked of a reply that a kill kept from the log.

Source: session contract, section 3; fault catalogue, classes 13, 15 and 19.
"""

from __future__ import annotations

from collections.abc import Iterator

from chaos.judge.case import Case, Where, broken
from chaos.judge.history import tool_calls
from chaos.judge.log import Fact
from chaos.judge.replies import NoReply, Reply, read_reply
from chaos.results import Violation


def as_said(case: Case) -> Iterator[Violation]:
    """L4. A durable reply is the whole of what the provider said, word for word. Fails when the
    answer to its attempt was cut, was no success, could not be read strictly or could not be held
    by a log (no choices, two calls of one id, an unknown finish reason), and when text, calls or
    stop reason are not those of the answer. A reply without a request is P1's."""
    answers = {attempt.id: request for request, attempt in case.requests if attempt is not None}
    for attempt in case.final.attempts:
        fact, request = attempt.settled, answers.get(attempt.id)
        if fact is None or request is None or fact.type not in ("assistant", "compaction"):
            continue
        where = Where(case.launch_of(request), fact, request)
        found = _stored(fact)
        try:
            said = read_reply(request.status, case.evidence.blobs.get(request.answer))
        except NoReply as why:
            what = f"a reply is stored, but the answer was none: {why}"
            yield broken("L4", what, "a failed step", _words(found), where)
            continue
        if found != said:
            what = "a stored reply is not what the provider said"
            yield broken("L4", what, _words(said), _words(found), where)


def _stored(fact: Fact) -> Reply:
    """The reply that a fact holds; of a compaction, its summary."""
    if fact.type == "compaction":
        return Reply(str(fact.body.get("summary")), (), "stop")
    message = fact.body.get("message")
    message = message if isinstance(message, dict) else {}
    functions = ((call, call.get("function")) for call in tool_calls(message))
    calls = tuple(
        (str(call.get("id")), str(function.get("name")), str(function.get("arguments")))
        for call, function in functions
        if isinstance(function, dict)
    )
    return Reply(str(message.get("content") or ""), calls, str(fact.body.get("stopReason")))


def _words(reply: Reply) -> str:
    calls = "".join(f", {name} {arguments} as {i!r}" for i, name, arguments in reply.calls)
    return f"{reply.text!r}{calls} ({reply.stop})"
