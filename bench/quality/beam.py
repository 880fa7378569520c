"""BEAM (Tavakoli et al., 2025), read from a folder of the caller's: nothing of it is stored here.

Long conversations of a user with an assistant. A file `conversation-N.json` a conversation: `turns` (`id`, `role`,
`session`, `day`, `text`), and `questions` with their `text`, `kind` and `evidence`.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

from bench.quality.conversations import Asked, Conversation, Turn


def conversations(folder: Path) -> list[Conversation]:
    """Return the conversations of a folder, in the order of their numbers."""
    return [_conversation(path) for path in sorted(folder.glob("conversation-*.json"))]


def _conversation(path: Path) -> Conversation:
    """Return the conversation of a file. Turns follow each other by a second, since only their day is known."""
    document = json.loads(path.read_text("utf-8"))
    turns = [
        Turn(
            id=str(turn["id"]),
            text=turn["text"],
            session=turn["session"],
            said_at=datetime.fromisoformat(turn["day"]).replace(tzinfo=UTC) + timedelta(seconds=number),
            role=turn["role"],
        )
        for number, turn in enumerate(document["turns"])
    ]
    ids = {turn.id for turn in turns}
    asked = [
        Asked(text=question["text"], kind=question["kind"], evidence=frozenset(evidence))
        for question in document["questions"]
        if (evidence := ids.intersection(map(str, question["evidence"])))
    ]
    return Conversation(name=path.stem, turns=turns, asked=asked)
