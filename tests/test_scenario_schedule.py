"""What a scenario's `[kill] schedule` may ask for, and what is refused before anything runs."""

from __future__ import annotations

import pytest

from chaos.errors import UsageError
from chaos.scenario_schedule import read_schedule

AFTER = "run: log:toolStarted#1/after; "


@pytest.mark.parametrize(
    "text",
    [
        "run: none",
        AFTER + "resume*8: none",
        AFTER + "damage: cut@100; resume: none",
        AFTER + "power-loss: data=1+half names=0; resume: none",
        "event: errno:ENOSPC* at log:assistant#1/before; run: none",
        AFTER + "event: signal:TERM at provider:1/request; resume: none",
    ],
)
def test_what_can_be_carried_out(text: str) -> None:
    assert str(read_schedule(text, "fsync")) == text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("; ;", "has no launch; write for example"),
        ("run*2: none", "run*2: only resume and abort can be"),
        (AFTER + "resume*65: none", "not a launch"),
        ("damage: cut@100; run: none", "comes before the first launch"),
        ("power-loss: data=0 names=0; run: none", "comes before the first launch"),
        (
            AFTER + "damage: cut@9; power-loss: data=0 names=0; resume: none",
            "families of their own",
        ),
        (AFTER + "power-loss: data=x; resume: none", "not a power loss: 'data=x'"),
        (AFTER + "damage: shred@9; resume: none", "not a damage"),
        (AFTER + "event: provider:500 at provider:1/request; resume: none", "with one of signal"),
        (AFTER + "event: blah at log@1/before; resume: none", "with one of signal, errno"),
        (AFTER + "event: signal:INT; resume: none", "write 'event: signal:INT at log@3/after'"),
        (AFTER + "event: signal:KILL at log@1/after; resume: none", "expected signal:INT or"),
        (AFTER + "event: errno:EIO at log@1/after; resume: none", "cannot happen at"),
    ],
)
def test_what_is_refused(text: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        read_schedule(text, "fsync")
    assert message in str(caught.value)


def test_a_target_that_promises_nothing_of_the_kind_loses_no_power() -> None:
    with pytest.raises(UsageError, match="survive the end of its process only"):
        read_schedule(AFTER + "power-loss: data=0 names=0; resume: none", "process")
