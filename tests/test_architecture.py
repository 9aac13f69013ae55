"""Two programs that do not know each other, and pure rooms that stay pure."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

# Modules through which a program reaches the world.
IMPURE = {
    "asyncio", "concurrent", "ctypes", "fcntl", "http", "httpx", "io", "multiprocessing", "os",
    "pathlib", "psutil", "select", "selectors", "shutil", "signal", "socket", "ssl", "subprocess",
    "sys", "tempfile", "tenacity", "threading", "time", "urllib",
}  # fmt: skip

# The rooms of the harness that promise to be pure. The agent's are tested beside its core.
PURE = [
    "chaos/canonical.py",
    "chaos/damage.py",
    "chaos/errors.py",
    "chaos/evidence.py",
    "chaos/explore/shrink.py",
    "chaos/explore/walk.py",
    "chaos/explore/work.py",
    "chaos/options.py",
    "chaos/points.py",
    "chaos/power_loss.py",
    "chaos/provider/faults.py",
    "chaos/provider/script.py",
    "chaos/results.py",
    "chaos/strict_json.py",
    "chaos/transcript.py",
    "chaos/supervise/disturbed.py",
    "chaos/supervise/due.py",
    "chaos/supervise/naming.py",
    "chaos/supervise/prompts.py",
    "chaos/supervise/rivals.py",
    "chaos/typed.py",
    "chaos/report/triage.py",
    "chaos/toml_lines.py",
    "chaos/toml_write.py",
    *sorted(str(p.relative_to(ROOT)) for p in (ROOT / "chaos" / "flavours").glob("*.py")),
    *sorted(
        str(p.relative_to(ROOT))
        for folder in ("judge", "report/page")
        for p in (ROOT / "chaos" / folder).glob("*.py")
    ),
]


def imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def modules(package: str) -> list[Path]:
    found = sorted((ROOT / package).rglob("*.py"))
    assert found
    return found


@pytest.mark.parametrize(("package", "other"), [("chaos", "agent"), ("agent", "chaos")])
def test_neither_program_imports_the_other(package: str, other: str) -> None:
    crossing = [
        f"{path.relative_to(ROOT)}: {name}"
        for path in modules(package)
        for name in imports(path)
        if name.split(".")[0] == other
    ]
    assert crossing == []


@pytest.mark.parametrize("name", PURE)
def test_a_pure_room_reaches_nothing_of_the_world(name: str) -> None:
    assert IMPURE.isdisjoint(found.split(".")[0] for found in imports(ROOT / name))


@pytest.mark.parametrize("name", [n for n in PURE if n.startswith("chaos/judge")])
def test_the_judge_rests_on_pure_rooms_only(name: str) -> None:
    of_ours = {found for found in imports(ROOT / name) if found.startswith("chaos.")}
    pure = {n.removesuffix(".py").replace("/", ".") for n in PURE} | {"chaos.judge"}
    rooms = {n for n in of_ours if (ROOT / f"{n.replace('.', '/')}.py").exists()}
    assert rooms <= pure


def test_imports_run_downwards() -> None:
    """judge below explore and supervise; launch and provider know neither; cli on top."""
    above = {
        "judge": ("explore", "supervise", "report", "cli", "launch", "provider"),
        "launch": ("judge", "explore", "supervise", "report", "cli", "provider"),
        "flavours": ("judge", "explore", "supervise", "report", "cli", "launch", "provider"),
        "provider": ("judge", "explore", "supervise", "report", "cli", "launch"),
        "explore": ("supervise", "report", "cli", "launch"),
        "report": ("supervise", "cli", "launch"),
    }
    wrong = [
        f"{path.relative_to(ROOT)}: {name}"
        for folder, forbidden in above.items()
        for path in modules(f"chaos/{folder}")
        for name in imports(path)
        if name.startswith(tuple(f"chaos.{f}" for f in forbidden))
    ]
    assert wrong == []
