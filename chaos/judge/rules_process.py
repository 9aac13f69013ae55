"""Rules X: processes, locks, leftovers and leaks. X2 is in `chaos.judge.rules_rivals`."""

from __future__ import annotations

from collections.abc import Iterator

from chaos.evidence import Effect, Launch, Request, Rival, Sha
from chaos.judge.case import Case, Need, Rule, Where, broken, ended_from_outside, offers
from chaos.judge.rules_end import interrupted
from chaos.judge.rules_rivals import one_writer
from chaos.judge.workspace import is_temporary
from chaos.results import Violation


def nobody_survives(case: Case) -> Iterator[Violation]:
    """X1. No descendant outlives the target beyond its grace time, and no lock that it held stops
    the next start. Fails when a survivor was found, or a launch ended busy: no launch begins
    before every process of the one before is gone, and of several starts at once, the launch is
    told by one that was not refused, if there is any."""
    for launch in case.evidence.launches:
        for survivor in launch.survivors:
            found = f"process {survivor.pid}, {' '.join(survivor.argv)!r}"
            yield broken("X1", "a descendant survived", "no process left", found, Where(launch))
        if case.exited(launch, "busy"):
            found = f"exit code {launch.exit_code}, busy, with no other process alive"
            yield broken("X1", "a stale lock", "a session that opens", found, Where(launch))


def nothing_left_behind(case: Case) -> Iterator[Violation]:
    """X3. No temporary file after the next start, no descriptor ever. Fails when a launch that was
    not killed ends with a file of the target's temporary names; when a process that had an effect
    held the session log open; when the end has a file that no reference end has (not judged once a
    call was interrupted: it may have made one)."""
    globs = case.evidence.facts.temporary
    said: set[str] = set()
    for launch in case.evidence.launches:
        if not ended_from_outside(launch):
            for path in (*launch.files_after, *launch.state_files):
                if path not in said and is_temporary(path, globs):
                    said.add(path)
                    yield broken("X3", "a temporary file was left", "none", path, Where(launch))
        for event in case.evidence.of_launch(launch.index):
            if isinstance(event, Effect) and event.holds_log:
                found = f"it open in {' '.join(event.argv)!r}, process {event.pid}"
                where = Where(launch, event=event)
                yield broken("X3", "a tool inherited the session log", "it closed", found, where)
    yield from _surplus(case)


def _surplus(case: Case) -> Iterator[Violation]:
    end = case.end
    if not offers(case.evidence.facts, Need.FACTS):
        return  # no log tells whether a call was interrupted, which may leave a file
    known = {path for reference in case.reference_ends for path in reference.files}
    if end is None or not case.reference_ends or interrupted(end):
        return
    for path in end.files:
        if path not in known and not is_temporary(path, case.evidence.facts.temporary):
            expected = "the files of the run without a kill"
            yield broken("X3", "a file too many", expected, path, Where(end.launch))


def secret_stays(case: Case) -> Iterator[Violation]:
    """X4. The API key that the target was given is found in no log, no stream, no workspace file
    and no request body. Fails on its plain bytes. The message never shows it."""
    secret = case.evidence.facts.secret.encode()
    if not secret:
        return
    seen: set[Sha] = set()
    for launch in case.evidence.launches:
        for place, name in _places(case, launch):
            if name not in seen:
                seen.add(name)
                if secret in case.evidence.blobs.get(name):
                    what = "the API key leaked"
                    yield broken("X4", what, "it nowhere", f"it in {place}", Where(launch))


def _places(case: Case, launch: Launch) -> Iterator[tuple[str, Sha]]:
    """Everything that a launch left, with its name."""
    yield "the session log", launch.log_after
    yield "stdout", launch.stdout
    yield "stderr", launch.stderr
    yield from launch.files_after.items()
    for event in case.evidence.of_launch(launch.index):
        if isinstance(event, Rival):
            yield f"stdout of process {event.pid}", event.stdout
            yield f"stderr of process {event.pid}", event.stderr
        if isinstance(event, Request):
            yield f"the body of request {event.ordinal}", event.body


RULES: tuple[Rule, ...] = (
    Rule(
        "X1",
        "no descendant survives the agent beyond its grace time; no lock blocks the next start",
        frozenset(),
        nobody_survives,
    ),
    Rule(
        "X2",
        "with one writer held, every other start is refused or finds nothing to do; nothing is "
        "interleaved",
        frozenset({Need.FACTS}),
        one_writer,
    ),
    Rule(
        "X3",
        "no temporary file is left behind after the next start, no descriptor ever",
        frozenset({Need.OPENS}),
        nothing_left_behind,
    ),
    Rule(
        "X4",
        "the API key is found in no log, stream, file or request body",
        frozenset(),
        secret_stays,
    ),
)
