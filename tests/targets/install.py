"""Install the real agents of `scenarios/targets/` below `.targets/`, at pinned versions.

    make targets                        needs npm and a network, once
    PATH=$PWD/.targets/bin:$PATH        where their commands are then

Nothing outside of that folder changes, and nothing else of the project needs them.
"""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / ".targets"
BIN = FOLDER / "bin"

NPM = {
    "node": "22.23.3",  # pi wants 22; opencode brings its own runtime
    "@earendil-works/pi-coding-agent": "0.74.2",
    "opencode-ai": "1.18.33",
}
PYPI = {
    "strands-agents[openai]": "1.62.0",
    "llm": "0.32.1",
}
# Commands, and where the packages have them.
LINKS = {
    "node": "node_modules/node/bin/node",
    "pi": "node_modules/@earendil-works/pi-coding-agent/dist/cli.js",
    "opencode": "node_modules/opencode-ai/bin/opencode.exe",
    "llm": "venv/bin/llm",
}
STRANDS = "strands-python"  # the Python that has strands, for strands_driver.py


def main() -> None:
    """Install what is not there yet."""
    BIN.mkdir(parents=True, exist_ok=True)
    packages = [f"{name}@{version}" for name, version in NPM.items()]
    _run("npm", "install", "--no-audit", "--no-fund", "--prefix", str(FOLDER), *packages)
    venv.create(FOLDER / "venv", with_pip=True)
    pins = [f"{name}=={version}" for name, version in PYPI.items()]
    _run(str(FOLDER / "venv/bin/python"), "-m", "pip", "install", "--quiet", *pins)
    for name, place in LINKS.items():
        link, target = BIN / name, FOLDER / place
        if not target.exists():
            sys.exit(f"{name}: expected {target}, which is not there: did its package change?")
        link.unlink(missing_ok=True)
        link.symlink_to(os.path.relpath(target, BIN))
    script = BIN / STRANDS
    script.write_text(f'#!/bin/sh\nexec "{FOLDER}/venv/bin/python" "$@"\n', encoding="utf-8")
    script.chmod(0o755)


def _run(*argv: str) -> None:
    try:
        subprocess.run(argv, check=True)
    except FileNotFoundError:
        sys.exit(f"{argv[0]} is needed and not installed")
    except subprocess.CalledProcessError as error:
        sys.exit(f"{argv[0]} ended with {error.returncode}: see above")


if __name__ == "__main__":
    main()
