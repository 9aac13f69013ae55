"""Rules L5, L6 and L8: attempts, replies, calls and their results.

The logs of `tests.loggen.small` are legal; each row differs from one of them as little as it says.
Messages show ids by the names they have there.
"""

from __future__ import annotations

import pytest

from chaos.judge.strict import check_log
from tests.loggen.histories import TEXT
from tests.loggen.small import (
    ATTEMPT_2,
    ERROR,
    PROMPT,
    REPLY,
    REPLY_2,
    RESULT,
    STEP,
    STEP_2,
    aborting,
    answered,
    attempt,
    changed,
    failed,
    finish,
    intent,
    log,
    prompt,
    reply,
    result,
    tool_run,
    u,
    unstarted,
    with_names,
    without_tools,
)

LEGAL: dict[str, bytes] = {
    "a second attempt": log(attempt(), attempt(name=ATTEMPT_2, number=2), reply(name=ATTEMPT_2)),
    "a truncated reply": log(
        attempt(),
        reply(None, "c0", stop="length"),
        unstarted("truncated", TEXT["truncated"]),
        finish(completion="truncated", finalEntryId=REPLY),
    ),
    "an abort between a call that started and one that did not": log(
        attempt(),
        reply(None, "c0", "c1"),
        intent(),
        aborting("tool", toolCallId="c0"),
        result(TEXT["interrupted"], "interrupted"),
        unstarted("aborted", TEXT["aborted"], "c1", 1),
        finish("aborted"),
    ),
    "results out of order": log(
        attempt(),
        reply(None, "c0", "c1"),
        unstarted("unknownTool", TEXT["unknownTool"], "c1", 1),
        intent(),
        result(),
    ),
    "a reply of more calls than small integers": log(
        attempt(), reply(None, *(f"c{number}" for number in range(300)))
    ),
    "the same call id in a later turn": log(
        attempt(),
        reply(None, "c0"),
        intent(),
        result(),
        attempt(STEP_2, ATTEMPT_2, RESULT),
        reply(None, "c0", step=STEP_2, name=ATTEMPT_2, entry_id=REPLY_2),
    ),
}


@pytest.mark.parametrize("what", LEGAL)
def test_what_the_contract_allows_is_quiet(what: str) -> None:
    assert check_log(LEGAL[what]) == []


# what is broken -> the log, the rule, and what is said
BROKEN: dict[str, tuple[bytes, str, str]] = {
    "two steps at once": (
        log(attempt(), attempt(STEP_2, ATTEMPT_2)),
        "L5",
        "INVALID_TRANSITION at line 4, seq 4: expected a new step only after a reply with tool "
        "calls; found the step before is open",
    ),
    "an attempt at a message that is not the last": (
        changed(tool_run, 7, "record", contextThroughEntryId=REPLY),
        "L5",
        "INVALID_TRANSITION at line 7, seq 7: expected contextThroughEntryId RESULT, the last "
        "message; found REPLY",
    ),
    "an attempt at a message that is not there": (
        log(attempt(boundary=u(0x90))),
        "L5",
        "INVALID_REFERENCE at line 3, seq 3: expected contextThroughEntryId to name a message "
        "entry; found u(0x90)",
    ),
    "a digest that is not the snapshot's": (
        changed(answered, 3, "record", "configurationSnapshot", model="x"),
        "L5",
        "INVALID_FACT at line 3, seq 3: expected configurationDigest DIGEST, that of the "
        "snapshot; found DIGEST",
    ),
    "an attempt 2 without attempt 1": (
        log(attempt(number=2)),
        "L5",
        "INVALID_REFERENCE at line 3, seq 3: expected stepId to name a step that began; found STEP",
    ),
    "an attempt 2 of a settled step": (
        log(attempt(), reply(None, "c0"), attempt(name=ATTEMPT_2, boundary=REPLY, number=2)),
        "L5",
        "INVALID_TRANSITION at line 5, seq 5: expected an open attempt 1 before attempt 2; "
        "found attempt 1, settled",
    ),
    "an attempt 3 in all but number": (
        log(attempt(), attempt(name=ATTEMPT_2, number=2), attempt(name=u(0x90), number=2)),
        "L5",
        "INVALID_TRANSITION at line 5, seq 5: expected an open attempt 1 before attempt 2; "
        "found attempt 2, open",
    ),
    "an attempt 2 of another step": (
        log(
            attempt(),
            reply(None, "c0"),
            unstarted("unknownTool", TEXT["unknownTool"]),
            attempt(STEP_2, ATTEMPT_2, u(0x80)),
            attempt(STEP, u(0x90), u(0x80), 2),
        ),
        "L5",
        "INVALID_TRANSITION at line 7, seq 7: expected stepId STEP_2, as in attempt 1; found STEP",
    ),
    "an attempt 2 at another boundary": (
        log(
            attempt(),
            reply(None, "c0"),
            unstarted("unknownTool", TEXT["unknownTool"]),
            attempt(STEP_2, ATTEMPT_2, u(0x80)),
            attempt(STEP_2, u(0x90), PROMPT, 2),
        ),
        "L5",
        "INVALID_TRANSITION at line 7, seq 7: expected contextThroughEntryId u(0x80), as in "
        "attempt 1; found PROMPT",
    ),
    "a step after an answer": (
        log(attempt(), reply(), attempt(STEP_2, ATTEMPT_2, REPLY)),
        "L5",
        "INVALID_TRANSITION at line 5, seq 5: expected a new step only after a reply with tool "
        "calls; found the step before is settled by stop",
    ),
    "a step after a failed one": (
        log(attempt(), failed(), attempt(STEP_2, ATTEMPT_2)),
        "L5",
        "INVALID_TRANSITION at line 5, seq 5: expected a new step only after a reply with tool "
        "calls; found the step before is failed",
    ),
    "a reply to an attempt that never began": (
        log(attempt(), reply(name=u(0x90))),
        "L5",
        "INVALID_REFERENCE at line 4, seq 4: expected attemptId to name an attempt that began; "
        "found u(0x90)",
    ),
    "a reply after its attempt failed": (
        log(attempt(), failed(), reply()),
        "L5",
        "INVALID_TRANSITION at line 5, seq 5: expected an open attempt before an assistant "
        "message; found attempt 1 is failed",
    ),
    "a reply to attempt 1 after attempt 2 began": (
        log(attempt(), attempt(name=ATTEMPT_2, number=2), reply()),
        "L5",
        "INVALID_TRANSITION at line 5, seq 5: expected ATTEMPT to be the latest attempt; found "
        "the latest is ATTEMPT_2",
    ),
    "a reply under another step": (
        log(attempt(), reply(step=STEP_2)),
        "L5",
        "INVALID_REFERENCE at line 4, seq 4: expected stepId STEP, that of the attempt; found "
        "STEP_2",
    ),
    "a compaction step in a run": (
        changed(answered, 3, "record", stepKind="compaction"),
        "L5",
        "INVALID_TRANSITION at line 3, seq 3: expected stepKind assistant in a run; found "
        "compaction",
    ),
    "stop with calls": (
        changed(tool_run, 4, "entry", stopReason="stop"),
        "L6",
        "INVALID_TRANSITION at line 4, seq 4: expected tool calls with toolUse and length, "
        "none with stop; found stop with 1 calls",
    ),
    "toolUse without calls": (
        changed(answered, 4, 0, "entry", stopReason="toolUse"),
        "L6",
        "INVALID_TRANSITION at line 4, seq 4: expected tool calls with toolUse and length, "
        "none with stop; found toolUse with 0 calls",
    ),
    "two equal call ids in one turn": (
        log(attempt(), reply(None, "c0", "c0")),
        "L6",
        "INVALID_TRANSCRIPT at line 4, seq 4: expected call ids to differ within one turn; "
        "found ['c0', 'c0']",
    ),
    "a message while a call is unanswered": (
        log(attempt(), reply(None, "c0", "c1"), prompt(u(0x90), u(0x91))),
        "L6",
        "INVALID_TRANSCRIPT at line 5, seq 5: expected a result for every call before the next "
        "message; found a user message while c0 is unanswered",
    ),
    "a step while a call is unanswered": (
        log(attempt(), reply(None, "c0", "c1"), attempt(STEP_2, ATTEMPT_2, REPLY)),
        "L6",
        "INVALID_TRANSITION at line 5, seq 5: expected a result for every call before the next "
        "step; found c0 is unanswered",
    ),
    "an end while a call is unanswered": (
        log(attempt(), reply(None, "c0", "c1"), finish("failed", error=ERROR)),
        "L6",
        "INVALID_TRANSITION at line 5, seq 5: expected a result for every call before the end "
        "of the run; found c0 is unanswered",
    ),
    "an intent for an index that is not there": (
        log(attempt(), reply(None, "c0"), intent(index=1)),
        "L6",
        "INVALID_REFERENCE at line 5, seq 5: expected toolIndex below 1, the calls of that "
        "reply; found 1",
    ),
    "an intent for another call id": (
        log(attempt(), reply(None, "c0"), intent("c9")),
        "L6",
        "INVALID_REFERENCE at line 5, seq 5: expected toolCallId c0, that of call 0; found c9",
    ),
    "an intent for an entry that is not there": (
        changed(tool_run, 5, "record", assistantEntryId=u(0x90)),
        "L6",
        "INVALID_REFERENCE at line 5, seq 5: expected assistantEntryId to name a message of "
        "this log; found u(0x90)",
    ),
    "an intent under another step": (
        changed(tool_run, 5, "record", stepId=STEP_2),
        "L6",
        "INVALID_REFERENCE at line 5, seq 5: expected stepId STEP, that of call 0; found STEP_2",
    ),
    "an intent for another tool": (
        changed(tool_run, 5, "record", toolName="read"),
        "L6",
        "INVALID_REFERENCE at line 5, seq 5: expected toolName bash, that of call 0; found read",
    ),
    "a result under another step": (
        changed(tool_run, 6, "entry", stepId=STEP_2),
        "L6",
        "INVALID_REFERENCE at line 6, seq 6: expected stepId STEP, that of call 0; found STEP_2",
    ),
    "a result of another tool": (
        changed(tool_run, 6, "entry", toolName="read"),
        "L6",
        "INVALID_REFERENCE at line 6, seq 6: expected toolName bash, that of call 0; found read",
    ),
    "an intent for a tool that was not offered": (
        changed(tool_run, 3, "record", **without_tools()),
        "L6",
        "INVALID_REFERENCE at line 5, seq 5: expected a tool that the attempt offered (none); "
        "found bash",
    ),
    "an intent for a truncated call": (
        log(attempt(), reply(None, "c0", stop="length"), intent()),
        "L6",
        "INVALID_TRANSITION at line 5, seq 5: expected an intent only for a reply that ended "
        "in toolUse; found length",
    ),
    "two intents for one call": (
        log(attempt(), reply(None, "c0"), intent(), {**intent(), "id": u(0x90)}),
        "L6",
        "INVALID_TRANSITION at line 6, seq 6: expected an intent only where the call has "
        "neither intent nor result; found call 0 (c0) is started already",
    ),
    "an intent for an answered call": (
        log(attempt(), reply(None, "c0"), unstarted("unknownTool", TEXT["unknownTool"]), intent()),
        "L6",
        "INVALID_TRANSITION at line 6, seq 6: expected an intent only where the call has "
        "neither intent nor result; found call 0 (c0) is answered already",
    ),
    "an intent that names a prompt as its reply": (
        changed(tool_run, 5, "record", assistantEntryId=PROMPT),
        "L6",
        "INVALID_TRANSITION at line 5, seq 5: expected PROMPT to be the last reply of an open "
        "run; found REPLY",
    ),
    "a result without an intent": (
        log(attempt(), reply(None, "c0"), result()),
        "L6",
        "INVALID_REFERENCE at line 5, seq 5: expected toolStartedId to name an intent in this "
        "log; found INTENT",
    ),
    "a result under another id than the reserved one": (
        changed(tool_run, 6, id=u(0x90)),
        "L6",
        "INVALID_REFERENCE at line 6, seq 6: expected the reserved result id RESULT, that of "
        "call 0; found u(0x90)",
    ),
    "a result for another call": (
        changed(tool_run, 6, "entry", "message", tool_call_id="c9"),
        "L6",
        "INVALID_REFERENCE at line 6, seq 6: expected tool_call_id c0, that of call 0; found c9",
    ),
    "a second result": (
        log(attempt(), reply(None, "c0"), intent(), result(), {**result(), "id": u(0x90)}),
        "L6",
        "INVALID_TRANSITION at line 7, seq 7: expected one result a call; found a second one",
    ),
    "a call that started and is said never to have": (
        log(attempt(), reply(None, "c0"), intent(), unstarted("unknownTool", TEXT["unknownTool"])),
        "L6",
        "INVALID_TRANSITION at line 6, seq 6: expected a result of a call that never started "
        "only where the call has neither intent nor result; found call 0 (c0) is started "
        "already",
    ),
    "another text for a synthetic result": (
        log(attempt(), reply(None, "c0"), unstarted("aborted", "Vorgang abgebrochen.")),
        "L8",
        "INVALID_TRANSCRIPT at line 5, seq 5: expected the text of aborted, 'Operation aborted "
        "before execution.'; found 'Vorgang abgebrochen.'",
    ),
    "another text for an interrupted result": (
        log(attempt(), reply(None, "c0"), intent(), result("gone", "interrupted")),
        "L8",
        "INVALID_TRANSCRIPT at line 6, seq 6: expected the text of interrupted, 'Operation "
        "interrupted after execution status became unknown; the tool was not replayed.'; found "
        "'gone'",
    ),
}


@pytest.mark.parametrize("what", BROKEN)
def test_what_breaks_a_rule_is_named_with_its_place(what: str) -> None:
    data, rule, message = BROKEN[what]
    (violation,) = check_log(data)
    assert (violation.id, with_names(violation.message)) == (rule, message)
