"""The crash graph: images as nodes, kills as edges, for a walk over crashes of crashes.

An image is named by the schedule that judged it to its end. An edge leads from the image that a
schedule's earlier kills left (or from the start) to the image that its last kill left. Kills that
were only harvested are in no schedule, so they are in no edge either. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from chaos.points import Schedule
from chaos.results import ScheduleResult

START = -1


def graph_of(results: Sequence[ScheduleResult]) -> dict[str, Any] | None:
    """Nodes (`[schedule, depth]`) and edges (`[from, to, schedule]`), all by index into `results`;
    None for a sweep of one kill each, whose graph would be a star."""
    paths = [_kills(result) for result in results]
    if max(map(len, paths), default=0) < 2:
        return None
    index = {result.id: number for number, result in enumerate(results)}
    by_path = {path: number for number, path in enumerate(paths)}
    edges = []
    depths: dict[int, int] = {}
    for number, path in enumerate(paths):
        if not path:
            continue
        before = by_path.get(path[:-1], START) if path[:-1] else START
        image = _speaker(results, index, number)
        edges.append(
            [before if before == START else _speaker(results, index, before), image, number]
        )
        depths[image] = min(len(path), depths.get(image, len(path)))
    return {"nodes": [[number, depth] for number, depth in depths.items()], "edges": edges}


def _kills(result: ScheduleResult) -> tuple[str, ...]:
    """The launches of a schedule, cut after each kill; nothing where it says more than kills."""
    launches = Schedule.parse(result.schedule).launches
    if any(launch.first or launch.starts > 1 for launch in launches):
        return ()
    parts: list[list[str]] = [[]]
    for launch in launches:
        parts[-1].append(str(launch))
        if launch.kill:
            parts.append([])
    return tuple("; ".join(part) for part in parts[:-1])


def _speaker(results: Sequence[ScheduleResult], index: dict[str, int], number: int) -> int:
    """Who judged the image of this schedule."""
    for _ in range(len(results)):
        merged = results[number].merged_into
        if merged is None or merged not in index:
            break
        number = index[merged]
    return number
