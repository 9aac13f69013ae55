"""An abstract model of the session contract: which crash images a scenario must have.

A log is a tuple of facts, a scenario a tuple of turns (each a tuple of tool names, the last one
empty). Attempts are capped at two; a kill falls before the first fact of a launch or after any.
A reply with its usage is one fact, a replayed read leaves the same log as a first one, a bash
result is either real or interrupted. Imports nothing of the project: it counts on its own.
"""

from __future__ import annotations

from collections.abc import Iterator

Log = tuple[tuple[object, ...], ...]
Turns = tuple[tuple[str, ...], ...]


def rest_of_launch(turns: Turns, log: Log) -> Iterator[tuple[object, ...]]:
    """The facts that one launch adds to `log`, if nothing kills it."""
    facts = list(log)

    def commit(*fact: object) -> tuple[object, ...]:
        facts.append(fact)
        return fact

    if not facts:
        yield commit("run")
    for step, calls in enumerate(turns):
        if ("reply", step) not in facts:
            attempts = sum(fact[:2] == ("attempt", step) for fact in facts)
            if attempts == 2:
                return  # blocked: attempts_exhausted
            yield commit("attempt", step, attempts + 1)
            yield commit("reply", step)
        for index, tool in enumerate(calls):
            if any(fact[:3] == ("result", step, index) for fact in facts):
                continue
            unknown = ("intent", step, index) in facts
            if not unknown:
                yield commit("intent", step, index)
            lost = unknown and tool != "read"  # only a read may be replayed
            yield commit("result", step, index, "interrupted" if lost else "real")
    if ("finish",) not in facts:
        yield commit("finish")


def closure(turns: Turns) -> tuple[set[Log], int]:
    """All crash images that any sequence of kills can leave, and the number of kills tried."""
    images: set[Log] = set()
    frontier: list[Log] = [()]
    edges = 0
    while frontier:
        image = frontier.pop()
        if image in images:
            continue
        images.add(image)
        facts = tuple(rest_of_launch(turns, image))
        edges += 1 + len(facts)
        frontier.extend(image + facts[: n + 1] for n in range(len(facts)))
    return images, edges
