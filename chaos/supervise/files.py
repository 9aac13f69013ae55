"""Evidence on disk: `evidence.json` beside a folder `blobs/`, so that it can be judged again.

Promises: `load_evidence(save_evidence(e, d))` equals `e`; blobs are named by their SHA-256 and are
checked when read; a folder that was written by half is refused (the JSON file comes last, by
rename). Does not judge, and does not decide what is worth keeping.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, get_args

from chaos.errors import UsageError
from chaos.evidence import (
    Blobs,
    Event,
    Evidence,
    Facts,
    Kill,
    Launch,
    Process,
    Survivor,
    sha,
)

VERSION = 1
_SHA = re.compile(r'"([0-9a-f]{64})"')  # how a blob is named in the JSON
_EVENTS: dict[str, type[Event]] = {cls.__name__: cls for cls in get_args(Event)}

# Fields that are tuples of dataclasses of their own.
_NESTED: dict[type, dict[str, type]] = {
    Launch: {"survivors": Survivor},
    Kill: {"tree": Process},
}


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
        value = json.loads(path.read_text())
        if not isinstance(value, dict) or value.get("version") != VERSION:
            raise UsageError(f"{path}: expected saved evidence of version {VERSION}")
        blobs = Blobs({p.name: p.read_bytes() for p in sorted(blobs_at.iterdir())})
        for name, data in blobs.data.items():
            if sha(data) != name:
                raise UsageError(f"{blobs_at / name}: content does not match its name")
        loaded = _load(value, blobs)
        missing = sorted(set(_SHA.findall(path.read_text())) - blobs.data.keys())
        if missing:
            raise UsageError(f"{path}: names blobs that are not in {blobs_at}: {missing}")
    except FileNotFoundError as error:
        raise UsageError(
            f"{error.filename}: no saved evidence here; expected evidence.json beside blobs/"
        ) from None
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise UsageError(f"{path}: damaged evidence: {error}") from None
    return loaded


def _dump(evidence: Evidence) -> dict[str, Any]:
    return {
        "schedule": evidence.schedule,
        "facts": _fields(evidence.facts),
        "launches": [_fields(launch) for launch in evidence.launches],
        "events": [{"kind": type(e).__name__, **_fields(e)} for e in evidence.events],
        "references": [_dump(reference) for reference in evidence.references],
        "merged_into": evidence.merged_into,
    }


def _load(value: Mapping[str, Any], blobs: Blobs) -> Evidence:
    return Evidence(
        schedule=value["schedule"],
        facts=_build(Facts, value["facts"]),
        launches=tuple(_build(Launch, launch) for launch in value["launches"]),
        events=tuple(
            _build(_EVENTS[e["kind"]], {k: v for k, v in e.items() if k != "kind"})
            for e in value["events"]
        ),
        blobs=blobs,
        references=tuple(_load(reference, blobs) for reference in value["references"]),
        merged_into=value["merged_into"],
    )


def _fields(item: Any) -> dict[str, Any]:
    """The fields of a dataclass; those nested in a tuple become mappings."""
    flat = {f.name: getattr(item, f.name) for f in fields(item)}
    for name in _NESTED.get(type(item), {}):
        flat[name] = [_fields(nested) for nested in flat[name]]
    return flat


def _build(cls: Any, value: Mapping[str, Any]) -> Any:
    """The reverse of `_fields`: JSON arrays become tuples."""
    built = {k: tuple(v) if isinstance(v, list) else v for k, v in value.items()}
    for name, nested in _NESTED.get(cls, {}).items():
        built[name] = tuple(_build(nested, each) for each in value[name])
    return cls(**built)
