"""The pure rooms stay pure: no process, socket, file, clock or signal, not even through others."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

AGENT = Path(__file__).parents[2] / "agent"
PURE = (
    "canonical",
    "entries",
    "errors",
    "facts",
    "inspection",
    "journal",
    "ledger",
    "new_facts",
    "planner",
    "plans",
    "records",
    "reducer",
    "schema",
    "shapes",
    "state",
    "strict_json",
    "transcript",
)
ALLOWED = {
    "__future__",
    "collections",
    "contextlib",
    "dataclasses",
    "hashlib",
    "json",
    "math",
    "operator",
    "re",
    "rfc8785",
    "typing",
}


def imports(module: Path) -> set[str]:
    """What a module imports: whole dotted names, also inside functions."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(module.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module.name}: relative import"
            found.add(node.module or "")
            if node.module == "agent":
                found |= {f"agent.{alias.name}" for alias in node.names}
    return found - {"agent"}


@pytest.mark.parametrize("name", PURE)
def test_a_pure_module_imports_only_pure_ones(name: str) -> None:
    for found in imports(AGENT / f"{name}.py"):
        if found.startswith("agent."):
            assert found.removeprefix("agent.") in PURE, f"{name} imports {found}"
        else:
            assert found.split(".")[0] in ALLOWED, f"{name} imports {found}"


def test_no_pure_module_calls_what_opens_or_runs() -> None:
    for name in PURE:
        tree = ast.parse((AGENT / f"{name}.py").read_text())
        called = {
            node.func.id
            for node in ast.walk(tree)
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        }
        assert not called & {"open", "print", "input", "exec", "eval", "__import__"}, name
