"""A measured figure and what is asked of it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Figure:
    """`most` and `least` are bounds; a figure without a bound is for comparison only."""

    name: str
    value: float
    unit: str
    most: float | None = None
    least: float | None = None

    @property
    def broken(self) -> bool:
        too_much = self.most is not None and self.value > self.most
        return too_much or (self.least is not None and self.value < self.least)

    def __str__(self) -> str:
        bound = ""
        if self.most is not None:
            bound = f"at most {self.most:g}"
        elif self.least is not None:
            bound = f"at least {self.least:g}"
        verdict = "  BROKEN" if self.broken else ""
        return f"{self.name:<58} {self.value:>10.2f} {self.unit:<12} {bound}{verdict}"
