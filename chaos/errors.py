"""Every exception a user of chaos can meet, as one tree.

    ChaosError
    ├── UsageError          bad command line or API call                        exit 4
    ├── ScenarioError       a scenario or target file that cannot be used       exit 4
    ├── NothingSelected     the selection left no kill point                    exit 5
    └── HarnessError        the harness itself could not do its work            exit 3
        ├── CannotStart     the target's program could not be started           exit 3
        └── Unsupported     this machine cannot run the engine; says the cure   exit 3

A message says what was expected, what was found, where, and what to do next. None of these is a
verdict on the target: a broken invariant is a `Violation`, which is data and not an exception.
"""

from __future__ import annotations


class ChaosError(Exception):
    """Base of all errors that chaos raises on purpose. `exit_code` is the process exit code."""

    exit_code = 3


class UsageError(ChaosError):
    """The command line or the API call cannot be carried out as given."""

    exit_code = 4


class ScenarioError(ChaosError):
    """A scenario or target file is wrong. The message starts with `file:line:` where known."""

    exit_code = 4


class NothingSelected(ChaosError):  # noqa: N818 - an outcome of a selection, named as users say it
    """The selection is valid but empty."""

    exit_code = 5


class HarnessError(ChaosError):
    """The harness failed; nothing is said about the target."""


class CannotStart(HarnessError):  # noqa: N818 - says what happened
    """The command of the target could not be started; the message has the system's reason."""


class Unsupported(HarnessError):  # noqa: N818 - as above
    """The machine does not allow the engine to work; the message names the cure."""
