"""What a tool is: a definition for the model, a replay declaration, and a function.

What it promises: a tool that cannot do what was asked gives a `ToolResult` of kind `error` whose
text tells the model why; it raises nothing for bad arguments or a bad world.
What it does not do: it knows nothing of the log. The loop writes the intent before `run` is called
and the result after it returned.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from agent.abort import Abort
from agent.canonical import digest
from agent.failures import describe

Arguments = Mapping[str, Any]


class ToolError(Exception):
    """The call cannot be carried out; the message is for the model."""


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What the model is told. `kind` is success | error, as in the result entry."""

    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class CallContext:
    """Where a call runs. Nothing in it changes the meaning of the arguments."""

    workspace: Path  # real path
    call_id: str  # the id reserved for the result: unique, stable over a replay
    lock_fd: int | None  # the session's lock, for the guard of a child process
    environment: Mapping[str, str]  # for child processes; holds no secret
    abort: Abort  # a tool that waits, waits through it, and ends once it is durable
    sync: bool = False  # what a tool writes itself survives a loss of power, once it says so


@dataclass(frozen=True)
class Tool:
    """A tool as the agent offers it. `run` may raise ToolError and OSError; `call` does not."""

    name: str
    description: str
    parameters: Mapping[str, Any]  # JSON schema of an object
    run: Callable[[Arguments, CallContext], ToolResult]
    replay: str = "never"  # safe | never
    version: int = 1

    @property
    def replay_key(self) -> str:
        """Names the built-in and its replay contract, e.g. `builtin:read:v1`."""
        return f"builtin:{self.name}:v{self.version}"

    @cached_property
    def definition(self) -> dict[str, Any]:
        """The function definition, as sent to the provider."""
        return {
            "type": "function",
            "function": {
                "name": self.name,
                "description": self.description,
                "parameters": dict(self.parameters),
            },
        }

    @cached_property
    def definition_digest(self) -> str:
        """Digest over the definition: another wording is another tool."""
        return digest(self.definition)

    def check(self, arguments: Arguments) -> None:
        """Raise ToolError unless the arguments fit `parameters`."""
        _check(arguments, self.parameters)

    def call(self, arguments: Arguments, context: CallContext) -> ToolResult:
        """Check the arguments and run. Always a result, never an exception."""
        try:
            self.check(arguments)
            return self.run(arguments, context)
        except ToolError as error:
            return ToolResult("error", f"Error: {error}")
        except OSError as error:
            return ToolResult("error", f"Error: {describe(error)}")


_TYPES: Mapping[str, tuple[type, str]] = {
    "string": (str, "a string"),
    "integer": (int, "an integer"),
    "boolean": (bool, "true or false"),
}


def _check(arguments: Arguments, parameters: Mapping[str, Any]) -> None:
    """Raise ToolError unless the arguments fit the part of JSON schema that our tools use."""
    properties = parameters["properties"]
    for name in parameters["required"]:
        if name not in arguments:
            raise ToolError(f"the argument {name!r} is missing")
    for name, value in arguments.items():
        if name not in properties:
            known = ", ".join(properties)
            raise ToolError(f"unknown argument {name!r}; expected {known}")
        _check_value(name, value, properties[name])


def _check_value(name: str, value: object, schema: Mapping[str, Any]) -> None:
    kind, noun = _TYPES[schema["type"]]
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise ToolError(f"expected the argument {name!r} to be {noun}")
    if isinstance(value, str) and "\0" in value:
        raise ToolError(f"the argument {name!r} holds a NUL character")
    least, most = schema.get("minimum"), schema.get("maximum")
    if isinstance(value, int) and (
        (least is not None and value < least) or (most is not None and value > most)
    ):
        raise ToolError(f"expected {name!r} from {least} to {most or 'any number'}, found {value}")
