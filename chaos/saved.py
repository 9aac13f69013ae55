"""Evidence on disk: `evidence.json` beside a folder `blobs/`, so that it can be judged again.

Promises: `load_evidence(save_evidence(e, d))` equals `e`; blobs are named by their SHA-256 and are
checked when read; a folder that was written by half is refused (the JSON file comes last, by
rename). Does not judge, and does not decide what is worth keeping.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from pathlib import Path
from typing import Any

from chaos.errors import UsageError
from chaos.evidence import ABSENT, BLOB, Blobs, Evidence, Kill, sha
from chaos.points import KillPoint, Schedule, Scope
from chaos.regular import MOST_BYTES, read_regular
from chaos.scenario import EFFECT_COUNTS
from chaos.typed import Builder, Mismatch, hints

VERSION = 1


def save_evidence(evidence: Evidence, directory: Path) -> Path:
    """Write `evidence` below `directory` (made if needed) and return the directory."""
    blobs = directory / "blobs"
    blobs.mkdir(parents=True, exist_ok=True)
    for source in (evidence, *evidence.references):
        for name, data in source.blobs.data.items():
            (blobs / name).write_bytes(data)
    partial = directory / "evidence.json.partial"
    partial.write_text(json.dumps({"version": VERSION, **_dump(evidence)}, indent=1) + "\n")
    partial.rename(directory / "evidence.json")
    return directory


def load_evidence(directory: Path) -> Evidence:
    """Read a folder that `save_evidence` wrote. Raises UsageError naming what is wrong with it."""
    path, blobs_at = directory / "evidence.json", directory / "blobs"
    try:
        value = json.loads(read_regular(path).decode("utf-8"))
        if not isinstance(value, dict) or value.get("version") != VERSION:
            raise UsageError(f"{path}: expected saved evidence of version {VERSION}")
        blobs = Blobs({p.name: read_regular(p) for p in sorted(blobs_at.iterdir())})
        for name, data in blobs.data.items():
            if sha(data) != name:
                raise UsageError(f"{blobs_at / name}: content does not match its name")
        return _load(value, blobs, "")
    except FileNotFoundError as error:
        raise UsageError(
            f"{error.filename}: no saved evidence here; expected evidence.json beside blobs/"
        ) from None
    except OSError as error:
        raise UsageError(f"{error.filename or path}: cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path}: damaged evidence: {error}") from None


def _dump(evidence: Evidence) -> dict[str, Any]:
    return {
        "schedule": evidence.schedule,
        "facts": _plain(evidence.facts),
        "launches": _plain(evidence.launches),
        "events": [{"kind": type(e).__name__, **_plain(e)} for e in evidence.events],
        "references": [_dump(reference) for reference in evidence.references],
        "merged_into": evidence.merged_into,
    }


def _plain(value: Any) -> Any:
    """Dataclasses as mappings of their fields, tuples as lists, at every depth."""
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    if is_dataclass(value):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    return value


def _load(value: Mapping[str, Any], blobs: Blobs, where: str) -> Evidence:
    """The reverse of `_dump`. Raises Mismatch."""

    def named(name: str) -> str:
        known = name == ABSENT or name in blobs.data
        return "" if known else "the name of a file in blobs/"

    def build(name: str) -> Any:
        hint = hints(Evidence)[name]
        return Builder({BLOB: named}).build(hint, value.get(name, MISSING), where + name)

    references = value.get("references")
    if not isinstance(references, list) or not all(isinstance(each, dict) for each in references):
        raise Mismatch(f"{where}references", "an array of objects", references)
    evidence = Evidence(
        schedule=build("schedule"),
        facts=build("facts"),
        launches=build("launches"),
        events=build("events"),
        blobs=blobs,
        references=tuple(
            _load(each, blobs, f"{where}references[{index}].")
            for index, each in enumerate(references)
        ),
        merged_into=build("merged_into"),
    )
    _check(evidence, where)
    return evidence


def _check(evidence: Evidence, where: str) -> None:
    """What types do not tell and every reader of evidence relies on. Raises Mismatch."""
    _parsed(Schedule.parse, evidence.schedule, f"{where}schedule")
    for name, wanted in evidence.facts.expect_effects.items():
        if wanted not in EFFECT_COUNTS:
            at = f"{where}facts.expect_effects[{name!a}]"
            raise Mismatch(at, f"one of {', '.join(EFFECT_COUNTS)}", wanted)
    count = len(evidence.launches)
    if not count:
        raise Mismatch(f"{where}launches", "one launch at least", MISSING)
    for index, launch in enumerate(evidence.launches):
        at = f"{where}launches[{index}]"
        if launch.index != index:
            raise Mismatch(f"{at}.index", str(index), launch.index)
        steps, prompts = evidence.facts.steps, evidence.facts.prompts
        place = steps[: launch.step].count("run") if steps else launch.step
        if launch.step < 0 or (launch.role == "run" and place >= len(prompts)):
            expected = f"one of the steps, {len(prompts)} of them with a prompt"
            raise Mismatch(f"{at}.step", expected, launch.step)
    for index, event in enumerate(evidence.events):
        at = f"{where}events[{index}]"
        if event.launch not in range(count):
            raise Mismatch(f"{at}.launch", f"one of the {count} launches", event.launch)
        if isinstance(event, Kill):
            _parsed(KillPoint.parse, event.point, f"{at}.point")
            _parsed(Scope, event.scope, f"{at}.scope")
            # The judge makes up the bytes before an offset, and up to a size.
            for name, size in (("offset", event.offset), ("size", event.size or 0)):
                if size > MOST_BYTES:
                    raise Mismatch(f"{at}.{name}", f"at most {MOST_BYTES} bytes", size)


def _parsed(parse: Callable[[str], object], text: str, where: str) -> None:
    try:
        parse(text)
    except UsageError as error:
        raise ValueError(f"{where}: {error}") from None
