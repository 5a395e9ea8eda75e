"""The questions: LoCoMo as its authors publish it, or already taken apart.

Taken apart: {"conversations": [{"id", "turns": [{"id", "speaker", "at", "text"}],
"questions": [{"question", "category", "evidence": [turn ids]}]}]}.
"""

from __future__ import annotations

import json
import re
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

ADVERSARIAL = 5
"""The category of questions about the wrong person: reported apart."""
HOW_TO_GET = """\
This needs the data set LoCoMo (CC BY-NC 4.0, so it does not come with the project):

    curl -LO https://raw.githubusercontent.com/snap-research/locomo/main/data/locomo10.json
    make bench-recall DATA=locomo10.json
"""


def load(path: Path) -> list[dict[str, Any]]:
    found = json.loads(path.read_text(encoding="utf-8"))
    return found["conversations"] if isinstance(found, dict) else [_apart(each) for each in found]


def _apart(sample: dict[str, Any]) -> dict[str, Any]:
    turns = list(_turns(sample["conversation"]))
    known = {turn["id"] for turn in turns}
    questions = [
        {"question": q["question"], "category": q["category"], "evidence": evidence}
        for q in sample["qa"]
        if (evidence := [each for each in q.get("evidence", ()) if each in known])
    ]
    return {"id": sample["sample_id"], "turns": turns, "questions": questions}


def _turns(conversation: dict[str, Any]) -> Any:
    numbers = (re.fullmatch(r"session_(\d+)", key) for key in conversation)
    for number in sorted(int(match[1]) for match in numbers if match):
        begin = datetime.strptime(
            conversation[f"session_{number}_date_time"], "%I:%M %p on %d %B, %Y"
        )
        for n, turn in enumerate(conversation[f"session_{number}"]):
            at = (begin + timedelta(seconds=n)).isoformat()
            yield {"id": turn["dia_id"], "speaker": turn["speaker"], "at": at, "text": turn["text"]}
