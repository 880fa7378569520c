"""Whether the text about a user has the evidence of later questions.

`python -m bench.quality.user_context --locomo FOLDER --beam FOLDER` (`make bench-user-context`). Each session of a
conversation is a context. The memories are those that rules learn from it. A question counts by the share of its
evidence that the text quotes (messages); `words` is the share of the words of the evidence that the quotations have.
Both are compared with the newest messages of the same size. Nothing runs but the rules, in memory.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from statistics import mean
from typing import NamedTuple
from uuid import UUID, uuid5

from bench.quality.beam import conversations as beam_of
from bench.quality.conversations import Conversation, Turn
from bench.quality.locomo import conversations as locomo_of
from context_service.kernel.tokens import TokenCounter
from context_service.learning.model import StatementKind, Utterance
from context_service.learning.pure.statements import statements_of
from context_service.memories.model import Memory, MemoryKind, MemorySource, MemoryState
from context_service.packing.pure.texts.quotation import speaker_of
from context_service.retrieval.pure.terms import terms_of
from context_service.summaries import model
from context_service.summaries.pure.user_context import user_context

SIZES = (1_000, 2_000)
TARGET = 2.0  # times the share of the newest messages
_TENANT = UUID(int=0)

Quoted = Mapping[str, frozenset[str]]  # by the id of a turn, the words of its quotations


class Share(NamedTuple):
    """The mean share of the evidence of a question."""

    messages: float
    words: float


def main() -> int:
    """Measure, print; return 1 if a target is missed."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--locomo", type=Path)
    arguments.add_argument("--beam", type=Path)
    folders = arguments.parse_args()
    corpora = {
        "LoCoMo": locomo_of(folders.locomo) if folders.locomo else [],
        "BEAM": beam_of(folders.beam) if folders.beam else [],
    }
    count, is_missed = TokenCounter().count, False
    print("| | tokens | messages | newest messages | words | newest, words |\n| --- | --- | --- | --- | --- | --- |")
    for name, conversations in corpora.items():
        for size in SIZES if conversations else ():
            ours = _mean(share(talk, quoted_by_service(talk, size, count)) for talk in conversations)
            newest = _mean(share(talk, quoted_by_newest(talk, size, count)) for talk in conversations)
            is_missed = is_missed or ours.messages < TARGET * newest.messages
            print(
                f"| {name} | {size:,} | {ours.messages:.3f} | {newest.messages:.3f} | {ours.words:.3f} "
                f"| {newest.words:.3f} |"
            )
    return int(is_missed)


def share(conversation: Conversation, quoted: Quoted) -> Share:
    """Return the share of the evidence of the questions that quotations hold."""
    turns = {turn.id: turn for turn in conversation.turns}

    def words(evidence: str) -> float:
        terms = frozenset(terms_of(turns[evidence].text))
        return len(terms & quoted.get(evidence, frozenset())) / max(len(terms), 1)

    return Share(
        messages=mean(mean(turn_id in quoted for turn_id in asked.evidence) for asked in conversation.asked),
        words=mean(mean(words(turn_id) for turn_id in asked.evidence) for asked in conversation.asked),
    )


def quoted_by_newest(conversation: Conversation, tokens_max: int, count: Callable[[str], int]) -> Quoted:
    """Return the newest messages that fit."""
    quoted: dict[str, frozenset[str]] = {}
    for turn in reversed(conversation.turns):
        tokens_max -= count(f"{turn.author or turn.role}: {turn.text}") + 1
        if tokens_max < 0:
            break
        quoted[turn.id] = frozenset(terms_of(turn.text))
    return quoted


def quoted_by_service(conversation: Conversation, tokens_max: int, count: Callable[[str], int]) -> Quoted:
    """Return the messages that the user's context quotes."""
    contexts: dict[UUID, list[Turn]] = {}
    for turn in conversation.turns:
        contexts.setdefault(uuid5(_TENANT, f"{conversation.name} {turn.session}"), []).append(turn)
    known = user_context(
        [memory for context_id, turns in contexts.items() for memory in _learned(context_id, turns)],
        [
            model.Conversation(context_id=context_id, title="", updated_at=turns[-1].said_at, message_count=len(turns))
            for context_id, turns in contexts.items()
        ],
        [
            model.UserMessage(
                context_id=context_id,
                seq=seq,
                speaker=speaker_of("user", turn.author),
                text=turn.text,
                said_at=turn.said_at,
            )
            for context_id, turns in contexts.items()
            for seq, turn in enumerate(turns, 1)
            if turn.role == "user"
        ],
        tokens_max=tokens_max,
        count=count,
    )
    quoted: dict[str, frozenset[str]] = {}
    for line in known.lines:
        if line.message_ref:
            turn = contexts[UUID(line.context_id)][int(line.message_ref[1:]) - 1]
            quoted[turn.id] = quoted.get(turn.id, frozenset()) | frozenset(terms_of(line.text))
    return quoted


def _learned(context_id: UUID, turns: Sequence[Turn]) -> list[Memory]:
    """Return the memories that rules learn from a context. Here, no memory ends another."""
    speaker = next((turn.author for turn in turns if turn.role == "user"), "")
    utterances = [
        Utterance(seq=seq, is_user=turn.role == "user", text=turn.text, said_at=turn.said_at)
        for seq, turn in enumerate(turns, 1)
        if turn.role != "user" or turn.author == speaker
    ]
    return [
        Memory(
            memory_id=uuid5(context_id, f"{statement.seq} {statement.text}"),
            seq=statement.seq,
            text=statement.text,
            kind=MemoryKind(StatementKind(statement.kind).value),
            confidence=1.0,
            sources=[MemorySource(context_id=str(context_id), ref=f"m{statement.seq}")],
            happened_at=statement.said_at,
            key="",
            experience=None,
            state=MemoryState.INDEXED,
            superseded_by=None,
            contradicts=(),
            version=1,
            owner_user_id="",
            app_id="",
            agent_bundle_id="",
            created_by="",
            created_at=statement.said_at,
            updated_at=statement.said_at,
            subject="",
            placed_at=statement.said_at,
            valid_from=statement.said_at,
            valid_to=None,
            ends_at=None,
            expires_at=None,
            metadata_json="{}",
            tags=(),
            is_learned=True,
        )
        for statement in statements_of(utterances)
    ]


def _mean(shares: Iterable[Share]) -> Share:
    listed = list(shares)
    return Share(mean(share.messages for share in listed), mean(share.words for share in listed))


if __name__ == "__main__":
    sys.exit(main())
