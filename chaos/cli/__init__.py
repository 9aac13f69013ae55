"""The command line of chaos. Source: design section 7, a contract that scripts depend on.

    0 all passed · 1 violation · 2 interrupted · 3 harness error or inconclusive
    4 usage or scenario error · 5 nothing selected

Promises: results go to stdout and messages to stderr; a user's mistake is never a traceback; a
fault of the harness itself never exits with 1, which would accuse the target. One module a
command, imported only when it is used.
"""

from __future__ import annotations

import importlib
import sys
import traceback
from collections.abc import Sequence

from chaos.cli.output import complain, prepare_streams
from chaos.cli.parser import COMMANDS, parse
from chaos.errors import ChaosError

INTERRUPTED = 2
HARNESS_ERROR = 3
BROKEN_PIPE = 141  # what a shell makes of SIGPIPE (128 + 13), which ends other programs here


def main(argv: Sequence[str] | None = None) -> int:
    """Carry out one command line (without the program's name) and give the exit code."""
    try:
        prepare_streams()
        code = _command(sys.argv[1:] if argv is None else argv)
    except ChaosError as error:
        complain(str(error))
        return error.exit_code
    except KeyboardInterrupt:
        complain("interrupted")
        return INTERRUPTED
    except BrokenPipeError:
        return BROKEN_PIPE  # the reader has gone: say nothing more
    except OSError as error:
        complain(f"the system refused: {error}")
        return HARNESS_ERROR
    except Exception:
        complain(f"a fault of chaos itself, please report it:\n{traceback.format_exc()}")
        return HARNESS_ERROR
    return code


def _command(argv: Sequence[str]) -> int:
    try:
        args = parse(argv)
    except SystemExit as stop:  # argparse, after --help
        return stop.code if isinstance(stop.code, int) else 0
    code: int = importlib.import_module(COMMANDS[args.command]).command(args)
    return code
