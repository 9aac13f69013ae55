"""Print every figure with the bound that goes with it. Exit code 1: a bound is broken."""

from __future__ import annotations

import sys

from tests.bench import log, throughput, tracing

if __name__ == "__main__":
    lines = [line for part in (tracing, throughput, log) for line in part.measure()]
    for line in lines:
        print(line)
    sys.exit(any(line.broken for line in lines))
