"""Spans of a pack that leaves out what the caller has: only those of the part that is sent."""

from __future__ import annotations

from itertools import pairwise

import pytest

from context_service.kernel.rendering import Format
from contextkeep.values.windows import pack_of
from tests.context_service.contexts.callers import Caller
from tests.context_service.windows.calling import FORMATS, calls, opened, packed, result, said


@pytest.mark.parametrize("to", FORMATS)
async def test_an_incremental_pack_has_only_the_spans_of_its_new_part(caller: Caller, to: Format):
    context_id = await said(
        caller, "", {"content": "Look at it."}, calls("a", content="I look."), result("a", "It is green.")
    )
    window = await opened(caller, context_id, format=FORMATS[to], system_prompt="Be brief.")
    first = await packed(caller, window)
    await said(caller, context_id, calls("b", content="Again."), result("b", "It is blue."), {"content": "Fine."})

    known = {"if_prefix_sha": first.prefix_sha, "if_prefix_bytes": first.prefix_bytes}
    more, whole = await packed(caller, window, **known), await packed(caller, window)

    assert more.offset_bytes == first.prefix_bytes
    assert 0 < len(more.spans) < len(whole.spans)
    assert [*first.spans[: more.known_span_count], *more.spans] == list(whole.spans)
    assert whole.known_span_count == 0
    since = pack_of(first, None)
    assert pack_of(more, since) == pack_of(whole, None)
    assert [span.author for span in pack_of(more, since).sources_of("It is blue.")] == ["tool look"]


async def test_of_a_waiting_step_that_changes_the_spans_are_sent_again(caller: Caller):
    """Its calls are the end of the first pack, and the results come later."""
    context_id = await said(caller, "", {"content": "Look at it."}, calls("a", "b"), result("a", "green " * 9_000))
    window = await opened(caller, context_id, 8_000)
    first = await packed(caller, window)
    assert first.is_waiting
    await said(caller, context_id, result("b", "blue"), {"content": "Fine."})

    known = {"if_prefix_sha": first.prefix_sha, "if_prefix_bytes": first.prefix_bytes}
    more, whole = await packed(caller, window, **known), await packed(caller, window)

    assert pack_of(more, pack_of(first, None)) == pack_of(whole, None)


async def test_spans_of_a_window_that_was_packed_after_each_step_are_those_of_a_new_window(caller: Caller):
    """The service keeps how it wrote the spans of earlier packs."""
    context_id = await said(caller, "", {"content": "Sieh dir das an.", "name": "Ännchen"})
    window = await opened(caller, context_id)
    seen = []
    for number in range(4):
        await said(caller, context_id, calls(f"c{number}", content="I look."), result(f"c{number}", f"Teil {number}"))
        seen.append(list((await packed(caller, window)).spans))
    of_new = list((await packed(caller, await opened(caller, context_id))).spans)

    assert seen[-1] == of_new
    assert all(later[: len(earlier)] == earlier for earlier, later in pairwise(seen))
    assert {span.author for span in of_new} == {"user Ännchen", "assistant", "tool look"}
