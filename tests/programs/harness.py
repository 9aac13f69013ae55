"""A harness to be killed: trace a tree that would run for a minute, tell the pids by file.

harness.py LOG [warm]
"""

import os
import sys
from pathlib import Path

from chaos.launch.model import Bystander, Call, Command
from chaos.launch.tracer import trace
from chaos.launch.warm import WarmLauncher

TREE = 'setsid sleep 60 & sleep 60 & echo $$ $! >> "$LOG"; wait'


class Quiet(Bystander):
    """Says when the log was written."""

    def classify(self, path: str) -> str | None:
        return "log" if path == os.path.realpath(sys.argv[1]) else None

    def left(self, call: Call) -> None:
        print("ready", flush=True)


where = Path(sys.argv[1]).parent
warm = sys.argv[2:] == ["warm"]
argv = (sys.executable, "-m", "tree") if warm else ("sh", "-c", TREE)
(where / "tree.py").write_text(f"import subprocess; subprocess.run(['sh', '-c', {TREE!r}])")
command = Command(
    argv, {**os.environ, "LOG": sys.argv[1]}, str(where), str(where / "out"), str(where / "err")
)
trace(command, Quiet(), limit_s=60, grace_s=1, launcher=WarmLauncher("tree") if warm else None)
