"""`python -m agent`."""

import sys

from agent.cli import main


def program() -> int:
    """The command, and an end that a second signal does not disturb."""
    code = main()
    if "agent.signals" in sys.modules:  # the command was one that works
        sys.modules["agent.signals"].end_undisturbed()
    return code


if __name__ == "__main__":
    raise SystemExit(program())
