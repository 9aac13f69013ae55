"""The HTML report: one file that shows a sweep, opened from disk, without a network.

    content.py   the whole sweep as data; story.py one failure, cells.py the kill map,
                 images.py the crash graph, gaps.py what was left out
    page.html    the frame; page.css; *.js draw the data, in the order of SCRIPTS

Promises: the page loads nothing and sends nothing (its Content-Security-Policy allows its own
script and style by their digests, and no more); whatever a target wrote is data in it, never
markup; the target's API key is not in it; its size is bounded (`content.MOST_BYTES`).
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from functools import cache
from importlib.resources import files

from chaos.report.page.content import Told, contents
from chaos.results import SweepResult

SCRIPTS = (
    "dom",
    "model",
    "head",
    "log",
    "faults",
    "map",
    "graph",
    "tables",
    "timeline",
    "schedule",
    "main",
)

_PLACE = re.compile("@([A-Z]+)@")

__all__ = ["Told", "html_report"]


def html_report(sweep: SweepResult, told: Told) -> str:
    """The page. What a target had its say in is ASCII."""
    script = "\n".join(["'use strict';", *(_read(f"{name}.js") for name in SCRIPTS)])
    style = _read("page.css")
    data = json.dumps(contents(sweep, told), separators=(",", ":"), default=str)
    policy = (
        f"default-src 'none'; script-src '{_digest(script)}'; style-src '{_digest(style)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    parts = {
        "POLICY": html.escape(policy, quote=False),
        "STYLE": style,
        "DATA": _inert(data),
        "SCRIPT": script,
    }
    # In one pass: what a target wrote may look like a place to fill, too.
    return _PLACE.sub(lambda place: parts[place[1]], _read("page.html"))


def _inert(data: str) -> str:
    """JSON that cannot end the element it stands in."""
    return data.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _digest(text: str) -> str:
    """As a Content-Security-Policy names an inline script or style."""
    digest = hashlib.sha256(text.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"


@cache
def _read(name: str) -> str:
    return files(__name__).joinpath(name).read_text(encoding="utf-8")
