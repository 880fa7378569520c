"""Speakers that a vendor's format has no field or place for: names, and system messages between other turns.

OpenAI's Chat Completions has a `name` in each message. The other formats have none, so a name becomes the beginning of
the text. Anthropic and Gemini have one place for system prompts, before all messages. A system message that comes later
is a text of the user there, marked as what it is. Only the newest Claude models accept the role `system` between
messages (https://platform.claude.com/docs/en/about-claude/models/whats-new-claude-4-8), and a body has to suit all.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from context_service.kernel.parts import Part
from context_service.kernel.rendering.formats import Format
from context_service.kernel.rendering.turns import NAME_CHARS_MAX, Turn

SYSTEM = "[system]"  # stands before the text of a system message that is sent as the user's
_WITH_NAMES = frozenset({Format.OPENAI})
_SYSTEM_FIRST = frozenset({Format.ANTHROPIC, Format.GEMINI})


def in_place(turn: Turn, to: Format) -> Turn:
    """Return a turn that stands after others: a system message becomes the user's if the vendor has no place for it."""
    if turn.role == "system" and to in _SYSTEM_FIRST:
        return Turn("user", turn.name, [Part(text=SYSTEM), *turn.parts])
    return turn


def roles_shared(turns: Sequence[Turn]) -> frozenset[str]:
    """Return the roles of several speakers: those whose turns do not all have the same name."""
    if not any(turn.name for turn in turns):
        return frozenset()
    names = defaultdict(set)
    for role, name in {(turn.role, turn.name) for turn in turns}:
        names[role].add(plain_speaker(name))
    return frozenset(role for role, of_role in names.items() if len(of_role) > 1)


def with_speaker(turn: Turn, to: Format) -> Turn:
    """Return a turn whose text begins with its speaker's name, if it has one and the vendor has no field for it."""
    name = plain_speaker(turn.name)
    is_blank = all(part.text is not None and not part.text.strip() for part in turn.said())
    if not name or to in _WITH_NAMES or (is_blank and not turn.calls):
        return turn
    parts = list(turn.parts)
    at = next((index for index, part in enumerate(parts) if part.reasoning is None), len(parts))
    text = parts[at].text if at < len(parts) else None
    if text is not None and text.strip():
        parts[at] = replace(parts[at], text=f"{name}: {text}")
    else:
        parts.insert(at, Part(text=f"{name}:"))
    return Turn(turn.role, turn.name, parts, turn.calls)


def plain_speaker(name: str) -> str:
    """Return a name on one line, shortened: it must not look like a text of its own."""
    return " ".join(name.split())[:NAME_CHARS_MAX]
