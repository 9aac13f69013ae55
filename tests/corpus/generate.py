"""Write the corpus files: `python -m tests.corpus.generate`, then look at the difference.

Layout: `logs/NAME.jsonl`, `expected/NAME.json` (what `inspect` prints) and `plans.json`. States are
printed by the agent itself, so a changed state is a change to review, never to wave through.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from agent import inspection
from tests.corpus.cases import ACCEPTED, PLANS, REFUSED, TORN

HERE = Path(__file__).parent
LOGS, EXPECTED, PLANS_FILE = HERE / "logs", HERE / "expected", HERE / "plans.json"


def logs() -> dict[str, bytes]:
    """Every log of the corpus by name."""
    found = {name: log.data() for name, log in ACCEPTED.items()}
    found |= {name: ACCEPTED[base].data(tail) for name, (base, tail) in TORN.items()}
    found |= {name: log.data() for name, (log, _) in REFUSED.items()}
    return found | {"empty-file": b"", "header-torn": ACCEPTED["header-only"].data()[:-1]}


def plans() -> list[dict[str, Any]]:
    return [{"log": log, "current": now, "plan": plan} for log, now, plan in PLANS]


def main() -> None:
    for folder in (LOGS, EXPECTED):
        folder.mkdir(exist_ok=True)
        for stale in folder.iterdir():
            stale.unlink()
    for name, data in logs().items():
        (LOGS / f"{name}.jsonl").write_bytes(data)
        printed = json.dumps(inspection.inspect(data), indent=1) + "\n"
        (EXPECTED / f"{name}.json").write_text(printed)
    PLANS_FILE.write_text(json.dumps(plans(), indent=1) + "\n")


if __name__ == "__main__":
    main()
