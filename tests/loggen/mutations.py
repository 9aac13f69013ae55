"""Ways to break a log, and how often each is tried.

Most mutations apply one to three edits to the parsed lines and then, mostly, number the facts again
and recompute digests, so that the rules behind the numbering are reached too. Some work on the
written bytes.
"""

from __future__ import annotations

from typing import Any

from tests.loggen import edits_inserts as inserts
from tests.loggen import edits_lines as order
from tests.loggen import edits_values as values
from tests.loggen.edits_bytes import BYTE_EDITS
from tests.loggen.render import Line, digest, flat, render
from tests.loggen.slots import Edit, Rng

_EDITS: list[tuple[int, Edit]] = [
    (2, values.delete_key),
    (1, values.rename_key),
    (2, values.add_key),
    (4, values.odd_value),
    (14, values.other_id),
    (5, values.swap_values),
    (10, values.other_enum),
    (3, values.synthetic_reason),
    (2, values.plain_result),
    (4, values.edit_text),
    (4, values.edit_calls),
    (2, values.edit_ids_of_compaction),
    (1, values.edit_tail),
    (2, values.edit_snapshot),
    (2, order.shift_seq),
    (6, order.drop_line),
    (2, order.drop_fact),
    (5, order.repeat_line),
    (5, order.move_line),
    (2, order.split_line),
    (2, order.join_lines),
    (1, order.reverse_array),
    (1, order.odd_line),
    (12, inserts.insert_fact),
    (5, inserts.insert_attempt),
]


def mutate(rng: Rng, lines: list[Line]) -> tuple[bytes, str]:
    """A broken (or by luck still legal) copy of the log as bytes, and what was done to it.

    `lines` is used up."""
    done: list[str] = []
    if rng.random() < 0.9:
        done += [_edit(rng, lines) for _ in range(rng.choice([1, 1, 1, 1, 2, 3]))]
        if rng.random() < 0.85:
            renumber(lines)
        if rng.random() < 0.7:
            recompute_digests(lines)
    data = render(lines)
    if not done or rng.random() < 0.05:
        data, what = _pick(rng, BYTE_EDITS)(rng, data)
        done.append(what)
    return data, "; ".join(done)


def _edit(rng: Rng, lines: list[Line]) -> str:
    """The first edit drawn that finds something to edit."""
    for _ in range(10):
        edit = _pick(rng, _EDITS)
        try:
            what = str(edit(rng, lines))
        except (AttributeError, IndexError, KeyError, TypeError):
            continue  # an edit before this one broke what it needs
        if not what.startswith("no "):
            return what
    return "nothing"


def renumber(lines: list[Line]) -> None:
    """Give every fact the seq of its place."""
    for seq, fact in enumerate(flat(lines), start=1):
        if "seq" in fact:
            fact["seq"] = seq


def recompute_digests(lines: list[Line]) -> None:
    """Make the digests true again, where the facts still allow it."""
    messages: list[dict[str, Any]] = []
    for fact in flat(lines):
        record, entry = fact.get("record"), fact.get("entry")
        if isinstance(record, dict) and "configurationDigest" in record:
            record["configurationDigest"] = digest(record.get("configurationSnapshot"))
        if isinstance(record, dict) and "sourceDigest" in record:
            record["sourceDigest"] = digest(messages)
        if isinstance(entry, dict) and entry.get("type") == "message" and "message" in entry:
            messages.append({"sourceEntryId": fact.get("id"), "message": entry["message"]})


def _pick(rng: Rng, table: list[tuple[int, Any]]) -> Any:
    return rng.choices([edit for _, edit in table], [weight for weight, _ in table])[0]
