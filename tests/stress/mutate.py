"""Small changes of a module's source that nobody chose: cosmic-ray's operators, drawn from a seed.

Of cosmic-ray only the operators are used: it finds where they apply and applies them. Its own test
loop is not. A line is drawn first and then one of the changes to it, so that an operator with many
replacements does not crowd out the others. A change that only an annotation sees is none.
"""

from __future__ import annotations

import ast
import importlib
import random
import shutil
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from itertools import takewhile
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Mutant:
    """One changed module."""

    module: str  # path below the root of the tree
    line: int  # 1-based
    before: str  # the changed lines, without their indentation
    after: str
    source: str  # the whole module

    @property
    def key(self) -> str:
        """The same change to the same code, wherever it stands."""
        return f"{self.module}: {self.before} -> {self.after}"


def draw(root: Path, modules: Sequence[str], seed: int) -> Iterator[Mutant]:
    """Mutants in the order of the seed, each line at most once. Needs cosmic-ray."""
    chance = random.Random(seed)
    lines = [(module, line) for module in sorted(modules) for line in _lines(root / module)]
    chance.shuffle(lines)
    for module, line in lines:
        source = (root / module).read_text(encoding="utf-8")
        choices = list(_lines(root / module)[line])
        chance.shuffle(choices)
        made = (_mutate(source, operator, occurrence) for operator, occurrence in choices)
        changed = next((text for text in made if text and differs(source, text)), None)
        if changed is not None:
            before, after = changed_lines(source, changed)
            yield Mutant(module, line, before, after, changed)


def differs(before: str, after: str) -> bool:
    """Do two sources say different things, annotations and docstrings left out? What does not parse
    says nothing, nor what Python warns of as it compiles it: that needs no test to be found."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            compile(after, "mutant", "exec")
        return _bare(after) != _bare(before)
    except (SyntaxError, SyntaxWarning):
        return False


def copy(source: Path, root: Path, names: Sequence[str]) -> None:
    """Copy these files and folders to another root, without what was compiled."""
    for name in names:
        if (source / name).is_dir():
            ignored = shutil.ignore_patterns("__pycache__")
            shutil.copytree(source / name, root / name, ignore=ignored)
        else:
            shutil.copy(source / name, root / name)


@contextmanager
def put(root: Path, mutant: Mutant) -> Iterator[None]:
    """The mutant is in the place of its module."""
    file = root / mutant.module
    sound = file.read_text(encoding="utf-8")
    try:
        file.write_text(mutant.source, encoding="utf-8")
        yield
    finally:
        file.write_text(sound, encoding="utf-8")


def changed_lines(before: str, after: str) -> tuple[str, str]:
    """What is between the lines that both begin with and those that both end with."""
    old, new = before.splitlines(), after.splitlines()
    first = _equal(old, new)
    last = _equal(old[first:][::-1], new[first:][::-1])
    parts = (text[first : len(text) - last] for text in (old, new))
    told = [" ".join(line.strip() for line in part) for part in parts]
    return told[0], told[1]


def _equal(old: Sequence[str], new: Sequence[str]) -> int:
    """How many lines both begin with."""
    pairs = zip(old, new, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


class _Bare(ast.NodeTransformer):
    """Takes out what no run of the program sees."""

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        node.annotation = ast.Constant(None)
        return self.generic_visit(node)

    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.annotation = None
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns = None
        return self.generic_visit(node)


def _bare(source: str) -> str:
    return ast.dump(_Bare().visit(ast.parse(source)))


@cache
def _lines(path: Path) -> dict[int, list[tuple[str, int]]]:
    """By line: the operators that apply there, and which of their applications in the module."""
    syntax = _cosmic_ray("ast")
    tree = syntax.get_ast_from_path(path)
    found: dict[int, list[tuple[str, int]]] = {}
    for name, operator in _operators().items():
        positions = (
            start
            for node in syntax.ast_nodes(tree)
            for start, _ in operator.mutation_positions(node)
        )
        for occurrence, (line, _column) in enumerate(positions):
            found.setdefault(line, []).append((name, occurrence))
    return found


@cache
def _operators() -> dict[str, Any]:
    """All that need no arguments."""
    plugins = _cosmic_ray("plugins")
    kinds = {name: plugins.get_operator(name) for name in plugins.operator_names()}
    return {name: kind() for name, kind in sorted(kinds.items()) if not kind.arguments()}


def _mutate(source: str, operator: str, occurrence: int) -> str | None:
    kind = _operators()[operator]
    made: str | None = _cosmic_ray("mutating").mutate_code(source, kind, occurrence)
    return made


def _cosmic_ray(module: str) -> Any:
    """An optional extra, without types."""
    return importlib.import_module(f"cosmic_ray.{module}")
