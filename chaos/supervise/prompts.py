"""What the harness itself says to a target, and what the model answers to it.

Pure.
"""

from __future__ import annotations

from chaos.provider.script import ToolCall, Turn, When
from chaos.target_session import Shell

# The last prompt of a course: is the session still of use?
PROBE_PROMPT = "killpoint probe: use one tool, then answer"
# What a `resume` that must be given a prompt is told.
GO_ON_PROMPT = "killpoint: go on"


def own_turns(shell: Shell | None) -> tuple[Turn, ...]:
    """The model's answers to these prompts; to the probe with a tool, if one runs commands."""
    probe, go_on = When(prompt=PROBE_PROMPT), When(prompt=GO_ON_PROMPT)
    turns = (Turn(content="probe answered", when=probe), Turn(content="going on", when=go_on))
    if shell is None:
        return turns
    call = ToolCall.of(shell.tool, shell.call('echo probe >> "$CHAOS_EFFECTS"'))
    return (Turn(content=None, tool_calls=(call,), when=probe), *turns)
