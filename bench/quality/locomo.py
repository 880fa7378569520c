"""LoCoMo (Maharana et al., ACL 2024; CC BY-NC 4.0), read from a folder of the caller's: nothing of it is stored here.

A file `conversation-N.json` a conversation: `sessions` with their `date` and `turns` (`id`, `speaker`, `text`,
`caption`), and `questions` with their `kind` and `evidence`.
"""

from __future__ import annotations

import calendar
import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

from bench.quality.conversations import Asked, Conversation, Turn

_DATE = re.compile(r"(\d+):(\d+) (am|pm) on (\d+) (\w+), (\d+)")
_MONTHS = list(calendar.month_name)


def conversations(folder: Path) -> list[Conversation]:
    """Return the conversations of a folder, in the order of their numbers."""
    return [_conversation(path) for path in sorted(folder.glob("conversation-*.json"))]


def _conversation(path: Path) -> Conversation:
    """Return the conversation of a file. Turns follow each other by a second, as sessions only have a date."""
    said = json.loads(path.read_text("utf-8"))
    turns = []
    for session in said["sessions"]:
        found = _DATE.fullmatch(session["date"])
        assert found, session["date"]
        hour, minute, half, day, month, year = found.groups()
        begins = datetime(int(year), _MONTHS.index(month), int(day), int(hour) % 12 + 12 * (half == "pm"), int(minute))
        for number, turn in enumerate(session["turns"]):
            caption = f" [{turn['caption']}]" if turn.get("caption") else ""
            turns.append(
                Turn(
                    id=turn["id"],
                    text=turn["text"] + caption,
                    session=session["session"],
                    said_at=begins.replace(tzinfo=UTC) + timedelta(seconds=number),
                    author=turn["speaker"],
                )
            )
    there = {turn.id for turn in turns}
    asked = [
        Asked(text=item["question"], kind=item["kind"], evidence=frozenset(evidence))
        for item in said["questions"]
        if (evidence := there.intersection(item["evidence"]))
    ]
    return Conversation(name=path.stem, turns=turns, asked=asked)
