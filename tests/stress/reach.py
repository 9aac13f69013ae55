"""Which scenario runs which line of the agent: a mutant needs no sweep of those that do not run it.

Promises: a scenario that is left out never comes to the mutated statement, in any launch of its
sweep, the killed ones included: each line is written down before it is run. What runs at import
is run by all. Knows lines only: not which values they saw.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

Place = tuple[str, int]  # module (its path below the root of the tree) and line, from 1

# Found and run by every interpreter that starts with the tree on its path; only the target has the
# variable. What a warm parent has seen, it has written for the scenario that its forks are of.
_PROBE = """
import os, sys

def begin(root, file):
    seen = set()

    def note(frame, event, argument):
        name = frame.f_code.co_filename
        if not name.startswith(root + "/agent/"):
            return None
        place = f"{{name[len(root) + 1:]}}:{{frame.f_lineno}}\\n"
        if place not in seen:
            seen.add(place)
            opened = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
            os.write(opened, place.encode())
            os.close(opened)
        return note

    sys.settrace(note)

if "AGENT_BASE_URL" in os.environ:
    begin({root!r}, {file!r})
"""


def reach(
    root: Path, scenarios: Iterable[Path], sweep: Callable[[Path], None]
) -> dict[Path, set[Place]]:
    """The lines that the sweep of each scenario runs."""
    probe, file = root / "sitecustomize.py", root / "lines"
    probe.write_text(_PROBE.format(root=str(root), file=str(file)), encoding="utf-8")
    found = {}
    try:
        for scenario in scenarios:
            file.write_bytes(b"")
            sweep(scenario)
            found[scenario] = set(map(_place, file.read_text(encoding="utf-8").splitlines()))
    finally:
        probe.unlink()
        file.unlink(missing_ok=True)
    return found


def _place(text: str) -> Place:
    module, _, line = text.rpartition(":")
    return module, int(line)


def runs(reached: Mapping[Path, set[Place]], module: str, lines: Iterable[int]) -> list[Path]:
    """The scenarios that come to one of these lines."""
    wanted = {(module, line) for line in lines}
    return [scenario for scenario, places in reached.items() if places & wanted]


def statement(source: str, line: int) -> range:
    """The lines of the innermost statement around a line; of one with a body, its head."""
    around = (head for node in ast.walk(ast.parse(source)) if line in (head := _head(node)))
    return min(around, key=len, default=range(line, line + 1))


def _head(node: ast.AST) -> range:
    """The lines of a statement that are not those of another within it."""
    match node:
        case ast.match_case():
            return range(node.pattern.lineno, node.body[0].lineno)
        case ast.Match():
            return range(node.lineno, node.cases[0].pattern.lineno)
        case ast.stmt() | ast.ExceptHandler():
            first = min(each.lineno for each in [*getattr(node, "decorator_list", []), node])
            body = getattr(node, "body", None)
            end = body[0].lineno if body else (node.end_lineno or node.lineno) + 1
            return range(first, max(end, node.lineno + 1))
        case _:
            return range(0)
