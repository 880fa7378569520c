"""Extensions of windows that an operator installs in place of built-in parts: their inputs and checks of their answers.

Their answers must obey the same rules as the built-in parts: only users and system prompts make rules, a statement
must be a quotation from its message, and a summary must pass every check. `kernel.extensions` says how extensions are
installed, and what happens if they fail.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from context_service.contexts.model import Message
from context_service.folding.pure.folds import FoldableBlock
from context_service.folding.pure.model_segments import NotUsed, StepText
from context_service.folding.pure.summaries import Scored, Summary
from context_service.kernel.extensions import Awaited, Unusable, installed
from context_service.kernel.llm.texts import Chat, ChatFailed
from context_service.packing.pure.state.task_state import SENTENCE_CHARS_MAX, Entry, key_of
from context_service.packing.pure.texts.units import Unit, said_in
from context_service.windows.pure.refs import ref_of

# The names that packages with extensions import.
__all__ = ["Decided", "ExtractedStatement", "ExtractorText", "Line", "Packed", "StepText"]

_FOUND_MAX = 200  # statements of a message
_SCORER_S = _EXTRACTOR_S = 1.0
_VALIDATOR_S = 5.0
_MIDDLEWARE_S = 0.5
_DECIDED_CHARS_MAX, _ANNOTATIONS_MAX = 2_000, 50
_SECTIONS = ("goal", "constraint", "value", "decision", "question", "error", "resolution", "answer", "progress")
_OF_USERS = ("goal", "constraint")  # sections that only users may state


class Line(NamedTuple):
    """A line that a fold chooses from, as an installed scorer gets it."""

    text: str
    kind: str  # the kind of the line, as the compression profile names it
    weight: float  # the weight of this kind, 0 to 1
    step: int
    last_step: int  # the number of the window's last step
    is_error: bool  # a tool call of the line's step failed


class ExtractorText(NamedTuple):
    """A text of a message, as an installed extractor gets it."""

    role: str
    text: str
    is_error: bool


class ExtractedStatement(NamedTuple):
    """An entry of the state, as an installed extractor returns it."""

    section: str
    text: str  # a quotation from the message, word for word
    key: str = ""
    value: str = ""


class Packed(NamedTuple):
    """A pack before it is answered, as installed middleware gets it."""

    model: str
    goal: str
    messages_json: str
    tokens: int
    step_count: int
    last_seq: int


class Decided(NamedTuple):
    """The decision of installed middleware about a pack."""

    veto: str = ""  # the reason if the pack is refused
    annotations: Mapping[str, str] = {}
    note: str = ""  # to append after the last step


class Scoring:
    """Lets an installed scorer rate the lines that a fold (a compaction of a window) chooses from, all in one call.

    Args:
        scorer: Returns for a list of `Line` a list of numbers from 0 to 1.
    """

    def __init__(self, scorer: Awaited) -> None:
        self._scorer = scorer

    async def worth(self, blocks: Sequence[FoldableBlock], summaries: Sequence[Summary]) -> Mapping[Unit, float]:
        """Return the scorer's ratings of all lines of blocks and summaries; empty if its answer is unusable."""
        scored = [
            Scored(unit=unit, step=block.step, is_error=block.is_error) for block in blocks for unit in block.units
        ]
        scored += [item for summary in summaries for item in summary.kept]
        last = blocks[-1].step if blocks else 0
        lines = [
            Line(line.unit.text, line.unit.kind, line.unit.weight, line.step, last, line.is_error) for line in scored
        ]

        def check(answer: Any) -> Mapping[Unit, float]:
            worth = [float(value) for value in answer]
            if len(worth) != len(lines) or not all(math.isfinite(value) and 0 <= value <= 1 for value in worth):
                raise ValueError("it must be a list of one number from 0 to 1 for each line")
            return {item.unit: value for item, value in zip(scored, worth, strict=True)}

        with suppress(Unusable):
            return await self._scorer(check, lines)
        return {}


class Extracting:
    """Lets an installed extractor read the state from messages, instead of the built-in rules.

    Args:
        extractor: Returns for a list of `ExtractorText` a list of lists of `ExtractedStatement`.
    """

    def __init__(self, extractor: Awaited) -> None:
        self._extractor = extractor

    async def entries(self, messages: Sequence[Message]) -> Mapping[int, Sequence[Entry]] | None:
        """Return the entries that messages make, by the messages' `seq`; None if the built-in rules must read them."""
        spoken_texts = [
            (message.seq, spoken_text)
            for message in messages
            for spoken_text in said_in(message)
            if not spoken_text.is_data
        ]
        texts = [ExtractorText(spoken.role, spoken.text, spoken.is_error) for _, spoken in spoken_texts]

        def check(answer: Any) -> Mapping[int, Sequence[Entry]]:
            by_seq: dict[int, list[Entry]] = {}
            for (seq, item), several in zip(spoken_texts, answer, strict=True):
                entries = [_entry(entry, item.role, item.text, ref_of(seq, item.part), seq) for entry in several]
                by_seq.setdefault(seq, []).extend([entry for entry in entries if entry][:_FOUND_MAX])
            return by_seq

        with suppress(Unusable):
            return await self._extractor(check, texts)
        return None


class Validating:
    """Lets an installed validator check the summaries of a model, after the built-in checks.

    Args:
        validator: Returns for a text and its sources why the text is refused; empty if it is accepted.
    """

    def __init__(self, validator: Awaited) -> None:
        self._validator = validator

    async def check(self, text: str, sources: Sequence[StepText]) -> None:
        """Check a summary of a model with the validator. If it is refused, the fold keeps the quoted lines instead.

        Raises:
            NotUsed: the validator refuses the summary, or gives no usable answer.
        """

        def checked_fields(answer: Any) -> str:
            if not isinstance(answer, str):
                raise TypeError("it must be a text")
            return answer

        try:
            why = await self._validator(checked_fields, text, list(sources))
        except Unusable as error:
            raise NotUsed("validator", str(error)) from error
        if why:
            raise NotUsed("validator", why)


class PluggedChat:
    """Lets an installed summarizer write segments; if it fails, the model writes them, if there is one.

    Args:
        summarizer: Returns for instructions and a prompt the JSON that a model would answer.
        otherwise: The model to use if the summarizer fails.
    """

    def __init__(self, summarizer: Awaited, otherwise: Chat | None) -> None:
        self._summarizer = summarizer
        self._otherwise = otherwise

    @property
    def models(self) -> Sequence[str]:
        """The names of the models that can be chosen; one empty name if there is only the summarizer."""
        return self._otherwise.models if self._otherwise else ("",)

    async def text(self, *, system: str, user: str, tokens_max: int, model: str = "") -> str:
        """Return the text that the summarizer writes, or the model if the summarizer fails; see `Chat`.

        Raises:
            ChatFailed: the summarizer failed, and there is no model; or the model failed.
        """

        def check(answer: Any) -> str:
            if not isinstance(answer, str) or not answer.strip():
                raise TypeError("it must be a text that is not blank")
            return answer

        try:
            return await self._summarizer(check, system, user)
        except Unusable as error:
            if self._otherwise is None:
                raise ChatFailed(str(error)) from error
            return await self._otherwise.text(system=system, user=user, tokens_max=tokens_max, model=model)


class Middleware:
    """Lets installed middleware decide about packs.

    Args:
        decide: The middleware: returns a `Decided` for a `Packed`.
    """

    def __init__(self, decide: Awaited) -> None:
        self._decide = decide

    async def decided(self, pack: Packed) -> Decided:
        """Return the decision about a pack. If the answer of the middleware is unusable, the pack is left as it is."""

        def check(answer: Any) -> Decided:
            veto, annotations, note = answer
            texts = [veto, note, *annotations, *annotations.values()]
            if not all(isinstance(text, str) and len(text) <= _DECIDED_CHARS_MAX for text in texts):
                raise TypeError(f"it must have only texts of at most {_DECIDED_CHARS_MAX:,} characters")
            if len(annotations) > _ANNOTATIONS_MAX:
                raise ValueError(f"it must have at most {_ANNOTATIONS_MAX} annotations (got {len(annotations)})")
            return Decided(_plain(veto), {_plain(key): _plain(item) for key, item in annotations.items()}, _plain(note))

        with suppress(Unusable):
            return await self._decide(check, pack)
        return Decided()


def middleware() -> Middleware | None:
    """Return the installed middleware, or None if there is none."""
    own = installed("context_middleware")
    return Middleware(Awaited("context_middleware", own, call_s=_MIDDLEWARE_S)) if own else None


def scoring() -> Scoring | None:
    """Return the installed scorer of lines, or None if there is none."""
    own = installed("importance_scorer")
    return Scoring(Awaited("importance_scorer", own, call_s=_SCORER_S)) if own else None


def extracting() -> Extracting | None:
    """Return the installed extractor of the state, or None if there is none."""
    own = installed("state_extractor")
    return Extracting(Awaited("state_extractor", own, call_s=_EXTRACTOR_S)) if own else None


def validating() -> Validating | None:
    """Return the installed validator of summaries, or None if there is none."""
    own = installed("summarization_validator")
    return Validating(Awaited("summarization_validator", own, call_s=_VALIDATOR_S)) if own else None


def summarizer(otherwise: Chat | None, *, call_s: float) -> Chat | None:
    """Return the writer of segments (the newer summaries): the installed summarizer, else the model, else None.

    Args:
        otherwise: The model, or None if no model is configured.
        call_s: The time limit of a call of the summarizer, in seconds.
    """
    own = installed("summarizer")
    return PluggedChat(Awaited("summarizer", own, call_s=call_s), otherwise) if own else otherwise


def _plain(text: str) -> str:
    """Return a text without NUL characters and lone surrogates, which Postgres refuses."""
    return text.replace("\0", "").encode(errors="replace").decode().strip()


def _entry(statement: Any, role: str, text: str, ref: str, seq: int) -> Entry | None:
    """Return a statement of an extractor as an entry of the state, or None if it is not valid.

    It is not valid if its speaker may not state it, if it is too long, or if it is not a quotation from the text.
    """
    section, entry_text, key, value = statement
    if not all(isinstance(member, str) for member in (section, entry_text, key, value)) or section not in _SECTIONS:
        return None
    if section in _OF_USERS and role not in ("user", "system"):
        return None
    if not entry_text.strip() or len(entry_text) > SENTENCE_CHARS_MAX or entry_text not in text or value not in text:
        return None
    key = key_of(key) if section == "value" else ""
    if section == "value" and not (key and value):
        return None
    return Entry(section=section, key=key, text=entry_text, value=value, ref=ref, seq=seq)
