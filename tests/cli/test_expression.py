"""The selection of `-k`."""

from __future__ import annotations

import pytest

from chaos.cli.expression import compile_expression
from chaos.errors import UsageError


@pytest.mark.parametrize(
    ("expression", "matches"),
    [
        ("deploy", True),
        ("DEPLOY", True),
        ("ploy and after", True),
        ("deploy and not after", False),
        ("not deploy or after", True),
        ("not (deploy or after)", False),
        ("read or deploy and before", False),  # `and` binds tighter
        ("(read or deploy) and after", True),
    ],
)
def test_selections(expression: str, matches: bool) -> None:
    assert compile_expression(expression)("deploy deploy-log-header-1-after") is matches


@pytest.mark.parametrize("expression", [" ", "and", "a b", "(a", "a)", "not", "a or or b"])
def test_selections_that_make_no_sense(expression: str) -> None:
    with pytest.raises(UsageError, match=r"expected .*, found "):
        compile_expression(expression)
