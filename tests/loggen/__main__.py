"""Write generated logs to files, with an index of how each was made."""

from __future__ import annotations

import argparse
from pathlib import Path

from tests.loggen import samples


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.loggen", description=__doc__)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("directory", type=Path)
    args = parser.parse_args()
    args.directory.mkdir(parents=True, exist_ok=True)
    with (args.directory / "index.txt").open("w", encoding="utf-8") as index:
        for number, sample in enumerate(samples(args.count, args.seed)):
            name = f"{number:06}.jsonl"
            (args.directory / name).write_bytes(sample.data)
            index.write(f"{name}\t{sample.made}\n")


if __name__ == "__main__":
    main()
