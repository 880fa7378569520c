"""Folds: make a window smaller when its tokens are over the high mark.

A *fold* is one compaction. First all closed steps except the last ten are masked: their tool results are cleared. While
the window is over the low mark, the oldest twenty masked steps are merged into a segment, which is a summary of quoted
lines. When segments have more tokens than their share, the older half of them is merged into digests; when digests have
more than theirs, the oldest two thirds of them are merged into one digest of a deeper level. So a log of n steps
becomes O(log n) blocks. Messages of users in merged steps go to the conversation zone, word for word, and not into
summaries. At the end the text of the state is written again, and the assistant's last words that no step shows any more
(`last_words`). These numbers are the defaults of `Config`.

Folds are rare and remove much at once. Each fold changes the beginning of the prompt, so the vendor's prompt cache no
longer matches; this pays only if the next fold is far enough away (`prices.pays_after`).
"""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import islice, takewhile
from operator import sub
from typing import NamedTuple

from context_service.folding.pure.importance import ImportanceInputs, Weights, form_of_line, shares_of
from context_service.folding.pure.last_words import LastWords
from context_service.folding.pure.summaries import (
    DIGEST_TOKENS_MAX,
    SEGMENT,
    SEGMENT_TOKENS_MAX,
    Scored,
    Summary,
    digest,
    join_segments,
    summary,
)
from context_service.kernel.files.limits import NO_FILES, FileUse
from context_service.kernel.files.models import RequestLimits
from context_service.kernel.rendering import Rendered
from context_service.packing.pure.state.questions import is_answer
from context_service.packing.pure.steps.grades import SHARE_SAVED_MIN, TOKENS_SAVED_MIN
from context_service.packing.pure.texts import conversation
from context_service.packing.pure.texts.conversation import Said, asks, closing_of
from context_service.packing.pure.texts.quotation import is_quoted, role_in
from context_service.packing.pure.texts.units import Unit
from context_service.usage.pure.endings import NOTHING, Endings
from context_service.windows.pure.config import DEFAULT, Config
from service_runtime.inputs.documents import check_wanted

DIGEST_SEGMENTS = 12
DIGESTED_SHARE = 0.75  # the share of tokens that a digest of digests keeps; it is large because merges are frequent
_NOTHING_OWN: Mapping[Unit, float] = {}
USER = "user"  # the role of the messages that the conversation zone keeps
CLOSE_STEPS = 5  # a fold fewer steps after the last fold only masks, if that is enough, and does not summarize
# Shares of the limit. The newest step is cut to less than the first share only if nothing else can be folded. A cut
# leaves the second share as room for the next steps.
NEWEST_SHARE = 0.25
NEXT_STEPS_SHARE = 1 / 16
_QUESTIONS_MAX = 8  # how many of the assistant's last questions a user's reply may answer


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The limits of a window, in tokens and steps.

    Attributes:
        limit: The number of tokens that a request may have.
        high: A window with more tokens than this folds.
        low: A fold removes tokens until the window has at most this number.
        hot: The most tokens of the last steps that stay as they are.
        segments: The most tokens of all segments together. `digests`, `state` and `conversation` are the same limit
            for these zones, and `files` for files that a fold shows again.
        keep_last: The most last steps that stay as they are.
        segment_steps: The number of steps that become one segment.
    """

    limit: int
    high: int
    low: int
    hot: int
    segments: int
    digests: int
    state: int
    conversation: int
    files: int
    keep_last: int
    segment_steps: int

    @classmethod
    def of(cls, limit: int, config: Config = DEFAULT) -> Limits:
        """Return the limits of a window whose requests may have `limit` tokens."""
        shares = config.shares
        return cls(
            limit=limit,
            high=math.floor(config.high_mark * limit),
            low=math.floor(config.low_mark * limit),
            hot=math.floor(shares.hot * limit),
            segments=math.floor(shares.segments * limit),
            digests=math.floor(shares.digests * limit),
            state=math.floor(shares.state * limit),
            conversation=math.floor(config.conversation_share * limit),
            files=math.floor(config.restore_files_share * limit),
            keep_last=config.keep_last_steps,
            segment_steps=config.segment_steps,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class FoldableBlock:
    """A block of a window, with the fields that folds need.

    Attributes:
        number: The number of the block in the window.
        step: The number of the step, from 1. An appended block has the number of the step before it.
        tokens: The tokens of the block as it is shown now.
        masked_tokens: The tokens of the block with its tool results cleared. They equal `tokens` if that saves too
            little.
        is_appended: Whether the block is not a step but recalled passages or a note.
        is_notice: Whether the block is the notice before a fold.
        is_error: Whether a tool call of the step failed.
        tools: The names of the tools that the step calls.
        speaker: The role and the name of the speaker of the step, such as "user Ann".
        said: The text of a message of a user or the assistant; empty for others.
        files: What the files of the block use of the vendor's limits, as it is shown now.
        masked_files: The same of the block with its tool results cleared.
    """

    number: int
    step: int
    seq_from: int
    seq_to: int
    tokens: int
    masked_tokens: int
    is_masked: bool = False
    is_appended: bool = False
    is_notice: bool = False
    is_error: bool = False
    units: tuple[Unit, ...] = ()
    names: frozenset[str] = frozenset()
    tools: tuple[str, ...] = ()
    speaker: str = ""
    said: str = ""
    files: FileUse = NO_FILES
    masked_files: FileUse = NO_FILES

    @property
    def is_of_user(self) -> bool:
        """Whether the step is a message of a user."""
        return role_in(self.speaker) == USER and not self.is_appended


class KeptSteps(NamedTuple):
    """The numbers of blocks that a fold leaves in view because of their tools.

    Attributes:
        whole: Blocks that the fold neither masks nor merges.
        masked: Blocks that the fold masks but does not merge. Their masked form still shows the results of tools with
            `never_clear`.
    """

    whole: frozenset[int]
    masked: frozenset[int]


class FileRules(NamedTuple):
    """What a fold keeps of files.

    Attributes:
        limits: The vendor's limits of a request.
        tool_images_max: The pictures in results of tools that stay, the newest (`images_keep_last` of the profile).
        waiting: What the files of the last step use, if that step waits for results.
    """

    limits: RequestLimits = RequestLimits()
    tool_images_max: int = sys.maxsize
    waiting: FileUse = NO_FILES


ANY_FILES = FileRules()
# The share of the vendor's limits that files may use after a fold, so that the next fold is not due at once.
FILES_SHARE = 0.5
NOTHING_KEPT = KeptSteps(frozenset(), frozenset())


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """The parts of a window that a fold works on: all of them, except a last step that waits for results.

    Attributes:
        head: The tokens of the prompt, tools and pins, which folds leave as they are.
        conversation: The blocks of the conversation zone, the oldest first.
        summaries: Digests, then segments: together they stand for all steps before `blocks`.
        state: The tokens of the state text.
        last_words: The blocks after the state: the assistant's last words, and files that are shown again.
        blocks: Steps, and the blocks that are appended to them.
    """

    head: int
    conversation: tuple[Summary, ...] = ()
    summaries: tuple[Summary, ...] = ()
    state: int = 0
    last_words: tuple[Summary, ...] = ()
    blocks: tuple[FoldableBlock, ...] = ()

    @property
    def rows(self) -> tuple[Summary, ...]:
        """The parts that are stored as summaries, in their order."""
        return *self.conversation, *self.summaries, *self.last_words

    @property
    def tokens(self) -> int:
        """The tokens of all parts together."""
        return self.head + self.state + _tokens(self.rows) + _tokens(self.blocks)


class CutStep(NamedTuple):
    """The newest step, cut to the room that a fold leaves.

    A new block shows the cut step; the block with the whole step stays in the store but is no longer shown.

    Attributes:
        number: The number of the block with the whole step.
        pieces: The cut step, rendered.
        tokens: The tokens of the cut step.
    """

    number: int
    pieces: Sequence[Rendered]
    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Fold:
    """The changes of a fold, and its account.

    Attributes:
        view: The view as it is after the fold.
        masked: The numbers of the blocks that the fold masks.
        dropped: The numbers of the appended blocks that the fold drops.
        merged: The numbers of the steps that the fold merges into summaries.
        worth: The worth of each line of the merged steps, and whether its segment shows the line.
        cut: The newest step, if the fold cuts it.
        cuts: Whether the fold cuts the conversation zone or drops the assistant's last words although it merges no
            steps.
    """

    view: View
    masked: frozenset[int]
    dropped: frozenset[int]
    merged: frozenset[int]
    rules: tuple[str, ...] = field(default=())
    worth: tuple[tuple[float, bool], ...] = field(default=())
    cut: CutStep | None = None
    cuts: bool = False

    @property
    def changes(self) -> bool:
        """Whether the fold changes anything."""
        return bool(self.masked or self.dropped or self.merged or self.cut or self.cuts)

    def with_cut(self, cut_step: CutStep, *, number: int) -> Fold:
        """Return the fold with its newest step cut.

        Args:
            cut_step: The cut step.
            number: The number of the new block that will show the cut step.
        """
        blocks = [
            replace(block, number=number, tokens=cut_step.tokens) if block.number == cut_step.number else block
            for block in self.view.blocks
            if block.number <= cut_step.number
        ]
        after = frozenset(block.number for block in self.view.blocks if block.number > cut_step.number)
        rules = (*self.rules, f"cut step {blocks[-1].step} to the room that is left")
        view = replace(self.view, blocks=tuple(blocks))
        return replace(self, view=view, dropped=self.dropped | after, rules=rules, cut=cut_step)


def fold(
    view: View,
    limits: Limits,
    *,
    state_tokens: int,
    goal: str,
    count: Callable[[str], int],
    cost: Callable[[str], int],
    weights: Weights,
    endings: Endings = NOTHING,
    own: Mapping[Unit, float] = _NOTHING_OWN,
    is_close: bool = False,
    waiting: int = 0,
    wish: str = "",
    keeps: KeptSteps = NOTHING_KEPT,
    last_words: Sequence[LastWords] = (),
    files: FileRules = ANY_FILES,
) -> Fold:
    """Return the fold of a view that is over the high mark.

    Args:
        view: The view of the window before the fold.
        limits: The limits of the window.
        state_tokens: The tokens of the state text that the fold writes.
        goal: The goal of the window, for the relevance of lines.
        count: A function that counts the tokens of a text.
        cost: Counts the tokens of a text as a piece of a request.
        weights: The weights of the features of importance.
        endings: The recorded outcomes of steps, such as success.
        own: See `importance.ImportanceInputs`.
        is_close: The last fold was fewer than `CLOSE_STEPS` steps ago. Then steps are only masked, the largest first,
            and nothing is merged unless that is not enough.
        waiting: The tokens of the last step that waits for results, which is not folded; 0 if there is none.
        wish: The instructions of a caller for this fold: lines that concern them come first.
        keeps: The steps that stay in view because of their tools, if there is room for the newest step.
        last_words: The candidates for the assistant's last words, and for files that are shown again.
        files: What stays of files.
    """
    result = _Folding(
        view,
        limits,
        goal=goal,
        count=count,
        cost=cost,
        weights=weights,
        endings=endings,
        own=own,
        waiting=waiting,
        state_tokens=state_tokens,
        wish=wish,
        last_words=last_words,
        files=files,
    )
    result.set_aside(keeps)
    if is_close and view.summaries:
        result.rewrite_state()
        result.mask_pictures()
        result.mask_largest(until=limits.low)
        if result.tokens <= limits.high and not result.has_old_files:
            return result.fold()
    result.mask_older()
    result.mask_pictures()
    while (result.tokens - result.tokens_aside > limits.low or result.has_old_files) and result.merge_oldest():
        pass
    result.rewrite_state()
    result.mask_largest(until=limits.high)
    if result.lacks_room:
        result.put_back()
        result.mask_older()
        result.mask_pictures()
    while result.lacks_room and result.merge_oldest(is_last_resort=True):
        pass
    return result.fold()


def newest_of(view: View) -> FoldableBlock | None:
    """Return the newest step of a view if a fold may cut it, else None.

    It may be cut if it is not masked. The cut drops notes and recalled passages after it.
    """
    last = next((block for block in reversed(view.blocks) if not block.is_appended), None)
    return None if last is None or last.is_masked else last


def room_of_newest(view: View, limits: Limits, *, waiting: int) -> int:
    """Return the tokens that the newest step of a folded view may have, if the whole step does not fit."""
    newest = newest_of(view)
    replaced = [block for block in view.blocks if newest and block.number >= newest.number]
    room = limits.high - view.tokens - waiting + _tokens(replaced)
    enough = math.floor(NEWEST_SHARE * limits.limit)
    return max(room - math.floor(NEXT_STEPS_SHARE * limits.limit), min(room, enough))


def user_messages(blocks: Sequence[FoldableBlock]) -> list[Said]:
    """Return the messages of users in some blocks, each with the words that it answers.

    These are the end of the statement right before the message. Words next to a call of a tool only announce the call,
    so a message after such a step answers an earlier question, or nothing for sure.
    """
    results, before, questions = list[Said](), "", list[str]()
    is_first = True  # no user has said anything since the newest question
    for block in blocks:
        if block.is_appended:
            continue
        if block.is_of_user:
            answers = before or _question_of(block.said, questions, is_first=is_first)
            answers = "" if block.said.rstrip().endswith("?") else answers
            results.append(
                Said(step=block.step, seq=block.seq_from, speaker=block.speaker, text=block.said, answers=answers)
            )
            before, is_first = "", False
            continue
        # The heading of an answer is no quotation, so it has no words of an import.
        closing = "" if is_quoted(block.speaker) else closing_of(block.said)
        before = "" if block.tools else closing
        if asks(closing):
            questions = [*questions, closing][-_QUESTIONS_MAX:]
            is_first = True
    return results


def _question_of(reply: str, questions: Sequence[str], *, is_first: bool) -> str:
    """Return the newest question that a reply surely answers; empty if there is none."""
    newest = questions[-1] if questions else ""
    return next(
        (
            question
            for question in reversed(questions)
            if is_answer(question, reply, is_first=is_first and question is newest)
        ),
        "",
    )


class _Folding:
    """The state of a fold while it is computed."""

    def __init__(
        self,
        view: View,
        limits: Limits,
        *,
        goal: str,
        count: Callable[[str], int],
        cost: Callable[[str], int],
        weights: Weights,
        endings: Endings,
        own: Mapping[Unit, float],
        waiting: int,
        state_tokens: int,
        wish: str,
        last_words: Sequence[LastWords],
        files: FileRules,
    ) -> None:
        self._files = files
        self._has_files = files.waiting != NO_FILES or any(block.files != NO_FILES for block in view.blocks)
        self._head, self._state, self._waiting = view.head, view.state, waiting
        self._summaries, self._blocks = list(view.summaries), list(view.blocks)
        self._stored = set(map(id, view.summaries))
        self._conversation = view.conversation
        self._first = 0  # index of the oldest block that is not in a summary
        self._blocks_tokens = sum(block.tokens for block in view.blocks)
        self._step_count = sum(not block.is_appended for block in view.blocks)
        self._limits, self._count, self._weights = limits, count, weights
        self._state_tokens, self._cost = state_tokens, cost
        self._aside: list[FoldableBlock] = []
        self._masked: set[int] = set()
        self._dropped: set[int] = set()
        self._merged: set[int] = set()
        self._rules: list[str] = []
        self._worth: list[tuple[float, bool]] = []
        self._last_words = last_words
        self._cuts = False
        mentions = Counter(name for block in view.blocks for name in block.names)
        last = view.blocks[-1].step if view.blocks else 0
        units = [unit for block in view.blocks for unit in block.units]
        units += [item.unit for summary in view.summaries for item in summary.kept]
        forms = Counter(form_of_line(unit.text.casefold()) for unit in units)
        self._seen = ImportanceInputs(
            step=last,
            goal_terms=shares_of(goal, units),
            wish_terms=shares_of(wish, units, are_known=True),
            mentions=mentions,
            forms=forms,
            endings=endings,
            own=own,
        )

    @property
    def tokens(self) -> int:
        """The tokens of the window so far, including a last step that waits for results."""
        before_steps = _tokens(self._conversation) + _tokens(self._summaries) + self._state + _tokens(self._last_blocks)
        return self._head + before_steps + self._blocks_tokens + self.tokens_aside + self._waiting

    @property
    def _last_blocks(self) -> tuple[Summary, ...]:
        """The blocks after the state, as the fold would write them now."""
        blocks = (shown_step.block(masked=self._masked, merged=self._merged) for shown_step in self._last_words)
        return tuple(block for found in blocks for block in found)

    @property
    def tokens_aside(self) -> int:
        """The tokens of the steps that stay in view because of their tools."""
        return _tokens(self._aside)

    def set_aside(self, keeps: KeptSteps) -> None:
        """Exclude the steps that stay in view because of their tools from merging, and mask those of `keeps.masked`.

        The last steps are not excluded, because a fold leaves them in view anyway.
        """
        numbers = keeps.whole | keeps.masked
        if not numbers:
            return
        first = next(iter(self._newest_whole()))
        older = [block for block in self._unmerged() if block.number < first.number]
        self._mask([block for block in older if block.number in keeps.masked])
        self._aside = [block for block in self._unmerged() if block.number in numbers and block.number < first.number]
        self._step_count -= len(self._aside)
        aside = {block.number for block in self._aside}
        self._replace_blocks([block for block in self._unmerged() if block.number not in aside])

    def put_back(self) -> None:
        """Undo `set_aside`, so that these steps are merged, too: the newest step needs their room."""
        blocks = sorted([*self._unmerged(), *self._aside], key=lambda block: block.number)
        self._step_count += len(self._aside)
        self._aside = []
        self._replace_blocks(blocks)

    @property
    def _use(self) -> FileUse:
        """What all files use of the vendor's limits."""
        if not self._has_files:  # as in most windows, whose many blocks need not be looked at again and again
            return NO_FILES
        shown = [block.files for block in [*self._unmerged(), *self._aside] if block.files != NO_FILES]
        return reduce(FileUse.plus, shown, self._files.waiting)

    @property
    def has_old_files(self) -> bool:
        """Whether files use more than their share, and steps that can be merged have some of them."""
        is_over = self._use.is_over(self._files.limits, share=FILES_SHARE)
        first = next((block.number for block in self._newest_whole()), 0)
        return is_over and any(block.files != NO_FILES for block in self._unmerged() if block.number < first)

    def mask_pictures(self) -> None:
        """Mask steps with pictures of tools, the oldest first, until few enough are left; never the newest step."""
        use, most = self._use, self._files.tool_images_max
        chosen: list[FoldableBlock] = []
        for block in self._unmerged():
            if use.tool_images <= most and not use.is_over(self._files.limits, share=FILES_SHARE):
                break
            if not block.is_masked and block.files != block.masked_files and block is not self._newest:
                chosen.append(block)
                use = FileUse(*map(sub, use, block.files)).plus(block.masked_files)
        self._mask(chosen)
        self._rules += [f"clear the pictures of step {block.step}" for block in chosen]

    @property
    def lacks_room(self) -> bool:
        """Whether the newest step does not fit even if it is cut to a quarter of the limit, or files do not."""
        if self._use.is_over(self._files.limits) and len(list(self._unmerged())) > 1:
            return True
        newest = self._newest.tokens if self._newest else 0
        least = min(newest, math.floor(NEWEST_SHARE * self._limits.limit))
        return self.tokens - newest + least > self._limits.high

    @property
    def _newest(self) -> FoldableBlock | None:
        """The newest step that no summary stands for."""
        newest_first = (self._blocks[at] for at in range(len(self._blocks) - 1, self._first - 1, -1))
        return next((block for block in newest_first if not block.is_appended), None)

    def mask_older(self) -> None:
        """Mask all but the last steps, and drop the blocks that were appended to masked steps.

        Messages of users are not masked: they stay whole until they go to the conversation zone.
        """
        whole_steps = self._newest_whole()
        older = [
            block
            for block in self._unmerged()
            if whole_steps and block.step < whole_steps[0].step and not block.is_of_user
        ]
        if any(block.is_appended or (not block.is_masked and block.masked_tokens < block.tokens) for block in older):
            self._mask([block for block in older if not block.is_appended])
            self._drop([block for block in older if block.is_appended])
            self._rules.append(f"mask all but the last {len(whole_steps)} steps")

    def mask_largest(self, *, until: int) -> None:
        """Mask steps until the window has at most `until` tokens, first those that save most, but never the newest.

        Messages of users stay as they are. If that is not enough, notes and recalled passages are dropped.
        """
        check_wanted()
        able = [
            block
            for block in self._unmerged()
            if not block.is_masked and not block.is_of_user and block.masked_tokens < block.tokens
        ]
        able = [block for block in able if block is not self._newest]
        able.sort(key=lambda maskable: maskable.masked_tokens - maskable.tokens)
        tokens, count = self.tokens, 0
        while tokens > until and count < len(able):
            tokens += able[count].masked_tokens - able[count].tokens
            count += 1
        self._mask(able[:count])
        self._rules += [f"mask step {block.step} of the last ones" for block in able[:count]]
        if self.tokens > until:
            self._drop([block for block in self._unmerged() if block.is_appended])

    def merge_oldest(self, *, is_last_resort: bool = False) -> bool:
        """Merge the oldest masked steps into a segment, or summaries into digests; return whether anything was merged.

        The oldest steps stay unmerged if a segment of them would save too little and the window fits anyway.

        Args:
            is_last_resort: Merge all steps but the last, even unmasked ones, and summaries even if they are small.
        """
        check_wanted()
        able = max(self._step_count - (1 if is_last_resort else len(self._newest_whole())), 0)
        oldest = self._oldest(min(able, self._limits.segment_steps))
        if not oldest:
            return self._merge_summaries(force=is_last_resort)
        others = [block for block in oldest if not block.is_of_user]
        before = _tokens(others)
        worth: list[tuple[float, bool]] = []
        segment = summary(
            SEGMENT,
            steps=(oldest[0].step, oldest[-1].step),
            seqs=(min(block.seq_from for block in oldest), max(block.seq_to for block in oldest)),
            units=[
                Scored(unit=unit, step=block.step, is_error=block.is_error) for block in others for unit in block.units
            ],
            tokens_max=max(min(SEGMENT_TOKENS_MAX, before // 2, self._limits.segments // 2), _HEAD_TOKENS),
            inputs=self._seen,
            weights=self._weights,
            count=self._count,
            chose=lambda *unmerged: worth.append(unmerged),
        )
        segment = self._counted(segment)
        saves = before - segment.tokens >= TOKENS_SAVED_MIN and segment.tokens <= before * SHARE_SAVED_MIN
        # Users' messages move to the conversation zone whole, so they save tokens only later, when the zone is cut.
        is_mostly_of_users = before < _tokens(oldest) - before
        if not (saves or is_mostly_of_users) and self.tokens <= self._limits.high:
            return self._merge_summaries(force=False)
        self._converse(oldest)
        removed_blocks = list(takewhile(lambda unmerged: unmerged.step <= oldest[-1].step, self._unmerged()))
        self._first += len(removed_blocks)
        self._blocks_tokens -= _tokens(removed_blocks)
        self._step_count -= len(oldest)
        self._dropped |= {block.number for block in removed_blocks if block.is_appended}
        numbers = {block.number for block in oldest}
        self._merged |= numbers
        self._masked -= numbers
        self._worth += worth
        self._append_segment(segment)
        self._rules.append(f"steps {segment.step_from} to {segment.step_to} become a segment")
        while self._merge_summaries(force=False):
            pass
        return True

    def _append_segment(self, segment: Summary) -> None:
        """Append a segment. If it or the segment before it shows no line, the two are joined into one.

        A segment of an earlier fold that has lines stays as it is, so that the prompt breaks no earlier.
        """
        last = self._summaries[-1] if self._summaries else None
        is_new = id(last) not in self._stored
        if last and last.level == SEGMENT and not (last.text and segment.text) and (is_new or not last.text):
            self._summaries[-1] = join_segments(last, segment, count=self._cost)
        else:
            self._summaries.append(segment)

    def _oldest(self, count: int) -> list[FoldableBlock]:
        """Return the oldest steps to merge, at most `count`.

        If the step after them is a user's answer to the last of them, that last step is left out, so that both are
        merged together later.
        """
        steps = list(islice((block for block in self._unmerged() if not block.is_appended), count + 1))
        oldest, following = steps[:count], steps[count:]
        if len(oldest) > 1 and following and following[0].is_of_user and oldest[-1].said and not oldest[-1].is_of_user:
            oldest.pop()
        return oldest

    def _converse(self, oldest: Sequence[FoldableBlock]) -> None:
        """Move the messages of users in merged steps to the conversation zone, and cut the zone if it is too large."""
        zone = conversation.with_messages(
            self._conversation, user_messages(oldest), steps=(oldest[0].step, oldest[-1].step), cost=self._cost
        )
        if unit_count := sum(len(block.kept) for block in zone[len(self._conversation) :]):
            self._rules.append(f"{unit_count} messages of users move to the conversation")
        share = self._limits.conversation
        if _tokens(zone) > share:
            before, zone = _tokens(zone), conversation.cut(zone, share // 2, count=self._count, cost=self._cost)
            self._rules.append(f"the conversation is cut from {before} to {_tokens(zone)} tokens")
        self._conversation = zone

    def _newest_whole(self) -> list[FoldableBlock]:
        """Return the last steps that stay as they are: the newest step, and those before it within the limits.

        They are at most `Limits.keep_last` steps, with at most `Limits.hot` tokens.
        """
        newest_first = (self._blocks[at] for at in range(len(self._blocks) - 1, self._first - 1, -1))
        steps = list(islice((block for block in newest_first if not block.is_appended), self._limits.keep_last))[::-1]
        together = 0
        for count, step in enumerate(reversed(steps)):
            together += step.tokens
            if count and together > self._limits.hot:
                return steps[-count:]
        return steps

    def rewrite_state(self) -> None:
        """Count the state with its new text, which replaces the old one."""
        self._state = self._state_tokens

    def fold(self) -> Fold:
        """Return the result of the fold. It drops the notice that announced it."""
        if self._masked or self._merged:
            self._drop([block for block in self._unmerged() if block.is_notice])
        view = View(
            head=self._head,
            conversation=self._conversation,
            summaries=tuple(self._summaries),
            state=self._state,
            last_words=self._last_blocks,
            blocks=tuple(sorted([*self._unmerged(), *self._aside], key=lambda block: block.number)),
        )
        return Fold(
            view=view,
            masked=frozenset(self._masked),
            dropped=frozenset(self._dropped),
            merged=frozenset(self._merged),
            rules=tuple(self._rules),
            worth=tuple(self._worth),
            cuts=self._cuts,
        )

    def _merge_summaries(self, *, force: bool) -> bool:
        """Merge segments into digests, or digests into a deeper digest, if they are over their limits.

        Args:
            force: Merge them even if they are not over their limits. If there are none to merge, drop the assistant's
                last words, and then cut the conversation zone.

        Returns:
            Whether anything was merged or cut.
        """
        segments = [summary for summary in self._summaries if summary.level == SEGMENT]
        digests = [summary for summary in self._summaries if summary.level > SEGMENT]
        if len(segments) > 1 and (force or _tokens(segments) > self._limits.segments):
            older = segments[: (len(segments) + 1) // 2] if len(segments) > 2 else segments
            new_digests = [
                self._digest(older[at : at + DIGEST_SEGMENTS]) for at in range(0, len(older), DIGEST_SEGMENTS)
            ]
            self._summaries = [*digests, *new_digests, *segments[len(older) :]]
            self._rules.append(f"{len(older)} segments become {len(new_digests)} digests")
            return True
        if len(digests) > 1 and (force or _tokens(digests) > self._limits.digests):
            older = digests[: max(math.ceil(len(digests) * 2 / 3), 2)]
            self._summaries = [self._digest(older), *digests[len(older) :], *segments]
            self._rules.append(f"{len(older)} digests become one")
            return True
        if force and self._last_blocks:
            self._last_words, self._cuts = (), True
            self._rules.append("the assistant's last words are left out, because the newest step needs the room")
            return True
        if force and self._conversation:
            most = min(_tokens(self._conversation), self._limits.conversation) // 2
            self._conversation = conversation.cut(self._conversation, most, count=self._count, cost=self._cost)
            self._cuts = True
            self._rules.append("the conversation is cut to half, because all other parts are as small as they can be")
            return True
        return False

    def _digest(self, several: Sequence[Summary]) -> Summary:
        """Return one digest of several summaries, smaller than they are together.

        A digest of segments has a fixed limit. A digest of digests is all that is left of a long past. It keeps most of
        the tokens of its digests, because otherwise even the longest past would shrink to a few lines.
        """
        before = _tokens(several)
        tokens_max = math.floor(DIGESTED_SHARE * before)
        most = DIGEST_TOKENS_MAX if several[0].level == SEGMENT else max(DIGEST_TOKENS_MAX, tokens_max)
        room = min(most, self._limits.digests // 2, max(before - 1, _HEAD_TOKENS))
        result = digest(
            several,
            tokens_max=max(room, _HEAD_TOKENS),
            inputs=self._seen,
            weights=self._weights,
            count=self._count,
        )
        return self._counted(result)

    def _counted(self, result: Summary) -> Summary:
        """Return a summary with the tokens that it has as a piece of a request; none if it shows nothing."""
        return replace(result, tokens=self._cost(result.text) if result.text else 0)

    def _mask(self, blocks: Sequence[FoldableBlock]) -> None:
        """Mask those of the blocks that are not masked yet and become smaller."""
        able = {block.number for block in blocks if not block.is_masked and block.masked_tokens < block.tokens}
        self._masked |= able
        self._replace_blocks(
            [
                replace(block, tokens=block.masked_tokens, is_masked=True, files=block.masked_files)
                if block.number in able
                else block
                for block in self._unmerged()
            ]
        )

    def _drop(self, blocks: Sequence[FoldableBlock]) -> None:
        """Remove blocks from the view, so that packs no longer show them."""
        numbers = {block.number for block in blocks}
        self._dropped |= numbers
        self._replace_blocks([block for block in self._unmerged() if block.number not in numbers])

    def _unmerged(self) -> Iterator[FoldableBlock]:
        """Yield the blocks that are not in summaries, the oldest first."""
        return (self._blocks[at] for at in range(self._first, len(self._blocks)))

    def _replace_blocks(self, blocks: list[FoldableBlock]) -> None:
        """Replace the blocks that are not in summaries by these."""
        self._blocks, self._first = blocks, 0
        self._blocks_tokens = _tokens(blocks)


_HEAD_TOKENS = 40  # a summary without any lines has about this many tokens


def _tokens(parts: Sequence[Summary | FoldableBlock]) -> int:
    return sum(entry.tokens for entry in parts)
