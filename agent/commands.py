"""What each command does, between the parsed command line and its exit code.

Judgement calls, beside those of the design:
- `run --session ID` of a session with an unfinished operation is refused with exit 2: nothing is
  wrong with the session, only the command is not the one to give;
- `resume` of an unknown id is exit 2; of a file that is not a session yet, exit 0 with a word;
- `run` in a session whose environment has changed is blocked before the prompt is accepted.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from urllib.parse import urlsplit

from agent import strict_json
from agent.blocked import Situation, explain
from agent.configuration import Configuration, Settings
from agent.errors import SessionError
from agent.facts import is_blank
from agent.failures import ExitCode, UsageFailure
from agent.ids import IdSource, now_ms
from agent.inspection import inspect as inspect_log
from agent.inspection import plan as plan_log
from agent.loop import Loop
from agent.new_facts import header
from agent.outcome import Outcome
from agent.output import Output, printable, write_line
from agent.state import Idle
from agent.store import SessionStore
from agent.view import listing, read_file, transcript
from agent.workspace import Workspace, require_session_id


def run(workspace_dir: str, session: str | None, prompt: str, output: Output) -> ExitCode:
    """Accept a prompt in a new or an idle session and work on it to its end."""
    workspace = Workspace.at(workspace_dir)
    _require_prompt(prompt)
    settings = Settings.from_environment(os.environ, workspace)
    settings.require_key()
    session_id = session or IdSource().fresh()
    require_session_id(session_id)
    path = workspace.find(session_id) or workspace.path_of_new(session_id)
    configuration = Configuration.of(settings)
    with SessionStore.open(path, create=True) as store:
        if not store.is_session:
            store.begin(_header(session_id, workspace, settings))
        outcome = _refusal(store, configuration, session_id)
        if outcome is None:
            output.session(session_id, path)
            loop = Loop(store, configuration, workspace.root, output.fact)
            loop.accept(prompt)
            outcome = loop.drive()
    output.outcome(outcome)
    return outcome.exit_code


def resume(workspace_dir: str, session: str, output: Output) -> ExitCode:
    """Bring an unfinished operation to its end; with none, do nothing."""
    workspace = Workspace.at(workspace_dir)
    path = _known(workspace, session)
    with SessionStore.open(path) as store:
        if not store.is_session:
            outcome = Outcome("idle", "not a session yet: no prompt was accepted, nothing to do")
        elif isinstance(store.state.operation, Idle):
            outcome = Outcome("idle", f"session {store.state.header.id} is idle: nothing to do")
        else:
            settings = Settings.from_environment(os.environ, workspace)
            settings.require_key()
            output.session(store.state.header.id, path)
            outcome = Loop(store, Configuration.of(settings), workspace.root, output.fact).drive()
    output.outcome(outcome)
    return outcome.exit_code


def sessions(workspace_dir: str) -> ExitCode:
    """List the sessions of a workspace."""
    for line in listing(Workspace.at(workspace_dir)):
        _line(printable(line))
    return ExitCode.DONE


def show(workspace_dir: str, session: str) -> ExitCode:
    """Print a session for people."""
    data = read_file(_known(Workspace.at(workspace_dir), session))
    if b"\n" not in data:
        _line("not a session yet")
        return ExitCode.DONE
    for line in transcript(data):
        _line(printable(line))
    return ExitCode.DONE


def inspect(file: str) -> ExitCode:
    """Reduce a log and print its state or error as JSON. A corrupt log is exit 4."""
    data = _file(file)
    answer = inspect_log(data)
    _line(strict_json.dumps(answer).decode())
    return ExitCode.DONE if answer["ok"] else ExitCode.CORRUPT


def plan(file: str, config: str) -> ExitCode:
    """Print the recovery plan of a log under a configuration as JSON. Raises SessionError."""
    try:
        current = strict_json.loads(_file(config))
        answer = plan_log(_file(file), current)
    except SessionError:
        raise
    except ValueError as error:
        raise UsageFailure(f"{config}: {error}") from error
    _line(strict_json.dumps(answer).decode())
    return ExitCode.DONE


def _refusal(store: SessionStore, configuration: Configuration, session_id: str) -> Outcome | None:
    """Why a prompt cannot be accepted now; None if it can."""
    if not isinstance(store.state.operation, Idle):
        raise UsageFailure(
            f"session {session_id} has an unfinished operation; bring it to its end first: "
            f"resume {session_id}"
        )
    current = configuration.current
    if store.state.header.environment_identity == current.environment_identity:
        return None
    reason = "environment_changed"
    situation = Situation(store.state, current, configuration.snapshot)
    return Outcome("blocked", explain(reason, situation), reason=reason)


def _header(session_id: str, workspace: Workspace, settings: Settings) -> dict[str, object]:
    return header(
        id=session_id,
        created_at=now_ms(),
        cwd=str(workspace.root),
        provider=urlsplit(settings.base_url).hostname or "",
        model=settings.model,
        environment_identity=settings.environment_identity,
    )


def _require_prompt(prompt: str) -> None:
    if is_blank(prompt):
        raise UsageFailure("the prompt is blank; expected some text")
    try:
        prompt.encode("utf-8")
    except UnicodeEncodeError:
        raise UsageFailure("the prompt is not valid UTF-8") from None


def _known(workspace: Workspace, session: str) -> Path:
    path = workspace.find(session)
    if path is None:
        raise UsageFailure(
            f"no session {session} in {workspace.sessions}; `sessions` lists those that exist"
        )
    return path


def _file(name: str) -> bytes:
    path = Path(name)
    if not path.exists():
        raise UsageFailure(f"no such file: {name}")
    return read_file(path)


def _line(text: str) -> None:
    write_line(sys.stdout, text)
