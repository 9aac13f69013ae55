"""Two runs of the same thing have one canonical form; different things have two.

`story` tells one session again and again with other ids, times, paths and ports.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Callable
from typing import Any

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

import chaos.canonical
from chaos.canonical import canonical_log, first_difference, image_key

Json = Any


def digest(value: Json) -> str:
    return "sha256:" + hashlib.sha256(rfc8785.dumps(value)).hexdigest()


class Chance:
    """What differs between two runs of the same thing."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.workspace = f"/tmp/room-{self.random.randrange(10**9)}"
        self.address = f"127.0.0.1:{self.random.randrange(1024, 65536)}"
        self.substitutions = {self.workspace: "WORKSPACE", self.address: "PROVIDER"}
        self.now = self.random.randrange(2**40)

    def id(self) -> str:
        digits = f"{self.random.getrandbits(128):032x}"
        return f"{digits[:8]}-{digits[8:12]}-7{digits[13:16]}-a{digits[17:20]}-{digits[20:]}"

    def tick(self) -> int:
        self.now += self.random.randrange(1, 1000)
        return self.now

    def shuffled(self, value: Json) -> Json:
        """The same JSON with its keys in another order."""
        if isinstance(value, list):
            return [self.shuffled(item) for item in value]
        if not isinstance(value, dict):
            return value
        keys = self.random.sample(sorted(value), len(value))
        return {key: self.shuffled(value[key]) for key in keys}


def story(seed: int, said: str = "done") -> tuple[list[Json], Chance]:
    """A run of two messages and a compaction of the first, as lines not yet written."""
    chance = Chance(seed)
    op, step, attempt, compaction = (chance.id() for _ in range(4))
    user, assistant = (chance.id() for _ in range(2))
    snapshot = {
        "model": "m",
        "routingIdentity": f"http://{chance.address}/v1",
        "systemPromptDigest": digest(f"You work in {chance.workspace}."),
    }
    user_message = {"role": "user", "content": f"look at {chance.workspace}/notes"}
    assistant_message = {"role": "assistant", "content": said}
    sources = [
        {"sourceEntryId": user, "message": user_message},
        {"sourceEntryId": assistant, "message": assistant_message},
    ]

    def fact(kind: str, body: Json, ident: str | None = None) -> Json:
        return {"kind": kind, "id": ident or chance.id(), "timestamp": chance.tick(), kind: body}

    started = {"type": "runStarted", "operationId": op, "inputEntryId": user}
    return [
        {"kind": "header", "version": 2, "id": chance.id(), "createdAt": chance.tick(),
         "cwd": chance.workspace},
        [fact("entry", {"type": "message", "message": user_message}, user),
         fact("record", started)],
        fact("record", {"type": "stepAttempt", "operationId": op, "attemptId": attempt,
                        "stepId": step, "configurationSnapshot": snapshot,
                        "configurationDigest": digest(snapshot)}),
        fact("entry", {"type": "message", "attemptId": attempt, "stepId": step,
                       "message": assistant_message}, assistant),
        fact("record", {"type": "compactionStarted", "operationId": compaction,
                        "compactedEntryIds": [user], "retainedEntryIds": [assistant],
                        "sourceDigest": digest(sources)}),
    ], chance  # fmt: skip


def written(lines: list[Json], chance: Chance) -> bytes:
    return b"".join(json.dumps(chance.shuffled(line)).encode() + b"\n" for line in lines)


def canonical(
    seed: int, edit: Callable[[list[Json]], object] | None = None, **options: str
) -> bytes:
    lines, chance = story(seed, **options)
    if edit is not None:
        edit(lines)
    return canonical_log(written(lines, chance), chance.substitutions)


# -- the same thing -------------------------------------------------------------------------------


@given(st.integers(0, 2**32), st.integers(0, 2**32))
def test_two_runs_of_the_same_thing_are_equal(one: int, other: int) -> None:
    assert first_difference(canonical(one), canonical(other)) == ""


def test_how_a_canonical_log_reads() -> None:
    lines = canonical(1).decode().splitlines()
    assert lines[0] == (
        '{"createdAt":0,"cwd":"#<WORKSPACE>","id":"#1","kind":"header","version":2}'
    )
    assert lines[1] == (
        '[{"entry":{"message":{"content":"look at #<WORKSPACE>/notes","role":"user"},'
        '"type":"message"},"id":"#2","kind":"entry","timestamp":0},'
        '{"id":"#3","kind":"record","record":{"inputEntryId":"#2","operationId":"#4",'
        '"type":"runStarted"},"timestamp":0}]'
    )
    assert '"routingIdentity":"http://#<PROVIDER>/v1"' in lines[2]
    assert '"systemPromptDigest":"#prompt1"' in lines[2]
    assert lines[-1] == "#torn none"


def test_an_id_inside_a_text_is_replaced_like_any_other() -> None:
    ident = Chance(1).id()
    line = {"id": ident, "entry": {"message": {"content": f"saved as out-{ident}.txt"}}}
    assert canonical_log(json.dumps(line).encode() + b"\n").startswith(
        b'{"entry":{"message":{"content":"saved as out-#1.txt"}},"id":"#1"}\n'
    )


def test_the_longest_text_is_replaced_first() -> None:
    log = b'["/a/b/c /a/x"]\n'
    assert canonical_log(log, {"/a": "A", "/a/b": "B"}) == b'["#<B>/c #<A>/x"]\n#torn none\n'


def test_replacements_are_not_replaced_again() -> None:
    assert canonical_log(b'["x y"]\n', {"x": "y", "y": "x"}) == b'["#<y> #<x>"]\n#torn none\n'


# -- different things -----------------------------------------------------------------------------


def set_in(line: int, *path: str | int, to: Json) -> Callable[[list[Json]], None]:
    """An edit: one value in one line."""

    def edit(lines: list[Json]) -> None:
        value = lines[line]
        for key in path[:-1]:
            value = value[key]
        assert value[path[-1]] != to
        value[path[-1]] = to

    return edit


def snapshot_of_another_prompt_later(lines: list[Json]) -> None:
    """A second attempt, under a changed system prompt."""
    again = json.loads(json.dumps(lines[2]))
    snapshot = again["record"]["configurationSnapshot"]
    snapshot["systemPromptDigest"] = digest("another")
    again["record"]["configurationDigest"] = digest(snapshot)
    lines.append(again)


DIFFERENT: dict[str, Callable[[list[Json]], object]] = {
    "a text": set_in(3, "entry", "message", "content", to="undone"),
    "a role": set_in(3, "entry", "message", "role", to="user"),
    "a version": set_in(0, "version", to=3),
    "a model": set_in(2, "record", "configurationSnapshot", "model", to="n"),
    "a reference to another id": lambda lines: lines[1][1]["record"].update(
        inputEntryId=lines[1][1]["id"]
    ),
    "a missing fact": lambda lines: lines.pop(),
    "a doubled fact": lambda lines: lines.append(lines[-1]),
    "two facts the other way round": lambda lines: lines[1].reverse(),
    "a fact alone or in an array": lambda lines: lines.__setitem__(3, [lines[3]]),
    "a timestamp that is none": set_in(3, "timestamp", to="now"),
    "a timestamp below zero": set_in(3, "timestamp", to=-1),
    "a timestamp that is true": set_in(3, "timestamp", to=True),
    "an upper-case id": lambda lines: lines[3].update(id=lines[3]["id"].upper()),
    "a configuration digest that does not match": set_in(
        2, "record", "configurationDigest", to=digest("x")
    ),
    "a source digest that does not match": set_in(4, "record", "sourceDigest", to=digest("x")),
    "no digest at all": lambda lines: lines[2]["record"].pop("configurationDigest"),
    "an unknown key": set_in(3, "entry", "message", to={"role": "assistant", "new": 1}),
}


@pytest.mark.parametrize("edit", DIFFERENT.values(), ids=DIFFERENT)
@pytest.mark.parametrize("seed", [1, 2])
def test_a_different_fact_is_different(edit: Callable[[list[Json]], object], seed: int) -> None:
    assert canonical(seed, edit) != canonical(1)


def test_a_prompt_that_changes_within_a_log_shows() -> None:
    changed = canonical(1, snapshot_of_another_prompt_later)
    unchanged = canonical(1, lambda lines: lines.append(lines[2]))
    assert b"#prompt2" in changed
    assert changed != unchanged


# Made of what could be taken for a label or break its quoting.
texts = st.lists(st.sampled_from(["#", "1", "<WORKSPACE>", "prompt1", "é", '"', "\\"])).map("".join)


@given(texts, texts)
def test_two_texts_never_look_alike(one: str, other: str) -> None:
    assert (canonical(1, said=one) == canonical(2, said=other)) == (one == other)


def test_what_the_target_writes_cannot_look_like_a_label() -> None:
    substitutions = {"/w": "W"}
    assert canonical_log(b'["/w"]\n', substitutions) != canonical_log(b'["#<W>"]\n', substitutions)
    ident = json.dumps([Chance(1).id()]).encode()
    assert canonical_log(ident + b"\n") != canonical_log(b'["#1"]\n')


@pytest.mark.parametrize(
    "clock",
    ['{"timestamp":5}', '[{"timestamp":5}]', '{"createdAt":5}'],
)
def test_only_the_clock_of_a_fact_is_stopped(clock: str) -> None:
    assert b"5" not in canonical_log(clock.encode() + b"\n")
    inner = f'{{"record":{{"arguments":{clock}}}}}\n'.encode()
    assert b"5" in canonical_log(inner)


# -- lines that are no JSON, and tails ------------------------------------------------------------


@pytest.mark.parametrize(
    "line",
    [b"", b" ", b"null", b"{", b"\x00\x00", b"\xff", b'{"a":1,"a":1}', b'{"a":1}\r', b'"\\ud800"',
     b"[" * 5000, b"[" * 102 + b"]" * 102],
)  # fmt: skip
def test_a_line_that_is_no_fact_stands_by_its_bytes(line: bytes) -> None:
    raw = b"#raw " + hashlib.sha256(line).hexdigest().encode()
    found = canonical_log(b'{"a":1}\n' + line + b"\n").splitlines()
    assert found[0] == b'{"a":1}'
    assert found[1] == raw
    assert found[2] == b"#torn none"


def test_a_deep_line_is_read_to_a_fixed_depth() -> None:
    line = b"[" * 101 + b"]" * 101  # an array of one fact, which is 100 deep
    assert canonical_log(line + b"\n") == line + b"\n#torn none\n"


@pytest.mark.parametrize(
    ("tail", "kind"),
    [
        (b"", b"none"),
        (b"{", b"partial"),
        (b'{"kind":"entry","text":"\xc3', b"partial"),
        (b'{"kind":"entry"}', b"whole-line-without-LF"),
    ],
)
def test_of_a_torn_tail_only_its_class_is_kept(tail: bytes, kind: bytes) -> None:
    assert canonical_log(b"[]\n" + tail) == b"[]\n#torn " + kind + b"\n"
    assert canonical_log(tail) == b"#torn " + kind + b"\n"


@given(st.binary(max_size=60))
def test_any_bytes_have_a_canonical_form(data: bytes) -> None:
    assert canonical_log(data).decode("ascii").endswith("\n")


# -- images ---------------------------------------------------------------------------------------


def image(seed: int, **changes: Any) -> str:
    lines, chance = story(seed)
    session = f"2026-01-0{1 + seed % 9}T10-00-00-000Z_{lines[0]['id']}.jsonl"
    parts: dict[str, Any] = {
        "log": written(lines, chance),
        "files": {"notes": "aa", "src/x.py": "bb"},
        "effects": ["deploy", f"copy {chance.workspace}/notes"],
        "accepted": 1,
        "state_files": [".agent/tool-output/1", f".agent/sessions/{session}"],
        **changes,
    }
    return image_key(**parts, substitutions=chance.substitutions)


def test_two_runs_leave_the_same_image() -> None:
    assert image(1) == image(2)
    assert len(image(1)) == 64
    assert image(1, files={"src/x.py": "bb", "notes": "aa"}) == image(2)


@pytest.mark.parametrize(
    "changes",
    [
        {"log": b""},
        {"files": {"notes": "aa", "src/x.py": "cc"}},
        {"files": {"notes": "aa"}},
        {"files": {"notes": "aa", "src/y.py": "bb"}},
        {"files": {"notes": "bb", "src/x.py": "aa"}},
        {"effects": ["deploy"]},
        {"effects": ["deploy", "deploy"]},
        {"effects": ["deploy deploy"]},
        {"effects": []},
        {"accepted": 2},
        {"state_files": []},
        {"state_files": [".agent/tool-output/1"]},
    ],
)
def test_each_part_of_an_image_counts(changes: dict[str, Any]) -> None:
    assert image(1, **changes) != image(1)


def test_the_order_of_effects_counts() -> None:
    assert image(1, effects=["a", "b"]) != image(1, effects=["b", "a"])


def test_a_torn_tail_counts_by_its_class_only() -> None:
    lines, chance = story(1)
    log = written(lines, chance)
    assert image(1, log=log + b'{"kind"') == image(1, log=log + b'{"kind":"ent')
    assert image(1, log=log + b'{"kind"') != image(1, log=log)
    assert image(1, log=log + b"{}") != image(1, log=log + b"{")


@given(st.randoms(use_true_random=False), st.integers(1, 2))
def test_a_key_is_the_same_whatever_was_asked_before(chance: random.Random, seed: int) -> None:
    """As a log grows, as it is torn, and as another branch goes back behind it."""
    lines, texts = story(seed)
    log = written(lines, texts)
    cuts = [log[:end] for end in range(0, len(log) + 1, 97)] + [log, log.replace(b"done", b"gone")]
    late = [lines[-1]["id"]]  # an effect may name what the log names later
    alone = []
    for cut in cuts:
        chaos.canonical._last_canon.cache_clear()
        alone.append(image(seed, log=cut, effects=late))
    order = list(range(len(cuts)))
    chance.shuffle(order)
    assert [image(seed, log=cuts[at], effects=late) for at in order] == [alone[at] for at in order]


# -- the first difference -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        (b"x\ny\n", b"x\ny\n", ""),
        (b"x\nabc\n", b"x\nabd\n", "line 2, column 3: expected abc, found abd"),
        (b"x\nabc\n", b"x\nab\n", "line 2, column 3: expected abc, found ab"),
        (b"x\n", b"x\ny\n", "line 2, column 1: expected , found y"),
        (b"x", b"x\ny", "line 2, column 1: expected (no such line), found y"),
        (
            b"a" * 100 + b"b" + b"c" * 100,
            b"a" * 100 + b"d" + b"c" * 100,
            f"line 1, column 101: expected …{'a' * 60}b{'c' * 59}…, found …{'a' * 60}d{'c' * 59}…",
        ),
    ],
)
def test_the_first_difference_is_shown_in_its_surroundings(
    a: bytes, b: bytes, expected: str
) -> None:
    assert first_difference(a, b) == expected
