"""`agent chat` as a person uses it: a real process on a pseudo-terminal, against a real server."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tests.agent.support import SECRET, ModelServer, call, completion
from tests.agent.terminal import BOUND_S, CTRL_C, CTRL_D, ENTER, ESC, ROOT, Held, Sit

ID = "018f0000-0000-7000-8000-000000000001"
DONE = completion("done 完成")


def test_prompt_after_prompt_in_one_session(sit: Sit) -> None:
    with ModelServer(DONE, completion("second")) as server:
        person = sit(server)
        person.says("say it, e\u0301 你好世界")
        person.sees("done 完成")
        person.says("and again")
        person.sees("second")
        person.says("/exit")
        assert person.leaves() == 0
    assert person.terminal_is_as_it_was
    told = [m["content"] for m in server.requests[1]["messages"][1:]]
    assert told == ["say it, e\u0301 你好世界", "done 完成", "and again"]


def test_wide_text_can_be_edited_where_it_wraps(sit: Sit) -> None:
    """The line is longer than the terminal; its last and its first character are taken out."""
    text = "长" * 60 + "e\u0301x"
    with ModelServer(DONE) as server:
        person = sit(server)
        person.sees("you>")
        person.press(text)
        person.press(b"\x7f", b"\x01", b"\x04", ENTER)  # backspace, to the start, delete
        person.sees("done 完成")
        person.sees("you>")
        person.press(CTRL_D)
        assert person.leaves() == 0
    assert server.requests[0]["messages"][1]["content"] == "长" * 59 + "e\u0301"


def test_history_is_private_and_comes_back(sit: Sit) -> None:
    with ModelServer(DONE, DONE) as server:
        person = sit(server)
        person.says("first words")
        person.sees("done")
        person.says("/exit")
        person.leaves()
        again = sit(server)
        again.sees("you>")
        again.press(b"\x1b[A", b"\x1b[A")  # up: /exit, then the first words
        again.sees("first words")
        again.press(ENTER)
        again.sees("done")
        again.says("/exit")
        assert again.leaves() == 0
    history = person.workspace / ".agent" / "chat-history"
    assert stat.S_IMODE(history.stat().st_mode) == 0o600
    assert server.requests[1]["messages"][-1]["content"] == "first words"


def test_esc_aborts_a_held_request_and_not_the_program(sit: Sit) -> None:
    with Held(DONE) as server:
        person = sit(server)
        person.says("wait for it")
        assert server.arrived.acquire(timeout=BOUND_S)
        person.press(b"\x1b[A", "keys that do nothing")
        person.press(ESC)
        person.sees("aborted")
        server.released.set()
        person.says("/exit")
        assert person.leaves() == 0
    log = person.log.read_text()
    assert log.index('"abortRequested"') < log.index('"stepFailed"')
    assert '"reason":"escape"' in log
    assert '"phase":"model"' in log


def test_esc_works_after_ctrl_z_and_fg(sit: Sit) -> None:
    with Held(DONE) as server:
        person = sit(server)
        person.says("wait for it")
        assert server.arrived.acquire(timeout=BOUND_S)
        person.stops_and_goes_on()
        person.press(ESC)
        person.sees("aborted")
        server.released.set()
        person.says("/exit")
        assert person.leaves() == 0


def test_esc_ends_a_tool_and_everything_it_started(sit: Sit) -> None:
    command = "setsid sh -c 'sleep 60; echo late >> late' & touch started; wait"
    with ModelServer(completion(None, [call("bash", {"command": command})])) as server:
        person = sit(server)
        person.says("go")
        person.sees("> bash")
        person.waits_until((person.workspace / "started").exists, "the tool")
        person.press(ESC)
        person.sees("aborted")
        person.says("/exit")
        assert person.leaves() == 0
    assert '"phase":"tool"' in person.log.read_text()
    assert not (person.workspace / "late").exists()


@pytest.mark.parametrize("how", ["key", "SIGTERM"])
def test_ctrl_c_aborts_what_runs_and_leaves_with_130(sit: Sit, how: str) -> None:
    with Held(DONE) as server:
        person = sit(server)
        person.says("wait for it")
        assert server.arrived.acquire(timeout=BOUND_S)
        if how == "key":
            person.press(CTRL_C)
        else:
            person.agent.send_signal(signal.SIGTERM)
        assert person.leaves() == 130
        assert person.terminal_is_as_it_was
    assert "Traceback" not in person.screen
    assert '"outcome":"aborted"' in person.facts()[-1]


@pytest.mark.parametrize("how", ["key", "SIGTERM"])
def test_ctrl_c_at_the_prompt_leaves_with_130(sit: Sit, how: str) -> None:
    person = sit("http://127.0.0.1:9/v1")
    person.sees("you>")
    person.press("half a line")
    person.sees("half a line")
    if how == "key":
        person.press(CTRL_C)
    else:
        person.agent.send_signal(signal.SIGTERM)
    assert person.leaves() == 130
    assert person.terminal_is_as_it_was
    assert "Traceback" not in person.screen
    assert not list((person.workspace / ".agent" / "sessions").iterdir())  # nothing was asked


def test_unknown_commands_are_told_the_known_ones(sit: Sit) -> None:
    with ModelServer(DONE) as server:
        person = sit(server)
        person.says("/compress")
        person.sees("unknown command /compress; expected one of /compact, /exit, /sessions")
        person.says("/compact")
        person.sees("nothing to compact")
        person.says(" /etc is a directory")
        person.sees("done")
        person.says("/sessions")
        person.sees("idle")
        person.says("/compact")
        person.sees("nothing to compact")
        person.sees("you>")
        person.press(CTRL_D)
        assert person.leaves() == 0
    assert server.requests[0]["messages"][1]["content"] == "/etc is a directory"


def test_compact_summarises_on_demand(sit: Sit) -> None:
    answers = [completion(f"answer {n}") for n in range(4)]
    with ModelServer(*answers, completion("the summary"), DONE) as server:
        person = sit(server)
        for number in range(4):
            person.says(f"question {number}")
            person.sees(f"answer {number}")
        person.says("/compact")
        person.sees("compacted: the summary")
        person.says("go on")
        person.sees("done")
        person.says("/exit")
        assert person.leaves() == 0
    assert "[Compacted history]\nthe summary" in server.requests[-1]["messages"][1]["content"]


def test_a_killed_chat_is_recovered_and_says_what_became_of_each_call(sit: Sit) -> None:
    command = "echo deploy >> deployed; sleep 60"
    answers = [completion(None, [call("bash", {"command": command})]), completion("told")]
    with ModelServer(*answers) as server:
        person = sit(server, "--session", ID)
        person.says("deploy it")
        person.sees("> bash")
        person.waits_until((person.workspace / "deployed").exists, "the effect")
        person.agent.kill()
        person.leaves()
        again = sit(server, "--session", ID)
        again.sees("the session has an unfinished operation; going on with it")
        again.sees(f"interrupted: `{command}` may have run; it was not run again")
        again.sees("told")
        again.says("/exit")
        assert again.leaves() == 0
    assert (person.workspace / "deployed").read_text() == "deploy\n"
    assert "status became unknown" in server.requests[1]["messages"][-1]["content"]


@pytest.mark.parametrize("kept", ["operationFinished", "usage"])
def test_a_reply_that_a_kill_kept_from_the_screen_is_shown(sit: Sit, kept: str) -> None:
    """Killed while idle, or behind the reply: then the file is what that kill leaves."""
    usage = {"prompt_tokens": 1, "completion_tokens": 1}
    with ModelServer(completion("done 完成", usage=usage)) as server:
        person = sit(server, "--session", ID)
        person.says("go on")
        person.sees("done")
        person.sees("you>")
        person.agent.kill()
        person.leaves()
        lines = person.log.read_bytes().splitlines(keepends=True)
        last = max(at for at, line in enumerate(lines) if kept.encode() in line)
        person.log.write_bytes(b"".join(lines[: last + 1]))
        again = sit(server, "--session", ID)
        again.sees("the last prompt was: go on")
        again.sees("done 完成")
        again.says("/exit")
        assert again.leaves() == 0
    assert "operationFinished" in person.facts()[-1]


def test_a_request_that_a_kill_interrupted_is_sent_once_more(sit: Sit) -> None:
    with Held(DONE, DONE) as server:
        person = sit(server, "--session", ID)
        person.says("wait for it")
        assert server.arrived.acquire(timeout=BOUND_S)
        person.agent.kill()
        person.leaves()
        server.released.set()
        again = sit(server, "--session", ID)
        again.sees("interrupted: a request to the model; it is sent once more")
        again.sees("done")
        again.says("/exit")
        assert again.leaves() == 0


def test_esc_aborts_a_recovery_too(sit: Sit) -> None:
    with Held(DONE, DONE) as server:
        person = sit(server, "--session", ID)
        person.says("wait for it")
        assert server.arrived.acquire(timeout=BOUND_S)
        person.agent.kill()
        person.leaves()
        again = sit(server, "--session", ID)
        assert server.arrived.acquire(timeout=BOUND_S)
        again.press(ESC)
        again.sees("aborted")
        server.released.set()
        again.says("/exit")
        assert again.leaves() == 0


def test_a_blocked_session_is_left_alone_with_exit_3(sit: Sit) -> None:
    with Held(DONE) as server:
        person = sit(server, "--session", ID)
        person.says("wait for it")
        assert server.arrived.acquire(timeout=BOUND_S)
        person.agent.kill()
        person.leaves()
        before = person.log.read_bytes()
        again = sit(server, "--session", ID, AGENT_MODEL="other")
        again.sees("set AGENT_MODEL to test/model")
        assert again.leaves() == 3
    assert person.log.read_bytes() == before


def test_the_session_is_busy_for_everybody_else(sit: Sit) -> None:
    with ModelServer(DONE) as server:
        person = sit(server, "--session", ID)
        person.says("go")
        person.sees("done")
        assert sit(server, "--session", ID).leaves() == 5
        person.says("/exit")
        assert person.leaves() == 0


def test_a_failed_operation_is_told_and_the_next_prompt_is_taken(sit: Sit) -> None:
    with ModelServer((500, {"error": {"message": "down"}}), DONE) as server:
        person = sit(server)
        person.says("one")
        person.sees("failed: http_500")
        person.says("two")
        person.sees("done")
        person.says("/exit")
        assert person.leaves() == 0


def test_tools_are_started_by_a_process_of_one_thread(sit: Sit) -> None:
    """The guard is a fork without exec, which is safe only without other threads."""
    command = "agent=$(awk '/^PPid/{print $2}' /proc/$PPID/status); ls /proc/$agent/task | wc -l"
    with ModelServer(completion(None, [call("bash", {"command": command})]), DONE) as server:
        person = sit(server)
        person.says("count")
        person.sees("done")
        person.says("/exit")
        assert person.leaves() == 0
    result = json.loads(next(line for line in person.facts() if '"tool"' in line))
    assert result["entry"]["message"]["content"] == "1"


def test_without_a_terminal_there_is_no_chat(tmp_path: Path) -> None:
    env = {**os.environ, "PYTHONPATH": str(ROOT), "AGENT_API_KEY": SECRET}
    done = subprocess.run(
        [sys.executable, "-m", "agent", "chat"],
        cwd=tmp_path,
        env=env,
        input="hello\n",
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "chat needs a terminal" in done.stderr
    assert list(tmp_path.iterdir()) == []
