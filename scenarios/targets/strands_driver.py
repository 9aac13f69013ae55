"""A strands agent with one tool and a session in files, for targets/strands.toml."""

import subprocess
import sys

from strands import Agent, tool
from strands.models.openai import OpenAIModel
from strands.session.file_session_manager import FileSessionManager


@tool
def bash(command: str) -> str:
    """Run a shell command and return its output."""
    done = subprocess.run(["/bin/sh", "-c", command], capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


session = FileSessionManager(session_id="killpoint", storage_dir="sessions")
model = OpenAIModel(model_id="mock")  # address and key come from the environment
agent = Agent(model=model, tools=[bash], session_manager=session, agent_id="main")
agent(sys.argv[1])  # it prints the answer itself
