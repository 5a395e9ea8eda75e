"""The README is true: its code runs, in the order in which one reads it."""

from __future__ import annotations

import re
from pathlib import Path

README = (Path(__file__).parent.parent / "README.md").read_text()


def test_the_code_in_the_readme_runs_and_prints_what_it_says(capsys):
    """Every Python block runs in one session, and a comment after print() is its output."""
    names: dict[str, object] = {}
    for block in re.findall(r"```python\n(.*?)```", README, re.DOTALL):
        exec(compile(block, "README.md", "exec"), names)
        printed = capsys.readouterr().out
        for expected in re.findall(r"print\(.*\)\s+# (.+)$", block, re.MULTILINE):
            assert expected in printed


def test_what_you_see_is_what_the_first_block_prints(capsys):
    """The text after the ten lines is what they print."""
    block = re.findall(r"```python\n(.*?)```", README, re.DOTALL)[0]
    (quoted,) = re.findall(r"What you see.*?```text\n(.*?)```", README, re.DOTALL)
    exec(compile(block, "README.md", "exec"), {})

    assert quoted in capsys.readouterr().out
