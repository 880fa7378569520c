"""Statements of the state that a model found in steps, and the checks that decide which of them are kept.

The model does not write statements of its own: it names a sentence of a source, word for word. The sentence is kept if
its author may make such a statement. So a model can find rules and values in any language, and cannot invent any,
because an invented sentence is in no source.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from context_service.packing.pure.state.task_state import Entry, key_of, per_cent_in, sentences
from context_service.windows.pure.refs import parse_ref

if TYPE_CHECKING:
    from context_service.folding.pure.model_segments import StepText

FOUND_MAX = 12  # the most statements from the steps of one segment
_CHARS_MIN = 8
# The roles that may make statements of each section.
_ROLES = {
    "constraint": ("user", "system"),
    "value": ("user", "system"),
    "decision": ("user", "assistant"),
    "question": ("user", "assistant"),
    "progress": ("user", "assistant"),
}
_ASKS = ("?", "\uff1f", "\u061f")  # also full-width, and Arabic
_THING = re.compile(r"\w+(?:[./:@-]\w+)*")
_DIGITS = re.compile(r"\d")


def extracted(value: object, sources: Sequence[StepText]) -> tuple[list[Entry], int]:
    """Return the statements that are kept as entries, and the number of those that are refused.

    Args:
        value: The value that the model returned for the state; a list, if the model followed its instructions.
        sources: The texts that the model was given.
    """
    if not isinstance(value, list):
        return [], 0
    texts = {source.ref: source for source in sources}
    entries = [entry for statement in value[:FOUND_MAX] if (entry := _entry(statement, texts))]
    return list(dict.fromkeys(entries)), len(value) - len(entries)


def not_known(entries: Sequence[Entry], current: Sequence[Entry]) -> list[Entry]:
    """Return the found entries, except those with the section and the ref or the text of a known entry."""
    places = {(item.section, item.ref) for item in current} | {(item.section, item.text) for item in current}
    return [result for result in entries if not {(result.section, result.ref), (result.section, result.text)} & places]


def _entry(fields: Any, sources: dict[str, StepText]) -> Entry | None:
    """Return the entry for one statement of a model; None if it is refused.

    A statement must name a section, and copy a whole sentence from a source whose author may make such a statement. A
    value must be in the sentence; a question must end with a question mark.
    """
    names = ("section", "text", "ref")
    if not isinstance(fields, dict) or not all(isinstance(fields.get(name), str) for name in names):
        return None
    section, text, source = fields["section"], fields["text"].strip(), sources.get(fields["ref"])
    ref = parse_ref(fields["ref"])
    if source is None or ref is None or source.role not in _ROLES.get(section, ()) or len(text) < _CHARS_MIN:
        return None
    if section == "constraint" and not source.may_rule:
        return None
    if text not in {
        sentence.text for sentence in sentences(source.text)
    }:  # a whole sentence of the speaker, word for word
        return None
    key = value = ""
    if section == "value":
        key, value = _set_in(text, fields.get("key"), fields.get("value"))
        if not value:
            return None
    elif section == "progress":
        value = per_cent_in(text)
    if (section == "progress" and not value) or (section == "question" and not text.endswith(_ASKS)):
        return None
    return Entry(section=section, key=key, text=text, value=value, ref=source.ref, seq=ref.seq, speaker=source.role)


def _set_in(text: str, name: object, value: object) -> tuple[str, str]:
    """Return the key and the value that a sentence sets; both are empty if that is not certain.

    It is certain if the sentence has all words of the name, and the value is the only thing with digits in it.
    """
    if not isinstance(name, str) or not isinstance(value, str) or not (key := key_of(name)):
        return "", ""
    words = key_of(text)
    if not all(re.search(rf"(?<!\w){re.escape(word)}(?!\w)", words) for word in key.split()):
        return "", ""
    things = [thing for thing in _THING.findall(text) if _DIGITS.search(thing)]
    return (key, value) if things == [value] else ("", "")
