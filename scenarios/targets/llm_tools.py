"""The shell tool that `llm` is given in targets/llm.toml."""

import subprocess


def bash(command: str) -> str:
    """Run a shell command and return its output."""
    done = subprocess.run(["/bin/sh", "-c", command], capture_output=True, text=True, check=False)
    return done.stdout + done.stderr
