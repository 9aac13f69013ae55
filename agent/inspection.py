"""What `inspect` and `plan` print, as plain JSON objects.

Pure: bytes in, objects out. The command line reads the files and prints.
"""

from __future__ import annotations

from agent.errors import SessionError
from agent.facts import JSONObject
from agent.reducer import reduce_session
from agent.strict_json import JSON


def inspect(data: bytes) -> JSONObject:
    """`{"ok": true, "state": …}`, or `{"ok": false, "error": {"code", "line"[, "seq"]}}`."""
    try:
        return {"ok": True, "state": reduce_session(data).to_json()}
    except SessionError as error:
        return {"ok": False, "error": error.to_json()}


def plan(data: bytes, current: JSON) -> JSONObject:
    """The recovery plan of a log under a current configuration.

    A planner case, `{"current": …, "sessionFile": …}`, is taken for its configuration. Raises
    SessionError for a log that is not legal, ValueError for a configuration that is none.
    """
    from agent.planner import CurrentConfiguration, plan_recovery  # `inspect` starts without it

    if isinstance(current, dict) and current.keys() == {"current", "sessionFile"}:
        current = current["current"]
    configuration = CurrentConfiguration.from_json(current)
    return plan_recovery(reduce_session(data), configuration).to_json()
