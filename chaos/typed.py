"""JSON values made into dataclasses, each checked against the annotation of its field.

Understands what plain data is annotated with: str, int, float, bool, `X | None`, `tuple[X, ...]`,
`Mapping[str, X]`, dataclasses, unions of dataclasses (told apart by a key "kind" with the name of
the class), and `Annotated[str, …]` where the caller says what is more to check.

Promises: what comes back is of the types that it says, in every field and at every depth, or a
`Mismatch` names the field. Pure.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

MOST = 2**63  # no number of a system call, size or count of ours lies beyond

_KINDS: Mapping[type, str] = {
    str: "a string",
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    list: "an array",
    dict: "an object",
    NoneType: "null",
}
_SHOWN = 60  # characters of a value that a message shows


class Mismatch(ValueError):  # noqa: N818 - says what happened
    """A value is not what its annotation says. The message: `FIELD: expected …, found …`."""

    def __init__(self, where: str, expected: str, found: object) -> None:
        shown = "nothing" if found is MISSING else _shown(found)
        super().__init__(f"{where or 'the whole'}: expected {expected}, found {shown}")


def _shown(value: object) -> str:
    if isinstance(value, list | dict):
        return _KINDS[type(value)]
    text = "null" if value is None else ascii(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


class Builder:
    """Builds values. `marks` says what is to be checked of `Annotated[str, mark]`: a function that
    gives what was expected instead, or empty."""

    def __init__(self, marks: Mapping[str, Callable[[str], str]]) -> None:
        self._marks = marks

    def build(self, hint: Any, value: Any, where: str) -> Any:
        """`value` as what `hint` says. Raises Mismatch."""
        origin = get_origin(hint)
        if _is_class(hint):
            return self._instance(hint, _of(dict, value, where), where)
        if origin is Annotated:
            base, mark = get_args(hint)
            expected = self._marks[mark](_of(base, value, where))
            if expected:
                raise Mismatch(where, expected, value)
            return value
        if origin in (Union, UnionType):
            return self._one_of(get_args(hint), value, where)
        if origin is tuple:
            item = get_args(hint)[0]
            items = _of(list, value, where)
            return tuple(self.build(item, each, f"{where}[{i}]") for i, each in enumerate(items))
        if origin is Mapping:
            item = get_args(hint)[1]
            found = _of(dict, value, where)
            return {
                key: self.build(item, each, f"{where}[{_shown(key)}]")
                for key, each in found.items()
            }
        return _of(hint, value, where)

    def _one_of(self, options: tuple[Any, ...], value: Any, where: str) -> Any:
        if value is None and NoneType in options:
            return None
        classes = {option.__name__: option for option in options if _is_class(option)}
        if not classes:
            (option,) = (option for option in options if option is not NoneType)
            return self.build(option, value, where)
        kind = _of(dict, value, where).get("kind", MISSING)
        if not isinstance(kind, str) or kind not in classes:
            raise Mismatch(f"{where}.kind", f"one of {', '.join(classes)}", kind)
        return self.build(classes[kind], {k: v for k, v in value.items() if k != "kind"}, where)

    def _instance(self, cls: Any, value: dict[str, Any], where: str) -> Any:
        at = f"{where}." if where else ""
        for name in value:
            if name not in hints(cls):
                raise Mismatch(where, f"a {cls.__name__} without a field {_shown(name)}", value)
        built = {
            each.name: self.build(
                hints(cls)[each.name], value.get(each.name, MISSING), f"{at}{each.name}"
            )
            for each in fields(cls)
            if each.name in value or each.default is each.default_factory is MISSING
        }
        return cls(**built)


def _is_class(hint: Any) -> bool:
    return isinstance(hint, type) and is_dataclass(hint)


@functools.cache
def hints(cls: type) -> dict[str, Any]:
    """The annotations of a dataclass, by field, with what `Annotated` adds."""
    return get_type_hints(cls, include_extras=True)


def _of(kind: Any, value: Any, where: str) -> Any:
    """`value`, which must be of that very type; a number may be written as a whole number."""
    good = type(value) is kind or (kind is float and type(value) is int)
    if not good or (kind in (int, float) and not abs(value) < MOST):  # so that nan is refused too
        raise Mismatch(where, _KINDS[kind], value)
    return float(value) if kind is float else value
