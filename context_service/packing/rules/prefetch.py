"""Prefetching, for windows with `prefetch`: recall earlier passages about the things that the work is about now."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from context_service.contexts.room import NOTHING_RECALLED, Filter, Recalled, RecalledItem, Recalling, RecallQuery
from context_service.packing.pure.texts import prefetch
from context_service.packing.store.views import ViewRows
from context_service.windows.model import Window
from service_runtime.inputs.documents import beside_the_loop
from service_runtime.rpc.principal import Principal


async def prefetched(
    views: ViewRows,
    recalling: Recalling,
    window: Window,
    out_of_view: Filter,
    items: Sequence[RecalledItem],
    known_refs: frozenset[str],
    principal: Principal,
) -> Recalled:
    """Recall passages about the things that goals and the last steps name.

    Passages of messages in `items` are left out, and those that the pack shows already.
    """
    goals, steps = await views.at_hand(window, count=prefetch.STEPS, principal=principal)
    names = await beside_the_loop(sum(map(len, goals)), prefetch.at_hand, goals, steps)
    tokens_max = min(prefetch.TOKENS_MAX, window.counted_limit // prefetch.TOKENS_SHARE)
    if not names or not tokens_max:
        return NOTHING_RECALLED
    others = replace(out_of_view, left_out=(*out_of_view.left_out, *((item.seq, item.seq) for item in items)))
    query = RecallQuery(text=" ".join(names), tokens_max=tokens_max, which=others, known_refs=known_refs, score_min=0.0)
    return await recalling.recall(window.context_id, query, principal=principal)
