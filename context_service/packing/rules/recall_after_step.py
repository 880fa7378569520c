"""Recalling after a step: find passages of the log that the pack no longer shows and that the last step needs.

A recall follows a message of a user, a failed tool call, every tenth step, and a caller's request.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import takewhile

from context_service.contexts.model import Message
from context_service.contexts.room import Filter, Log, RecalledItem, Recalling, RecallQuery
from context_service.kernel.parts import texts_of
from context_service.packing.model import NOTE, NOTICE, RECALLED, STEP, NewBlock, RecallRequest, ViewPart
from context_service.packing.pure.body.caught_up_window import CaughtUpWindow, limits_of
from context_service.packing.pure.state.recall_marks import noted, seq_of, up_to_date
from context_service.packing.pure.steps.new_blocks import text_block
from context_service.packing.rules.read_log import MESSAGES_AT_ONCE
from context_service.packing.store.views import ViewRows
from context_service.windows.model import Window
from service_runtime.rpc.principal import Principal

# The most tokens of recalled passages: the first number after most steps, the second after a question of a user or a
# caller's request.
RECALLED_TOKENS, ANSWERING_TOKENS = 1_000, 4_000
RECALLED_SHARE, ANSWERING_SHARE = 64, 16  # and at most 1/64 and 1/16 of the window's limit
RECALL_STEPS = 10  # every tenth step is followed by a recall
_TEXT_CHARS = 2_000  # only these first characters of a step are the query


class StepRecalling:
    """Recalls passages that the last step of a window calls for; each call acts for its principal.

    Args:
        log: The contexts that hold the messages.
        views: The store of the windows' parts and state.
        recalling: Finds passages of a log by a text.
    """

    def __init__(self, log: Log, views: ViewRows, recalling: Recalling) -> None:
        self._log = log
        self._views = views
        self._recalling = recalling

    async def block(
        self, caught_up: CaughtUpWindow, principal: Principal, request: RecallRequest | None
    ) -> NewBlock | None:
        """Return the block of recalled passages to append after the last step, or None if no recall is due.

        Args:
            caught_up: The window, with its log read to the end.
            principal: The caller; it must be allowed to see the window.
            request: A recall that the caller wants, whatever the last step is, or None.
        """
        window = caught_up.window
        in_view = _steps_in_view(caught_up, request)
        if not in_view:
            return None
        messages = await self._messages(window, in_view[0], principal)
        is_of_user = caught_up.body.speaker == "user"
        text = " ".join(text for message in messages for text in texts_of(message.content, message.parts))
        text = (request.text if request else text)[:_TEXT_CHARS].strip()
        tokens_max = _tokens_max(window, answers=request is not None or (is_of_user and "?" in text))
        room = limits_of(window).high - caught_up.tokens
        if not text or tokens_max > room:
            return None
        out_of_view = Filter(seq_to=min(part.seq_from for part in in_view) - 1, left_out=window.left_out.ranges)
        query = RecallQuery(
            text=text,
            tokens_max=tokens_max,
            which=out_of_view,
            known_refs=await self._known_refs(caught_up, principal),
            # An error or the text of an assistant is no question, so its passages have low probabilities.
            score_min=None if is_of_user or request else 0.0,
        )
        recalled = await self._recalling.recall(window.context_id, query, principal=principal)
        items, prompt_text = list(recalled.items), recalled.prompt_text if recalled.items else ""
        if window.config.prefetch and is_of_user and not request:
            items, prompt_text = await self._with_prefetched(window, query, items, prompt_text, principal)
        # A recalled statement may no longer hold. Its head and a note say so: the newer one may not be in the pack.
        superseded = await self._views.superseded(window, {item.seq for item in items}, principal=principal)
        prompt_text = noted(prompt_text, {item.ref: (item.seq, item.text) for item in items}, superseded)
        block = text_block(RECALLED, in_view[0].step_to, prompt_text, window)
        return replace(block, refs=[item.ref for item in items]) if block.tokens <= room else None

    async def _known_refs(self, caught_up: CaughtUpWindow, principal: Principal) -> frozenset[str]:
        """Return the refs of the passages that the pack shows already, with the marks that they would have now."""
        shown, seq = dict[str, int](), 0
        for part in caught_up.body.parts:
            seq = part.seq_to if part.kind == STEP else seq
            shown |= dict.fromkeys(part.refs, seq)
        if not shown:
            return frozenset()
        seqs = {seq_of(ref) for ref in shown}
        return up_to_date(shown, await self._views.superseded(caught_up.window, seqs, principal=principal))

    async def _messages(self, window: Window, step: ViewPart, principal: Principal) -> list[Message]:
        """Return the messages of a step, without those that the window leaves out after a rollback."""
        messages = await self._log.page(
            window.context_id,
            principal=principal,
            seq_from=step.seq_from,
            seq_to=step.seq_to,
            count=MESSAGES_AT_ONCE,
            newest_first=False,
        )
        return [message for message in messages or [] if message.seq not in window.left_out]

    async def _with_prefetched(
        self, window: Window, query: RecallQuery, items: list[RecalledItem], text: str, principal: Principal
    ) -> tuple[list[RecalledItem], str]:
        """Return recalled items and their text, followed by the items and the text of a prefetch."""
        from context_service.packing.rules.prefetch import prefetched

        more = await prefetched(self._views, self._recalling, window, query.which, items, query.known_refs, principal)
        texts = filter(None, [text, more.prompt_text if more.items else ""])
        return [*items, *more.items], "\n\n".join(texts)


def _steps_in_view(caught_up: CaughtUpWindow, request: RecallRequest | None) -> Sequence[ViewPart]:
    """Return the newest steps that the pack shows verbatim, newest first; empty if no recall is due.

    No recall is due while a step waits for results, after a recall at the same step, and if the pack shows the whole
    log anyway.
    """
    window, parts = caught_up.window, caught_up.body.parts
    last = parts[-1] if parts else None
    if caught_up.waiting or last is None or last.kind not in (STEP, NOTE, NOTICE, RECALLED):
        return []
    after_step = takewhile(lambda part: part.kind != STEP, reversed(parts))
    is_recalled = any(part.kind == RECALLED for part in after_step)
    if is_recalled and not (request and window.block_count == request.block_count):
        return []
    steps = (part for part in reversed(parts) if part.kind == STEP)
    in_view = list(takewhile(lambda part: not part.level, steps))
    if not in_view or (len(in_view) == caught_up.body.step_count and not window.first_number):
        return []
    step = in_view[0]
    if caught_up.body.speaker != "user" and not step.is_error and step.step_to % RECALL_STEPS and not request:
        return []
    return in_view


def _tokens_max(window: Window, *, answers: bool) -> int:
    """Return the most tokens of recalled passages; `answers` if they are to answer a question."""
    if answers:
        return min(ANSWERING_TOKENS, window.counted_limit // ANSWERING_SHARE)
    return min(RECALLED_TOKENS, window.counted_limit // RECALLED_SHARE)
