"""Is the run without a kill the same when it is made twice?

Everything the sweep says rests on it: points are found again by their names, images by their keys,
ends by comparison. Pure: it compares evidence, chance taken away (`chaos.canonical`).
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import zip_longest

from chaos.canonical import canonical_log, first_difference
from chaos.evidence import Evidence, Launch


def difference(one: Evidence, other: Evidence, chance: Mapping[str, str]) -> str:
    """The first difference of two lineages, in words; empty where there is none.

    `chance` maps texts that differ from lane to lane (paths, ports) to their labels.
    """
    for a, b in zip_longest(one.launches, other.launches):
        if a is None or b is None:
            return f"{len(one.launches)} launches, then {len(other.launches)}"
        where = f"after launch {a.index + 1} ({a.role})"
        if a.exit_code != b.exit_code:
            return f"exit code {a.exit_code}, then {b.exit_code} {where}"
        first, second = _log(one, a, chance), _log(other, b, chance)
        if first != second:
            return f"the session log {where}: {first_difference(first, second)}"
        if a.files_after != b.files_after:
            names = sorted(dict(a.files_after.items() ^ b.files_after.items()))
            return f"workspace files {where}: {', '.join(names)}"
    return ""


def _log(evidence: Evidence, launch: Launch, chance: Mapping[str, str]) -> bytes:
    return canonical_log(evidence.blobs.get(launch.log_after), chance)
