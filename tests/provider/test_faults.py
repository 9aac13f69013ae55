"""How a scenario names what goes wrong at the provider."""

from __future__ import annotations

import pytest

from chaos.errors import ScenarioError
from chaos.provider.faults import Fault


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("provider:500", Fault("status", status=500)),
        ("provider:429", Fault("status", status=429)),
        ("provider:reset", Fault("reset")),
        ("provider:close", Fault("close")),
        ("provider:malformed", Fault("malformed")),
        ("provider:hold", Fault("hold")),
        ("provider:bad-utf8", Fault("bad-utf8")),
        ("provider:no-finish", Fault("no-finish")),
        ("provider:cut@0", Fault("cut", after=0)),
        ("provider:cut@17", Fault("cut", after=17)),
        ("provider:reset@2", Fault("reset", after=2)),
        ("provider:hold@2", Fault("hold", after=2)),
        ("provider:end@2", Fault("end", after=2)),
        ("provider:cut-byte@300", Fault("cut", after=300, in_bytes=True)),
        ("provider:reset-byte@0", Fault("reset", after=0, in_bytes=True)),
    ],
)
def test_a_fault_is_read_as_it_is_printed(text: str, fault: Fault) -> None:
    assert Fault.parse(text) == fault
    assert str(fault) == text


@pytest.mark.parametrize(
    "text",
    ["", "500", "provider:", "provider:200", "provider:600", "provider:cut", "provider:cut@-1",
     "provider:cut@01", "provider:reset ", "provider:close@1", "provider:malformed@1",
     "provider:byte@1", "provider:cut-byte", "signal:INT"],
)  # fmt: skip
def test_an_unknown_fault_is_refused_with_those_that_exist(text: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        Fault.parse(text)
    message = str(caught.value)
    assert message.startswith(f"not a provider fault: {text!r}; expected one of ")
    for name in ("STATUS", "reset", "close", "malformed", "hold", "cut@N", "cut-byte@N"):
        assert f"provider:{name} (" in message
