"""Target files: how to start the program under test, and where it keeps what.

A target is any program that keeps a session log: ten lines of TOML say how it is run and resumed,
where its log lies and what its exit codes mean. `parse_target` is a function of the text, so that
a saved failure carries its target with it; `load_target` finds the file by name.

Does not start anything, and knows no particular target: the built-in ones are data, in
`chaos/targets/`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class WarmProfile:
    """What a warm parent imports before it forks launches (`--launch warm`)."""

    module: str  # run as `python -m module`
    preload: tuple[str, ...]  # libraries only, never the target's state


@dataclass(frozen=True, slots=True)
class Target:
    """A program under test. Commands and env hold placeholders such as `{workspace}`."""

    name: str
    about: str
    dialect: str  # "session-v2": how its log is read
    log: str  # glob relative to the workspace
    commands: Mapping[str, tuple[str, ...]]  # by role: run, resume
    env: Mapping[str, str]
    exit_codes: Mapping[str, int]  # completed, failed, blocked, corrupt, busy, aborted
    launch_limit_s: float  # a launch that takes longer is ended and judged (R2)
    grace_s: float  # how long a descendant may outlive the target (X1)
    state: tuple[str, ...]  # workspace directories that belong to the target itself
    temporary: tuple[str, ...]  # globs, workspace-relative: its temporary files (X3)
    warm: WarmProfile | None
    path: str  # of the target file
    source: str  # its TOML text

    def command(self, role: str, **values: str) -> tuple[str, ...]:
        """The argv of `role` with placeholders filled. Raises ScenarioError for an unknown role."""
        raise NotImplementedError

    def environment(self, **values: str) -> dict[str, str]:
        """The target's environment variables with placeholders filled."""
        raise NotImplementedError


def parse_target(text: str, path: str) -> Target:
    """Read a target file's text. Raises ScenarioError `path:line: …`."""
    raise NotImplementedError


def load_target(name_or_path: str, beside: str) -> Target:
    """Find a target: a path, `beside/targets/NAME.toml`, else a built-in. Raises ScenarioError."""
    raise NotImplementedError
