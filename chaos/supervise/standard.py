"""The standard course of `chaos certify`: the scenarios that every target is put to.

They are scenario files like any other, but for their place: a failure of one carries it along.
"""

from __future__ import annotations

from chaos.scenario import Scenario, parse_scenario
from chaos.target import Target

_PLAIN = """\
name = "certify-answer"
about = "One prompt, one answer, no tool."
target.profile = "{name}"

[[step]]
run = "killpoint: say that you are well"

[[provider.turn]]
content = "I am well, and this answer is long enough to be cut in the middle."
"""

_TOOLS = """\
name = "certify-tools"
about = "One tool with an effect, then three calls in one turn, then an answer."
target.profile = "{name}"

[[step]]
run = "killpoint: ship it"

[[provider.turn]]
content = "I ship it first."
tool_calls = [{{ shell = 'echo ship-one >> "$CHAOS_EFFECTS"' }}]

{three}
[[provider.turn]]
content = "All of it is shipped, and nothing twice."

[expect.effects]
ship-one = "once"
ship-two = "once"
ship-three = "once"
ship-four = "once"
"""

_THREE = """\
[[provider.turn]]
tool_calls = [
    { shell = 'echo ship-two >> "$CHAOS_EFFECTS"' },
    { shell = 'echo ship-three >> "$CHAOS_EFFECTS"' },
    { shell = 'echo ship-four >> "$CHAOS_EFFECTS"' },
]
"""
_ONE_BY_ONE = _THREE.replace("},\n    {", "}]\n\n[[provider.turn]]\ntool_calls = [{")


def standard_course(target: Target) -> list[Scenario]:
    """The scenarios for a target; one whose model can run no command has those without tools."""
    shell = target.session.shell
    texts = (_TOOLS, _PLAIN) if shell else (_PLAIN,)
    words = {"name": target.name, "three": _THREE if shell and shell.parallel else _ONE_BY_ONE}
    return [
        parse_scenario(text.format(**words), f"<certify>/{place}.toml", lambda _: target)
        for place, text in enumerate(texts, start=1)
    ]
