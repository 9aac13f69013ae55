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
        ("provider:cut@0", Fault("cut", cut=0)),
        ("provider:cut@17", Fault("cut", cut=17)),
    ],
)
def test_a_fault_is_read_as_it_is_printed(text: str, fault: Fault) -> None:
    assert Fault.parse(text) == fault
    assert str(fault) == text


@pytest.mark.parametrize(
    "text",
    ["", "500", "provider:", "provider:200", "provider:600", "provider:cut", "provider:cut@-1",
     "provider:cut@01", "provider:reset ", "signal:INT"],
)  # fmt: skip
def test_an_unknown_fault_is_refused_with_those_that_exist(text: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        Fault.parse(text)
    message = str(caught.value)
    assert message.startswith(f"not a provider fault: {text!r}; expected one of ")
    for name in ("STATUS", "reset", "close", "malformed", "hold", "cut@N"):
        assert f"provider:{name} (" in message
