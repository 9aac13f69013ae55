"""Requests that ask no model: lists of models, counts of tokens, questions of the protocol.

Pure. Agents make them on their way; none is a turn of the conversation, so the answer is constant.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from chaos.flavours.form import encode

_MODEL = "killpoint-mock"
_TOKENS = 17  # of any request


def _listed(name: str) -> dict[str, object]:
    """A model, for the clients of OpenAI and of Anthropic at once: their lists share a path."""
    return {
        "id": name,
        "object": "model",
        "created": 1_700_000_000,
        "owned_by": "killpoint",
        "type": "model",
        "display_name": name,
        "created_at": "2023-11-14T22:13:20Z",
    }


def _of_google(name: str) -> dict[str, object]:
    methods = ["generateContent", "countTokens"]
    return {"name": f"models/{name}", "displayName": name, "supportedGenerationMethods": methods}


# One row a request: method, path below the provider's root, and the answer to what the path names.
_SERVED: tuple[tuple[str, re.Pattern[str], Callable[[str], object]], ...] = (
    (
        "GET",
        re.compile(r"/v1/models()"),
        lambda _: {
            "object": "list",
            "data": [_listed(_MODEL)],
            "has_more": False,
            "first_id": _MODEL,
            "last_id": _MODEL,
        },
    ),
    ("GET", re.compile(r"/v1/models/([^:]+)"), _listed),
    ("GET", re.compile(r"/v1beta/models()"), lambda _: {"models": [_of_google(_MODEL)]}),
    ("GET", re.compile(r"/v1beta/models/([^:]+)"), _of_google),
    ("POST", re.compile(r"/v1/messages/count_tokens()"), lambda _: {"input_tokens": _TOKENS}),
    (
        "POST",
        re.compile(r"/v1(?:beta)?/models/([^:]+):countTokens"),
        lambda _: {"totalTokens": _TOKENS},
    ),
)


def other_answer(method: str, path: str) -> bytes | None:
    """The body of the answer to a request that asks no model; None: it is not served. `path` is
    below the provider's root."""
    if method in ("HEAD", "OPTIONS"):
        return b""
    place = path.partition("?")[0]
    for served, pattern, answer in _SERVED:
        if served == method and (match := pattern.fullmatch(place)):
            return encode(answer(match[1]))
    return None
