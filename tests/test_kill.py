"""Kill points as a Python program writes them are those of the command line."""

from __future__ import annotations

import pytest

from chaos.errors import UsageError
from chaos.kill import after, before, chunk, request, response, torn
from chaos.points import KillPoint


@pytest.mark.parametrize(
    ("point", "text"),
    [
        (after("toolStarted", tool="bash"), "log:toolStarted[bash]#1/after"),
        (before("stepAttempt", nth=2), "log:stepAttempt#2/before"),
        (torn("assistant", at=17), "log:assistant#1/torn@17"),
        (after("log@5"), "log@5/after"),
        (after("log:toolStarted[bash]#2"), "log:toolStarted[bash]#2/after"),
        (before("effect:deploy"), "effect:deploy#1/before"),
        (after("effect:deploy at 5@home", nth=3), "effect:deploy at 5@home#3/after"),
        (before("file:rename[notes.txt]"), "file:rename[notes.txt]#1/before"),
        (torn("file@2", at=1), "file@2/torn@1"),
        (request(2), "provider:2/request"),
        (chunk(2, at=3), "provider:2/chunk@3"),
        (response(1), "provider:1/response"),
    ],
)
def test_each_is_a_kill_point(point: KillPoint, text: str) -> None:
    assert point == KillPoint.parse(text)
    assert str(point) == text


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (lambda: after("toolStarted#1", nth=2), "names its place in full; leave tool and nth out"),
        (lambda: after("log@5", tool="bash"), "names its place in full"),
        (lambda: before("no fact"), "not a kill point: 'log:no fact#1/before'; write for example"),
        (lambda: after("provider:2"), "not a kill point"),
        (lambda: torn("effect:deploy", at=1), "not a kill point"),
        (lambda: torn("assistant", at=0), "not a kill point"),
        (lambda: after("assistant", nth=0), "not a kill point"),
        (lambda: request(0), "not a kill point"),
    ],
)
def test_what_is_no_point_is_refused_with_examples(make: object, complaint: str) -> None:
    assert callable(make)
    with pytest.raises(UsageError) as caught:
        make()
    assert complaint in str(caught.value)
