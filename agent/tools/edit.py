"""The tool `edit`: replace one exact piece of text in a file, atomically."""

from __future__ import annotations

from agent.tools.base import Arguments, CallContext, Tool, ToolError, ToolResult
from agent.tools.files import replace_file
from agent.tools.paths import changeable

_SIZE_LIMIT = 16 << 20  # bytes of a file that is edited in memory


def _edit(arguments: Arguments, context: CallContext) -> ToolResult:
    shown = arguments["path"]
    path = changeable(context.workspace, shown)
    if not path.is_file():
        raise ToolError(f"{shown} is not a file")
    if path.stat().st_size > _SIZE_LIMIT:
        raise ToolError(f"{shown} is larger than {_SIZE_LIMIT} bytes; use bash to change it")
    # Bytes, so that line ends and whatever else the file holds stay as they are.
    content = path.read_bytes()
    old, new = arguments["old_text"].encode("utf-8"), arguments["new_text"].encode("utf-8")
    if not old:
        raise ToolError("old_text is empty; use write to create a file")
    found = content.count(old)
    if found != 1:
        how = "does not occur" if found == 0 else f"occurs {found} times"
        raise ToolError(f"old_text {how} in {shown}; expected exactly one place")
    replace_file(path, content.replace(old, new), context)
    return ToolResult("success", f"Edited {shown}.")


EDIT = Tool(
    name="edit",
    description="Replace one exact, unique piece of text in a file of the workspace.",
    parameters={
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "Path, relative to the workspace"},
            "old_text": {"type": "string", "description": "Text that occurs exactly once"},
            "new_text": {"type": "string", "description": "Text to put in its place"},
        },
        "required": ["path", "old_text", "new_text"],
        "additionalProperties": False,
    },
    run=_edit,
)
