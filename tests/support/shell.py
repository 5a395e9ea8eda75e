"""Commands and scripts as a person at a shell runs them: in processes of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
AGENTS = """
import sys
from autogen import ConversableAgent, GroupChat, GroupChatManager, UserProxyAgent

def scripted(name, line, **more):
    return ConversableAgent(name, default_auto_reply=line,
                            **({"llm_config": False, "human_input_mode": "NEVER"} | more))
"""
"""The head of a script: agents that always say the same."""


def command(*words, input="", **environment):
    """`autogen-persist WORDS`."""
    return python("-m", "autogen_persist.cli", *words, input=input, **environment)


def python(*words, input="", **environment):
    given = os.environ | {"PYTHONPATH": str(ROOT)} | environment
    line = [sys.executable, *map(str, words)]
    return subprocess.run(
        line, env=given, input=input, capture_output=True, text=True, check=False, timeout=120
    )


def script(text, name="team.py"):
    """A file of this name in the working directory, with agents to use in it."""
    Path(name).write_text(AGENTS + text)
    return name
