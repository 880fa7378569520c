"""Lets a model write the segments (summaries of steps) of a prepared fold.

No pack waits for the model, because the prepared fold is already valid with the segments that rules wrote. After three
failures in a row the model is not asked for some steps. Each segment stores the verdict on the model's text.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from context_service.context_settings.room import ContextSettings
from context_service.contexts.model import Message
from context_service.contexts.room import Log
from context_service.folding.pure.folds import Limits, View
from context_service.folding.pure.model_segments import (
    ANSWER_TOKENS_MAX,
    VERDICT_CHARS_MAX,
    NotUsed,
    SegmentSteps,
    instructions,
    segment_of_answer,
    sources_of,
    state_in,
    user_prompt,
)
from context_service.folding.pure.prepare import Prepared, committed
from context_service.folding.pure.summaries import BY_RULES, SEGMENT, SEGMENT_TOKENS_MAX, Summary
from context_service.kernel.llm.budget import TokenBudget
from context_service.kernel.llm.texts import Chat, ChatFailed
from context_service.kernel.parts import texts_of
from context_service.kernel.tokens import TokenCounter
from context_service.packing.pure.state.rule_authors import is_rule_author
from context_service.packing.pure.state.task_state import Entry
from context_service.packing.pure.steps.blocks import text_pieces, tokens_of
from context_service.windows.model import Window
from context_service.windows.pure.config import BY_ANY_MODEL, NO_MODEL
from context_service.windows.pure.models import model as model_of
from service_runtime.inputs.documents import beside_the_loop
from service_runtime.rpc.principal import Principal

if TYPE_CHECKING:
    from context_service.packing.room import Validating, ViewRows
    from context_service.profiles.room import OwnProfiles
    from context_service.windows.room import Telemetry

FAILURES_MAX = 3  # after this many failures in a row, the model is not asked for a while
EXTRACTIVE_STEPS = 50  # the number of steps for which it is not asked then
SEGMENTS_MAX = 8  # a model writes at most this many segments of a fold, the newest
_ASKED_TOKENS_MAX = 32_000  # limit for a prompt with its answer
_MESSAGES_AT_ONCE = 256
_CHECKING = 8  # times the cost of parsing: the sources are searched for names and numbers


class _Answer(NamedTuple):
    """The result of asking a model for a segment.

    Attributes:
        summary: The segment with the text of the model; unchanged if that was not used.
        entries: The state entries that the model found.
        refused: The number of further entries that were refused.
    """

    summary: Summary
    entries: Sequence[Entry] = ()
    refused: int = 0


class Writing:
    """Lets a model write the segments of prepared folds; each call acts for its principal.

    Args:
        chat: The client of the models.
        views: The SQL statements on the blocks and summaries of windows.
        log: The contexts of the windows, and their messages.
        profiles: The compression profiles of windows.
        telemetry: Counts the verdicts for the metrics.
        settings: Says whether text of a context may be sent to a model.
        budget: Counts the tokens of each tenant, and says when those of the day are spent.
        validating: An extension that may refuse a text after all our checks; None if there is none.
    """

    def __init__(
        self,
        chat: Chat,
        views: ViewRows,
        *,
        log: Log,
        profiles: OwnProfiles,
        telemetry: Telemetry,
        settings: ContextSettings,
        budget: TokenBudget,
        validating: Validating | None = None,
    ) -> None:
        self._settings = settings
        self._budget = budget
        self._validating = validating
        self._telemetry = telemetry
        self._chat = chat
        self._views = views
        self._log = log
        self._profiles = profiles

    async def write_segments(
        self, window: Window, before: View, fold: Prepared, *, state_tokens: int, principal: Principal, wish: str = ""
    ) -> Prepared | None:
        """Let a model write the segments of a prepared fold; store the fold with them, and return it.

        The result is None if the fold stays as it is: if there is no model or no segment, if models are switched off,
        if the model is not asked after failures, if the window would be too large, or if the window has changed
        meanwhile.

        Args:
            window: The window as it was when the fold was planned.
            before: The view of the window before the fold.
            fold: The prepared fold with segments that rules wrote.
            state_tokens: The tokens of the state text and of the assistant's last words that the fold writes.
            principal: The caller; its tenant and bounds limit the rows.
            wish: The instructions of the caller for this fold.
        """
        segments = [summary for summary in fold.made if summary.level == SEGMENT][-SEGMENTS_MAX:]
        if not segments or not await self.may_ask(window, principal=principal):
            return None
        failures, extractive_to = await self._views.failures_of_model(window, principal=principal)
        limits = Limits.of(window.counted_limit, window.config)
        model = self._model(window)
        answers = await asyncio.gather(
            *(self._segment(window, before, limits, segment, (model, wish), principal) for segment in segments)
        )
        summaries = [answer.summary for answer in answers]
        for result in summaries:
            self._telemetry.count_written_segment(result.verdict)
            failures = failures + 1 if result.method == BY_RULES else 0
            if failures >= FAILURES_MAX:
                failures, extractive_to = 0, window.step_count + EXTRACTIVE_STEPS
        instead = {(old.level, old.step_from): new for old, new in zip(segments, summaries, strict=True)}
        count = sum(result.method != BY_RULES for result in summaries)
        entries = [entry for answer in answers for entry in answer.entries]
        rules = [*fold.rules, f"a model wrote {count} of {len(summaries)} segments"]
        if line_count := len(entries) + sum(answer.refused for answer in answers):
            rules.append(f"it found {line_count} statements of the state, and {len(entries)} are kept")
        better = replace(
            fold,
            made=[instead.get((summary.level, summary.step_from), summary) for summary in fold.made],
            rules=rules,
            entries=entries,
        )
        if committed(before, better, state_tokens=state_tokens).view.tokens > limits.high:
            return None
        is_kept = await self._views.prepare_written(
            window, fold, better, failures=failures, extractive_to=extractive_to, principal=principal
        )
        return better if is_kept else None

    async def may_ask(self, window: Window, *, principal: Principal) -> bool:
        """Return whether a model may be asked now: it is not switched off, too dear, or failing.

        Args:
            window: The window.
            principal: The caller; it must be allowed to see the window.
        """
        if window.config.summarization_model == NO_MODEL or not await self._budget.has_room(principal):
            return False
        if not await self._settings.may_use_models(window.context_id, principal=principal):
            return False
        _, extractive_to = await self._views.failures_of_model(window, principal=principal)
        return window.step_count >= extractive_to

    def _model(self, window: Window) -> str:
        """Return the name of the model that a window uses.

        It is the model of the window's settings, or the first configured model whose context is large enough.
        """
        model_name = window.config.summarization_model
        if model_name != BY_ANY_MODEL:
            return model_name
        able = (model for model in self._chat.models if not 0 < model_of(model).context_tokens < _ASKED_TOKENS_MAX)
        return next(able, self._chat.models[0])

    async def _segment(
        self, window: Window, before: View, limits: Limits, of: Summary, ask: tuple[str, str], principal: Principal
    ) -> _Answer:
        """Let a model write a segment; return it with the model's text, or with its own text and the reason as verdict.

        Args:
            window: The window.
            before: The parts of the window before the fold.
            limits: The limits of the window.
            of: The segment that rules wrote.
            ask: The name of the model, and the instructions of the caller for this fold.
            principal: The caller; it must be allowed to see the window.
        """
        model, wish = ask
        messages = await self._messages(window, of, principal)
        steps = [block for block in before.blocks if of.step_from <= block.step <= of.step_to and not block.is_appended]
        tokens = sum(min(step.tokens, step.masked_tokens) for step in steps)
        profile = await self._profiles.of(window.profile, principal=principal)
        size = sum(len(text) for message in messages for text in texts_of(message.content, message.parts))
        is_author = partial(is_rule_author, authors=window.config.rule_authors, speakers=window.speakers)
        sources = await beside_the_loop(size, partial(sources_of, is_author=is_author), messages, of.kept)
        ended = await self._views.superseded(window, {message.seq for message in messages}, principal=principal)
        what = SegmentSteps(
            summary=of,
            sources=sources,
            superseded=[(replacement.old, replacement.now) for replacement in ended],
            tokens=tokens,
            tokens_max=min(SEGMENT_TOKENS_MAX, tokens // 2, limits.segments // 2),
            profile=profile,
        )
        counter = TokenCounter(window.tokens_family)
        count = counter.count

        def cost(text: str) -> int:
            return tokens_of(text_pieces(text, window.format), window.format, count)

        system = instructions(window.config.summarization_prompt, window.config.summarization_style, wish)
        user = user_prompt(what)
        await self._count_tokens("asked", [system, user], counter, principal)
        try:
            answer = await self._chat.text(system=system, user=user, tokens_max=ANSWER_TOKENS_MAX, model=model)
            await self._count_tokens("answered", [answer], counter, principal)
        except ChatFailed as error:
            return _Answer(replace(of, verdict=f"model: {error}"[:VERDICT_CHARS_MAX]))

        def check() -> _Answer:
            return _Answer(segment_of_answer(answer, what, count=count, cost=cost), *state_in(answer, what))

        try:
            source_chars = sum(len(source.text) for source in sources)
            summary = await self._profiles.beside(profile, principal, _CHECKING * source_chars, check)
            if self._validating:
                await self._validating.check(summary.summary.text, sources)
        except NotUsed as error:
            return _Answer(replace(of, verdict=str(error)))
        return summary

    async def _count_tokens(self, part: str, texts: Sequence[str], counter: TokenCounter, principal: Principal) -> None:
        """Count tokens that a model was asked or answered, for the metrics and the budget of the tenant."""
        tokens = sum(await counter.counts(texts))
        self._telemetry.count_model_tokens(part, tokens)
        await self._budget.spend(principal, tokens)

    async def _messages(self, window: Window, of: Summary, principal: Principal) -> Sequence[Message]:
        """Return the messages of the steps that a segment replaces, without those that the window leaves out."""
        messages: list[Message] = []
        seq = of.seq_from
        while seq <= of.seq_to:
            page = await self._log.page(
                window.context_id,
                principal=principal,
                seq_from=seq,
                seq_to=of.seq_to,
                count=_MESSAGES_AT_ONCE,
                newest_first=False,
            )
            if not page:
                break
            messages += [message for message in page if message.seq not in window.left_out]
            seq = page[-1].seq + 1
        return messages
