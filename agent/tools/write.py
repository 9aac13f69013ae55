"""The tool `write`: give a file its whole content, atomically."""

from __future__ import annotations

from agent.tools.base import Arguments, CallContext, Tool, ToolResult
from agent.tools.files import replace_file
from agent.tools.paths import changeable


def _write(arguments: Arguments, context: CallContext) -> ToolResult:
    path = changeable(context.workspace, arguments["path"])
    content = arguments["content"].encode("utf-8")
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_file(path, content, context)
    return ToolResult("success", f"Wrote {len(content)} bytes to {arguments['path']}.")


WRITE = Tool(
    name="write",
    description="Create or overwrite a file of the workspace with the given content.",
    parameters={
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "Path, relative to the workspace"},
            "content": {"type": "string", "description": "The whole new content"},
        },
        "required": ["path", "content"],
        "additionalProperties": False,
    },
    run=_write,
)
