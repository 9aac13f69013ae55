"""The commands that work, `run` and `resume`, between the parsed command line and its exit code.

Judgement calls, beside those of the design:
- `run --session ID` of a session with an unfinished operation is refused with exit 2: nothing is
  wrong with the session, only the command is not the one to give;
- `resume` of an unknown id is exit 2; of a file that is not a session yet, exit 0 with a word;
- `run` in a session whose environment has changed is blocked before the prompt is accepted.
"""

from __future__ import annotations

import os
from dataclasses import replace
from urllib.parse import urlsplit

from agent.blocked import Situation, explain
from agent.configuration import Configuration, Settings
from agent.facts import is_blank
from agent.failures import ExitCode, UsageFailure
from agent.ids import IdSource, now_ms
from agent.loop import Loop
from agent.mcp.config import configured_servers
from agent.mcp.servers import offered_tools
from agent.new_facts import header
from agent.outcome import Outcome
from agent.output import Output
from agent.planner import plan_recovery
from agent.plans import Blocked
from agent.signals import AbortSwitch, aborting_signals
from agent.state import Idle
from agent.store import SessionStore
from agent.workspace import Workspace, require_session_id

NO_SESSION = Outcome("idle", "not a session yet: no prompt was accepted, nothing to do")


def run(
    workspace_dir: str, session: str | None, prompt: str, durability: str, output: Output
) -> ExitCode:
    """Accept a prompt in a new or an idle session and work on it to its end."""
    workspace = Workspace.at(workspace_dir)
    require_prompt(prompt)
    settings = Settings.from_environment(os.environ, workspace, stream=output.on_terminal)
    settings.require_key()
    session_id = session or IdSource().fresh()
    require_session_id(session_id)
    servers = configured_servers(os.environ, workspace.root)
    path = workspace.find(session_id) or workspace.path_of_new(session_id)
    with (
        aborting_signals() as switch,
        SessionStore.open(path, create=True, durability=durability) as store,
        offered_tools(servers, workspace.root, store.lock_fd, switch) as tools,
    ):
        configuration = Configuration.of(settings, tools).in_workspace(workspace.root)
        if not store.is_session:
            store.begin(new_header(session_id, workspace, settings))
        outcome = refusal(store, configuration) or _aborted_early(switch)
        if outcome is None:
            output.session(session_id, path)
            loop = Loop(store, configuration, workspace.root, output.fact, switch, output.text)
            loop.accept(prompt)
            outcome = loop.drive()
    output.outcome(outcome)
    return outcome.exit_code


def resume(workspace_dir: str, session: str, durability: str, output: Output) -> ExitCode:
    """Bring an unfinished operation to its end; with none, do nothing."""
    workspace = Workspace.at(workspace_dir)
    path = workspace.known(session)
    with aborting_signals() as switch, SessionStore.open(path, durability=durability) as store:
        outcome = nothing_to_do(store) or _recover(store, workspace, switch, output)
    output.outcome(outcome)
    return outcome.exit_code


def _recover(
    store: SessionStore, workspace: Workspace, switch: AbortSwitch, output: Output
) -> Outcome:
    """Bring the unfinished operation to its end."""
    settings = Settings.from_environment(os.environ, workspace, stream=output.on_terminal)
    settings.require_key()
    output.session(store.state.header.id, store.path)
    servers = configured_servers(os.environ, workspace.root)
    blocked = _blocked_anyway(store, Configuration.of(settings)) if servers else None
    if blocked is not None:
        return blocked
    with offered_tools(servers, workspace.root, store.lock_fd, switch) as tools:
        configuration = Configuration.of(settings, tools).in_workspace(workspace.root)
        return Loop(store, configuration, workspace.root, output.fact, switch, output.text).drive()


def compact(workspace_dir: str, session: str, durability: str, output: Output) -> ExitCode:
    """Replace older messages of an idle session by a summary of them."""
    workspace = Workspace.at(workspace_dir)
    path = workspace.known(session)
    settings = Settings.from_environment(os.environ, workspace)
    settings.require_key()
    servers = configured_servers(os.environ, workspace.root)
    with (
        aborting_signals() as switch,
        SessionStore.open(path, durability=durability) as store,
        # A compaction calls no tool, but its request is one of the same configuration.
        offered_tools(servers, workspace.root, store.lock_fd, switch) as tools,
    ):
        configuration = Configuration.of(settings, tools).in_workspace(workspace.root)
        if store.is_session:
            outcome = refusal(store, configuration) or _aborted_early(switch)
        else:
            outcome = NO_SESSION
        if outcome is None:
            output.session(store.state.header.id, path)
            loop = Loop(store, configuration, workspace.root, output.fact, switch)
            outcome = loop.compact()
    output.outcome(outcome)
    return outcome.exit_code


def nothing_to_do(store: SessionStore) -> Outcome | None:
    """The outcome where no operation is unfinished; None if one is."""
    if not store.is_session:
        return NO_SESSION
    if isinstance(store.state.operation, Idle):
        return Outcome("idle", f"session {store.state.header.id} is idle: nothing to do")
    return None


def _aborted_early(switch: AbortSwitch) -> Outcome | None:
    """A signal that came before anything was accepted."""
    return Outcome("aborted", "aborted before anything was begun") if switch.requested else None


def refusal(store: SessionStore, configuration: Configuration) -> Outcome | None:
    """Why no operation can begin now; None if one can."""
    if not isinstance(store.state.operation, Idle):
        session_id = store.state.header.id
        raise UsageFailure(
            f"session {session_id} has an unfinished operation; bring it to its end first: "
            f"resume {session_id}"
        )
    current = configuration.current
    if store.state.header.environment_identity == current.environment_identity:
        return None
    return _blocked(store, configuration, "environment_changed")


def _blocked_anyway(store: SessionStore, configuration: Configuration) -> Outcome | None:
    """The outcome of a session that is blocked whatever tools MCP servers list; None if it is not.

    They are programs, and a resume that can do nothing should start none to find that out.
    """
    operation = store.state.operation
    if isinstance(operation, Idle) or operation.step is None:
        return None
    recorded = operation.step.configuration_digest
    plan = plan_recovery(store.state, replace(configuration.current, configuration_digest=recorded))
    if isinstance(plan, Blocked) and plan.reason in ("attempts_exhausted", "environment_changed"):
        return _blocked(store, configuration, plan.reason)
    return None


def _blocked(store: SessionStore, configuration: Configuration, reason: str) -> Outcome:
    situation = Situation(store.state, configuration.current, configuration.snapshot)
    return Outcome("blocked", explain(reason, situation), reason=reason)


def new_header(session_id: str, workspace: Workspace, settings: Settings) -> dict[str, object]:
    return header(
        id=session_id,
        created_at=now_ms(),
        cwd=str(workspace.root),
        provider=urlsplit(settings.base_url).hostname or "",
        model=settings.model,
        environment_identity=settings.environment_identity,
    )


def require_prompt(prompt: str) -> None:
    if is_blank(prompt):
        raise UsageFailure("the prompt is blank; expected some text")
    try:
        prompt.encode("utf-8")
    except UnicodeEncodeError:
        raise UsageFailure("the prompt is not valid UTF-8") from None
