"""What the two APIs of OpenAI share: its constants, where the key is, how an error reads.

Pure.
"""

from __future__ import annotations

from collections.abc import Mapping

from chaos.flavours.form import encode

CREATED = 1_700_000_000  # when everything was made: the mock has no clock
SYSTEM_ROLES = ("system", "developer")  # the second is what newer models call it
KEY_PLACE = "expected the authorization 'Bearer <the key given>'"

_BEARER = "Bearer "
_ERROR_TYPE = {
    400: "invalid_request_error",
    401: "authentication_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
}


def error(status: int, message: str) -> bytes:
    """The body of an error reply."""
    kind = _ERROR_TYPE.get(status, "server_error" if status >= 500 else "api_error")
    return encode({"error": {"message": message, "type": kind, "param": None, "code": status}})


def bearer(headers: Mapping[str, str], _: str) -> str | None:
    """The key in the authorization header; None: there is none."""
    given = headers.get("authorization", "")
    return given.removeprefix(_BEARER) if given.startswith(_BEARER) else None
