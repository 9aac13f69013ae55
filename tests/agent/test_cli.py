"""The command line as scripts use it: exit codes, streams, events; no traceback for anything.

The commands run in this process; test_cli_process.py starts real ones.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest
import respx

from agent.cli import main
from tests.agent.support import SECRET, call, completion

ID = "018f0000-0000-7000-8000-000000000001"
OTHER = "018f0000-0000-7000-8000-000000000002"
DONE = completion("done é", usage={"prompt_tokens": 3, "completion_tokens": 2})
BASE = "http://models.example/v1"
ENVIRONMENT = {"AGENT_API_KEY": SECRET, "AGENT_BASE_URL": BASE, "AGENT_MODEL": "test/model"}


class Finished(NamedTuple):
    """A command that has ended."""

    returncode: int
    stdout: str
    stderr: str


class Shell:
    """Gives commands in one workspace. `answers` are the model's, in order, then it is gone."""

    def __init__(
        self, workspace: Path, capture: pytest.CaptureFixture[str], mock: respx.Route
    ) -> None:
        self.workspace = workspace
        self._capture = capture
        self._route = mock
        self.answers: list[Any] = []
        mock.side_effect = self._answer

    def __call__(self, *arguments: str, **env: str) -> Finished:
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(self.workspace)
            for name, value in ENVIRONMENT.items():
                patch.setenv(name, value)
            for name, value in env.items():
                patch.setenv(name, value)
            code = main(arguments)
        out, err = self._capture.readouterr()
        assert SECRET not in out + err
        return Finished(code, out, err)

    @property
    def log(self) -> Path:
        (found,) = (self.workspace / ".agent" / "sessions").iterdir()
        return found

    def requests(self) -> list[dict[str, Any]]:
        return [json.loads(made.request.content) for made in self._route.calls]

    def _answer(self, _: httpx.Request) -> httpx.Response:
        if not self.answers:
            raise httpx.ConnectError("Connection refused")
        answer = self.answers.pop(0)
        return answer if isinstance(answer, httpx.Response) else httpx.Response(200, json=answer)


def events(done: Finished) -> list[dict[str, Any]]:
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.fixture(name="shell")
def _shell(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Iterator[Shell]:
    for name in os.environ:
        if name.startswith(("AGENT_", "OPENROUTER_")):
            monkeypatch.delenv(name)
    with respx.mock(assert_all_called=False) as router:
        yield Shell(tmp_path, capsys, router.post(f"{BASE}/chat/completions"))


def test_run_prints_the_answer_and_resume_has_nothing_to_do(shell: Shell) -> None:
    shell.answers = [DONE]
    done = shell("run", "--session", ID, "hello")
    assert (done.returncode, done.stdout) == (0, "done é\n")
    assert f"session {ID}" in done.stderr
    log = shell.log.read_bytes()
    again = shell("resume", ID)
    assert (again.returncode, again.stdout) == (0, "")
    assert "nothing to do" in again.stderr
    assert shell.log.read_bytes() == log
    assert shell("resume", str(shell.log)).returncode == 0
    assert len(shell.requests()) == 1
    assert SECRET.encode() not in log


def test_a_session_goes_on_with_the_next_prompt(shell: Shell) -> None:
    shell.answers = [DONE, DONE]
    shell("run", "--session", ID, "one")
    assert shell("run", "--session", ID, "two").returncode == 0
    told = [message["content"] for message in shell.requests()[1]["messages"][1:]]
    assert told == ["one", "done é", "two"]
    listed = shell("sessions").stdout
    assert listed.startswith(ID)
    assert "idle" in listed
    shown = shell("show", ID)
    assert shown.returncode == 0
    assert "two" in shown.stdout
    assert shown.stdout.splitlines()[-1].startswith("idle; tokens: input 6, output 4")


def test_events_follow_the_facts_and_the_outcome_is_last(shell: Shell) -> None:
    shell.answers = [completion(None, [call("bash", {"command": "exit 3"})]), DONE]
    done = shell("run", "--json", "--session", ID, "go")
    found = events(done)
    assert [event["event"] for event in found] == [
        "session",
        "user",
        "runStarted",
        "stepAttempt",
        "assistant",
        "toolStarted",
        "toolResult",
        "stepAttempt",
        "assistant",
        "usage",
        "operationFinished",
        "outcome",
    ]
    assert found[-1] == {"event": "outcome", "outcome": "completed", "exitCode": 0}
    facts = [event["fact"]["seq"] for event in found if "fact" in event]
    assert facts == list(range(1, 11))


def test_a_failed_operation_is_exit_1(shell: Shell) -> None:
    shell.answers = [httpx.Response(500, json={"error": {"message": f"down, {SECRET}"}})]
    done = shell("run", "--session", ID, "hello")
    assert done.returncode == 1
    assert "failed: http_500: " in done.stderr
    assert "down, [API key]" in done.stderr
    assert shell("resume", ID).returncode == 0  # the operation has its end
    assert SECRET.encode() not in shell.log.read_bytes()


def test_a_provider_that_cannot_be_reached_is_exit_1(shell: Shell) -> None:
    done = shell("run", "--json", "hello")
    assert done.returncode == 1
    assert events(done)[-1]["error"]["code"] == "connection_failed"


USAGE = [
    ([], "COMMAND"),
    (["fly"], "invalid choice"),
    (["run"], "PROMPT"),
    (["run", " \n"], "the prompt is blank"),
    (
        [
            "run",
            os.fsdecode(b"\xff"),
        ],
        "not valid UTF-8",
    ),
    (["run", "--session", ID.upper(), "x"], "a lower-case UUIDv7"),
    (["run", "--workspace", "missing", "x"], "not a directory"),
    (["resume", ID], f"no session {ID}"),
    (["resume", "no-id"], "expected a session id"),
    (["show", ID], f"no session {ID}"),
    (["inspect", "missing"], "no such file: missing"),
    (["plan", "missing", "--config", "c"], "no such file"),
    (["plan", "missing"], "--config"),
]


@pytest.mark.parametrize(("arguments", "words"), USAGE)
def test_usage_is_exit_2_and_writes_nothing(shell: Shell, arguments: list[str], words: str) -> None:
    done = shell(*arguments)
    assert done.returncode == 2
    assert words in done.stderr
    assert list(shell.workspace.iterdir()) == []


@pytest.mark.parametrize(
    "env", [{"AGENT_API_KEY": ""}, {"AGENT_BASE_URL": "nonsense"}, {"AGENT_API_KEY": "a\nb"}]
)
def test_settings_that_cannot_be_used_are_exit_2_before_any_fact(
    shell: Shell, env: Mapping[str, str]
) -> None:
    done = shell("run", "--json", "hello", **env)
    assert done.returncode == 2
    assert next(iter(env)) in done.stderr or "API key" in done.stderr
    assert events(done)[-1]["exitCode"] == 2
    assert list(shell.workspace.iterdir()) == []


def killed(shell: Shell, after: str) -> bytes:
    """The log of a run, cut behind the first fact of that name, as a kill leaves it."""
    shell.answers = [completion(None, [call("bash", {"command": "echo >> x"})]), DONE]
    shell("run", "--session", ID, "go")
    kept = b""
    for line in shell.log.read_bytes().splitlines(keepends=True):
        kept += line
        if f'"type":"{after}"'.encode() in line:
            break
    shell.log.write_bytes(kept)
    return kept


def test_an_unfinished_session_takes_no_prompt(shell: Shell) -> None:
    before = killed(shell, "stepAttempt")
    done = shell("run", "--session", ID, "another")
    assert done.returncode == 2
    assert f"resume {ID}" in done.stderr
    assert shell.log.read_bytes() == before
    assert "unfinished" in shell("sessions").stdout


def test_blocked_is_exit_3_and_says_what_to_restore(shell: Shell) -> None:
    before = killed(shell, "stepAttempt")
    done = shell("resume", "--json", ID, AGENT_MODEL="other")
    assert done.returncode == 3
    assert "configuration_changed" in done.stderr
    assert "set AGENT_MODEL to test/model" in done.stderr
    outcome = events(done)[-1]
    assert (outcome["outcome"], outcome["reason"]) == ("blocked", "configuration_changed")
    assert shell.log.read_bytes() == before


def test_a_prompt_in_another_environment_is_blocked_before_it_is_accepted(shell: Shell) -> None:
    shell("run", "--session", ID, "one")
    before = shell.log.read_bytes()
    done = shell("run", "--session", ID, "two", AGENT_ENVIRONMENT_IDENTITY="elsewhere")
    assert done.returncode == 3
    assert "environment_changed" in done.stderr
    assert shell.log.read_bytes() == before


def test_abort_is_exit_130_frees_what_is_blocked_and_needs_no_key(shell: Shell) -> None:
    killed(shell, "stepAttempt")
    assert shell("resume", ID, AGENT_MODEL="other").returncode == 3
    asked = len(shell.requests())
    done = shell("abort", "--json", ID, AGENT_MODEL="other", AGENT_API_KEY="")
    assert done.returncode == 130
    assert [event["event"] for event in events(done)] == [
        "session",
        "abortRequested",
        "stepFailed",
        "operationFinished",
        "outcome",
    ]
    log = shell.log.read_bytes()
    for command in ("abort", "resume"):
        assert shell(command, ID).returncode == 0
    assert shell.log.read_bytes() == log
    assert len(shell.requests()) == asked


def test_compact_is_exit_0_where_it_is_done_or_there_is_nothing_to_do(shell: Shell) -> None:
    shell.answers = [DONE] * 5
    shell("run", "--session", ID, "one")
    done = shell("compact", ID)
    assert done.returncode == 0
    assert "nothing to compact" in done.stderr
    for prompt in ("two", "three", "four"):
        shell("run", "--session", ID, prompt)
    assert shell("compact", ID).returncode == 0
    assert b'"type":"compaction"' in shell.log.read_bytes()


def test_a_compaction_that_fails_is_exit_1_and_of_an_unfinished_session_exit_2(
    shell: Shell,
) -> None:
    shell.answers = [DONE] * 4
    for prompt in ("one", "two", "three", "four"):
        shell("run", "--session", ID, prompt)
    done = shell("compact", ID)  # the model is gone
    assert done.returncode == 1
    assert "failed: connection_failed" in done.stderr
    killed(shell, "stepAttempt")
    crashed = shell.log.read_bytes()
    done = shell("compact", ID)
    assert done.returncode == 2
    assert f"resume {ID}" in done.stderr
    assert shell.log.read_bytes() == crashed


def test_a_file_that_is_no_session_has_nothing_to_abort_or_compact(shell: Shell) -> None:
    folder = shell.workspace / ".agent" / "sessions"
    folder.mkdir(parents=True)
    (folder / f"2024-04-21T09-32-31-104Z_{ID}.jsonl").touch()
    for command in ("abort", "compact"):
        done = shell(command, ID)
        assert done.returncode == 0
        assert "not a session yet" in done.stderr
    assert shell.log.read_bytes() == b""


def test_durability_is_chosen_by_its_name(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[int] = []
    monkeypatch.setattr("os.fsync", synced.append)
    shell.answers = [DONE, DONE]
    assert shell("run", "--session", ID, "one").returncode == 0
    assert not synced
    assert shell("run", "--durability", "fsync", "--session", ID, "two").returncode == 0
    assert len(synced) == 4  # transactions: prompt, attempt, reply, end
    assert shell("run", "--durability", "platter", "three").returncode == 2


def test_corrupt_is_exit_4_with_code_and_line_and_leaves_the_file(shell: Shell) -> None:
    damaged = killed(shell, "stepAttempt").replace(b'"seq":2', b'"seq":9')
    shell.log.write_bytes(damaged)
    for arguments in (["resume", "--json", ID], ["run", "--session", ID, "x"], ["show", ID]):
        done = shell(*arguments)
        assert done.returncode == 4
        assert "SEQ_MISMATCH at line 2, seq 9" in done.stderr
    assert events(shell("resume", "--json", ID))[-1]["error"] == {
        "code": "SEQ_MISMATCH",
        "line": 2,
        "seq": 9,
    }
    inspected = shell("inspect", str(shell.log))
    assert inspected.returncode == 4
    assert json.loads(inspected.stdout)["error"]["line"] == 2
    assert "corrupt" in shell("sessions").stdout
    assert shell.log.read_bytes() == damaged


def test_busy_is_exit_5_with_the_owner(shell: Shell) -> None:
    killed(shell, "stepAttempt")
    with shell.log.open("r+b") as owned:
        fcntl.flock(owned, fcntl.LOCK_EX)
        done = shell("resume", ID)
    assert done.returncode == 5
    assert "session busy" in done.stderr
    assert f"process {os.getpid()}" in done.stderr or "another process" in done.stderr


@pytest.mark.parametrize("content", [b"", b'{"kind":"head'])
def test_a_file_without_a_header_is_no_session_until_the_same_run_begins_it(
    shell: Shell, content: bytes
) -> None:
    shell.answers = [DONE]
    folder = shell.workspace / ".agent" / "sessions"
    folder.mkdir(parents=True)
    (folder / f"2024-04-21T09-32-31-104Z_{ID}.jsonl").write_bytes(content)
    assert shell("sessions").stdout == ""
    done = shell("resume", ID)
    assert done.returncode == 0
    assert "not a session yet" in done.stderr
    assert shell.log.read_bytes() == content
    assert shell("run", "--session", ID, "hello").returncode == 0
    assert shell.log.read_bytes().startswith(b'{"kind":"header"')


def test_what_the_disk_refuses_is_one_message(shell: Shell) -> None:
    (shell.workspace / ".agent").write_text("in the way")
    done = shell("run", "hello")
    assert done.returncode == 1
    assert ".agent/sessions: Not a directory" in done.stderr


def test_inspect_and_plan_print_json(shell: Shell) -> None:
    killed(shell, "runStarted")
    state = json.loads(shell("inspect", str(shell.log)).stdout)
    assert state["ok"] is True
    config = shell.workspace / "current.json"
    current = {"configurationDigest": "sha256:" + "0" * 64, "environmentIdentity": "e", "tools": []}
    config.write_text(json.dumps(current))
    done = shell("plan", str(shell.log), "--config", str(config))
    assert done.returncode == 0
    assert json.loads(done.stdout)["type"] == "startStep"
    config.write_text("[]")
    done = shell("plan", str(shell.log), "--config", str(config))
    assert done.returncode == 2
    assert "not a current configuration" in done.stderr
