"""Measures the rules that find statements of users: precision and recall on files of labelled messages.

    python -m bench.quality.statements tests/context_service/learning/held_out.txt

A found statement is right if it shares half of its longer words with a labelled one; recall counts labelled statements
in the same way. The first lines of the files describe their format.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from context_service.learning.model import Statement, Utterance
from context_service.learning.pure.statements import statements_of

SAID_AT = datetime(2026, 6, 15, tzinfo=UTC)

_LABEL = re.compile(r"\[(fact|preference|event|commitment)\|([^\]]*)\]")
_OF_ASSISTANT, _REPLY = "A> ", " <> "
_SAME = 0.5  # the share of the shorter text's long words that two texts with one statement have in common
_WORD = re.compile(r"[^\W_]{4,}|[^\x00-\u02ff\W]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Labelled:
    """A message with its labels."""

    line: str
    utterances: Sequence[Utterance]
    labels: Sequence[tuple[str, str]]  # kind and clause


@dataclass(slots=True, kw_only=True)
class Figures:
    """What the rules found in labelled messages."""

    found: int = 0
    right: int = 0
    of_kind: int = 0  # of the right ones, those with the labelled kind
    labels: int = 0
    labels_found: int = 0
    wrong: list[str] = field(default_factory=list)
    missed: list[str] = field(default_factory=list)

    @property
    def precision(self) -> float:
        """The share of found statements that are labelled."""
        return self.right / max(self.found, 1)

    @property
    def recall(self) -> float:
        """The share of labelled statements that are found."""
        return self.labels_found / max(self.labels, 1)


def labelled(path: Path) -> Iterator[Labelled]:
    """Yield the messages of a file."""
    for line in path.read_text("utf-8").splitlines():
        if line.startswith("#"):
            continue
        marked = line.partition(": ")[2].replace("\\n", "\n")
        text = _LABEL.sub(r"\2", marked)
        texts = [(True, text)]
        if text.startswith(_OF_ASSISTANT):
            of_assistant, _, reply = text.removeprefix(_OF_ASSISTANT).partition(_REPLY)
            texts = [(False, of_assistant), (True, reply)]
        yield Labelled(
            line=line,
            utterances=[
                Utterance(seq=seq, is_user=is_user, text=text, said_at=SAID_AT)
                for seq, (is_user, text) in enumerate(texts, 1)
            ],
            labels=_LABEL.findall(marked),
        )


def figures_of(messages: Iterator[Labelled]) -> Figures:
    """Return how well the rules find what messages are labelled with."""
    figures = Figures()
    for message in messages:
        found = statements_of(message.utterances)
        figures.found += len(found)
        figures.labels += len(message.labels)
        for statement in found:
            kinds = {kind for kind, clause in message.labels if is_same(clause, statement)}
            figures.right += bool(kinds)
            figures.of_kind += statement.kind.value in kinds
            if not kinds:
                figures.wrong.append(f"{statement.kind.value}: {statement.text}  <=  {message.line}")
        for kind, clause in message.labels:
            if any(is_same(clause, statement) for statement in found):
                figures.labels_found += 1
            else:
                figures.missed.append(f"{kind}: {clause}  <=  {message.line}")
    return figures


def is_same(clause: str, statement: Statement) -> bool:
    """Return whether a labelled clause and a statement have half of their longer words in common."""
    first, second = (set(_WORD.findall(text.casefold())) or {text} for text in (clause, statement.text))
    shared = len(first & second)
    return shared > 0 and shared >= _SAME * min(len(first), len(second))


def main() -> None:
    """Print the figures of each file, and what the rules found wrongly or missed."""
    for name in sys.argv[1:]:
        figures = figures_of(labelled(Path(name)))
        print(
            "\n".join([*(f"wrong  {line}" for line in figures.wrong), *(f"missed {line}" for line in figures.missed)])
        )
        print(
            f"{name}: precision {figures.precision:.3f} ({figures.right}/{figures.found}), "
            f"recall {figures.recall:.3f} ({figures.labels_found}/{figures.labels}), "
            f"kind {figures.of_kind}/{figures.right}"
        )


if __name__ == "__main__":
    main()
