"""Plant one bug in this process, then be the agent."""

import sys

from agent.cli import main
from tests.planted.bugs import BUGS

if __name__ == "__main__":
    BUGS[sys.argv[1]].plant()
    sys.exit(main(sys.argv[2:]))
