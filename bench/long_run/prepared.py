"""A workload as windows read it: steps, rendered and counted once, and an index of the messages."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import NamedTuple

import orjson

from bench.long_run.workload import Workload
from context_service.contexts.model import Message, MessageInput
from context_service.contexts.pure.passages import passages_of
from context_service.kernel.parts import Part
from context_service.kernel.rendering import Format, Result, Turn, pieces
from context_service.kernel.rendering.bodies import Rendered
from context_service.packing.pure.steps.blocks import Block, block_of
from context_service.packing.pure.steps.catch_up import PreparedStep, caught_up
from context_service.packing.pure.steps.step import Step as LogStep
from context_service.packing.pure.steps.step import cut
from context_service.packing.pure.texts.quotation import speaker_of
from context_service.profiles.pure.lookups import Learned, applied
from context_service.profiles.pure.profiles import Profile, profile
from context_service.retrieval.profiles import profile as recall_profile
from context_service.retrieval.pure.analyzed_query import AnalyzedQuery
from context_service.retrieval.pure.budget import Item, quoted_lines, within_budget
from context_service.retrieval.pure.ranking import ranked
from context_service.retrieval.pure.rows import ASKED_TERMS_MAX, Matching, Row, Totals
from context_service.retrieval.store.passages import COMMON_SHARE, FOUND_MAX, READ_WHOLE

FORMAT = Format.OPENAI
CLEARED = "[This result was cleared.]"
SESSION_S = 4 * 3600  # a pause that begins another session, as in the service
_ITEMS_MAX = 100  # of recalled passages; the token limit matters more
_QUOTING_TOKENS = 16  # around a passage that is recalled
_AT_ONCE = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A step of the log.

    Attributes:
        number: Number of the step in the log, from 1.
        whole: The step as the log has it, from which a window cuts what does not fit.
        cleared: The step's block, with tool results replaced by a placeholder.
        said: Text of the step, without tool calls and results.
    """

    number: int
    made: PreparedStep
    whole: LogStep
    cleared: Block
    said: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A workload with everything that all strategies need, worked out once."""

    workload: Workload
    profile: Profile
    head: Block
    steps: Sequence[Step]
    index: Index

    @property
    def tokens(self) -> int:
        """Number of tokens of the whole log."""
        return sum(step.made.block.tokens for step in self.steps)


class Passage(NamedTuple):
    """A piece of text of a message; `head` says who said it and when, as the service does above a recalled passage."""

    seq: int
    ref: str
    text: str
    tokens: int
    head: str

    @property
    def quoted(self) -> str:
        """The passage as the service shows it in a pack."""
        return f"{self.head}\n{quoted_lines(self.text)}"


def prepared(
    workload: Workload,
    count: Callable[[str], int],
    progress: Callable[[float], None],
    *,
    learned: Learned | None = None,
) -> Prepared:
    """Return a workload with its steps and its index.

    Args:
        workload: The log, and the questions about it.
        count: Returns the number of tokens of a text.
        progress: Called with the share that is done.
        learned: Changes of the workload's profile that were learned, or None.
    """
    rules = profile(workload.profile)
    rules = applied(rules, learned) if learned else rules
    messages, steps = workload.messages, list[Step]()
    start, speakers = 0, tuple[str, ...]()
    while start < len(messages):
        some = messages[start : start + _AT_ONCE]
        is_end = start + len(some) == len(messages)
        done = caught_up(
            some,
            to=FORMAT,
            profile=rules,
            count=count,
            is_end=is_end,
            last_seq=messages[-1].seq,
            speakers=speakers,
        )
        for made, step in zip(done.steps, cut(some, is_end=is_end).closed, strict=True):
            calls = [replace(call, result=Result(CLEARED, False)) for call in step.turn.calls]
            turn = Turn(step.turn.role, step.turn.name, step.turn.parts, calls)
            said = " ".join(part.text for part in step.turn.parts if part.text)
            steps.append(
                Step(
                    number=len(steps) + 1,
                    made=made,
                    whole=step,
                    cleared=block_of(replace(step, turn=turn), FORMAT, count),
                    said=said,
                )
            )
        start, speakers = done.reached_seq, done.speakers
        progress(0.5 * start / len(messages))
    index = Index(count)
    for message in messages:
        index.add(message)
        progress(0.5 + 0.5 * message.seq / len(messages))
    goal = f"\n\n# Goal\n\n{workload.goal}" if workload.goal else ""
    head = Turn("system", parts=[Part(text=f"{workload.system_prompt}{goal}")])
    rendered = tuple(map(Rendered.of, pieces(head, FORMAT)))
    return Prepared(
        workload=workload,
        profile=rules,
        head=Block(seq_from=0, seq_to=0, tokens=sum(count(item.json) for item in rendered), pieces=rendered),
        steps=steps,
        index=index,
    )


def text_of(block: Block) -> str:
    """Return the text of a block, as a model reads it."""
    return "\n".join(text for piece in block.pieces for text in strings(orjson.loads(piece.json)))


def strings(value: object) -> Iterator[str]:
    """Yield the texts in a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for entry in value.values():
            yield from strings(entry)
    elif isinstance(value, list):
        for item in value:
            yield from strings(item)


class Index:
    """Passages of a log as the service cuts and ranks them, by words; it answers as of any message.

    Args:
        count: Returns the number of tokens of a text.
    """

    def __init__(self, count: Callable[[str], int]) -> None:
        self.passages: list[Passage] = []
        self._count = count
        self._rows: list[Row] = []
        self._terms: list[Sequence[str]] = []
        self._seqs: list[int] = []
        self._with: dict[str, list[int]] = defaultdict(list)
        self._lengths: list[tuple[int, int, int, int]] = []  # of each: terms, those before, those after, sessions
        self._by_place: dict[tuple[int, int], int] = {}
        self._session, self._place, self._length_before = 0, 0, 0
        self._last_at = 0.0
        self._sums: list[tuple[int, ...]] = []

    def add(self, message: Message) -> None:
        """Add the next message."""
        at = message.said_at.timestamp()
        is_new_session = not self._rows or at - self._last_at > SESSION_S
        self._last_at = at
        if is_new_session:
            self._session, self._place, self._length_before = message.seq, 0, 0
        said = MessageInput(
            message_id=message.message_id, role=message.role, content=message.content, parts=message.parts
        )
        for ordinal, found in enumerate(passages_of(said, count=self._count)):
            number, length = len(self._rows), len(found.terms)
            before = self._length_before if found.is_said else 0
            ref = f"m{message.seq}.{ordinal}"
            head = f"[{ref}] {speaker_of(message.role, message.name)}, {message.said_at:%Y-%m-%d %H:%M}"
            self.passages.append(Passage(message.seq, ref, found.text, self._count(found.text) + _QUOTING_TOKENS, head))
            self._seqs.append(message.seq)
            self._terms.append(found.terms)
            for term in set(found.terms):
                self._with[term].append(number)
            self._rows.append(
                Row(
                    seq=number,
                    ordinal=0,
                    session=self._session,
                    place=self._place if found.is_said else None,
                    length=length,
                    length_before=before,
                    session_length=length,
                    session_places=self._place + 1,
                    marks=found.marks,
                    kind=found.kind,
                    role=message.role,
                    author="",
                    task_id=None,
                    said_at=message.said_at,
                    found=(),
                )
            )
            self._lengths.append((length, before, length if found.is_said and self._place else 0, int(is_new_session)))
            is_new_session = False
            if found.is_said:
                self._by_place[self._session, self._place] = number
                self._place, self._length_before = self._place + 1, length

    def recalled(
        self,
        text: str,
        *,
        tokens_max: int,
        seq_to: int,
        known_from: int = 2**62,
        known_refs: Collection[str] = (),
    ) -> list[Passage]:
        """Return the passages of the log that matter to a text, the best first.

        Args:
            text: The text that passages are searched for.
            tokens_max: Most tokens of all passages together.
            seq_to: The last message of the log that counts.
            known_from: Messages from this one on are in the pack anyway, and are left out.
            known_refs: Passages that are in the pack anyway.
        """
        numbers = bisect_right(self._seqs, seq_to)
        question = AnalyzedQuery.of(text)
        best = ranked(question, self._matching(question, numbers), recall_profile("default"))
        found = [
            item.row.seq
            for item in best
            if self.passages[item.row.seq].seq < known_from and self.passages[item.row.seq].ref not in known_refs
        ]
        items = [
            Item(self.passages[item].tokens, self._rows[item].kind == "tool_result", self._terms[item])
            for item in found
        ]
        taken = within_budget(items, tokens_max=tokens_max, items_max=_ITEMS_MAX)
        return [self.passages[found[item]] for item in taken]

    def _matching(self, question: AnalyzedQuery, end: int) -> Matching:
        """Return the rows that a question is ranked by, of the first passages, as the service reads them."""
        if not self._sums:
            self._sums = list(zip(*(accumulate(column) for column in zip(*self._lengths, strict=True)), strict=True))
        length, before, after, sessions = self._sums[end - 1] if end else (0, 0, 0, 0)
        totals = Totals(
            passages=end,
            sessions=sessions,
            length=length,
            length_before=before,
            length_after=after,
            last_seq=end - 1,
        )
        numbers = {term: number for number, term in enumerate(question.terms[:ASKED_TERMS_MAX])}
        if not numbers or not end:
            return Matching(totals=totals, rows=(), is_whole=False, estimated={})
        if end <= READ_WHOLE:
            rows = [self._row(item, numbers) for item in range(end)]
            return Matching(totals=totals, rows=rows, is_whole=True, estimated={})
        often = {term: bisect_right(self._with.get(term, ()), end - 1) for term in numbers}
        rarer = sorted(numbers, key=often.__getitem__)
        finding, together = [rarer[0]], often[rarer[0]]
        for term in rarer[1:]:
            together += often[term]
            if often[term] > COMMON_SHARE * end or together > FOUND_MAX:
                break
            finding.append(term)
        found: set[int] = set()
        for term in finding:
            found.update(self._with[term][max(often[term] - FOUND_MAX, 0) : often[term]] if often[term] else ())
        newest = sorted(found)[-FOUND_MAX:]
        beside = {other for item in newest for other in self._beside(item) if other < end}
        return Matching(
            totals=totals,
            rows=[self._row(item, numbers) for item in sorted({*newest, *beside})],
            is_whole=False,
            estimated={numbers[term]: float(often[term]) for term in numbers.keys() - set(finding)},
        )

    def _row(self, one: int, numbers: dict[str, int]) -> Row:
        found = [(place, numbers[term]) for place, term in enumerate(self._terms[one]) if term in numbers]
        return self._rows[one]._replace(found=found)

    def _beside(self, one: int) -> list[int]:
        row = self._rows[one]
        if row.place is None:
            return []
        places = [(row.session, row.place - 1), (row.session, row.place + 1)]
        return [self._by_place[place] for place in places if place in self._by_place]
