"""Laying out a pack: its body, its tokens by zone, and the markers for a vendor's prompt cache."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate, islice, takewhile

from context_service.kernel.rendering import Body
from context_service.packing.model import STEP, SUMMARY, Pack, Prefix, ViewPart, Zones, zones_by
from context_service.packing.pure.body.breakpoints import Breakpoint, breakpoints
from context_service.packing.pure.body.caught_up_window import CaughtUpWindow, limits_of
from context_service.packing.pure.body.zones import ZONES
from context_service.windows.model import Window
from context_service.windows.pure.models import LOOK_BACK_BLOCKS, model
from context_service.windows.pure.refs import refs_between
from contextkeep.errors import AnswerTooLarge

PACK_BYTES_MAX = 4 * 1024 * 1024 - 64 * 1024
_LAST_STEPS = 10  # the mean size of this many last steps says when the next fold comes


def pack_of(caught_up: CaughtUpWindow, known_prefix: Prefix, *, is_inline: bool = False) -> Pack:
    """Lay out the pack of a window, without the first bytes that the caller already has, and without bytes of files.

    Args:
        caught_up: The window, with its log read to the end.
        known_prefix: The hash and the length of the bytes that the caller has from an earlier pack.
        is_inline: The bytes of files will be inserted, so all bytes after the first file are sent.

    Raises:
        AnswerTooLarge: the pack has more than `PACK_BYTES_MAX` bytes.
    """
    window, window_body, waiting = caught_up.window, caught_up.body, caught_up.waiting
    body, note_tokens = window_body.with_waiting(waiting)
    prefix, end = body.prefix, body.end
    size = len(prefix) + len(end)
    if size > PACK_BYTES_MAX:
        raise AnswerTooLarge(
            f"the pack has {size:,} bytes; an answer may have up to {PACK_BYTES_MAX:,}",
            size_bytes=size,
            size_bytes_max=PACK_BYTES_MAX,
        )
    files = body.files
    offset = known_prefix.size_bytes if _has_prefix(prefix, known_prefix) else 0
    if is_inline and files and files[0].offset_bytes < offset:
        offset = 0  # the caller's first bytes have other positions
    known_spans = body.spans_before(offset) if offset else 0
    # A waiting step that is cut will look different when its results come, so it is not part of the stable prefix.
    is_cut = waiting is not None and waiting.is_cut
    stays = window_body.body if is_cut else body
    stable = window_body.body.prefix if is_cut else prefix
    zones = zones_by(window, window_body.tokens)
    zones = replace(zones, verbatim=zones.verbatim + caught_up.waiting_tokens, notes=zones.notes + note_tokens)
    return Pack(
        window=window,
        messages_json=prefix[offset:] + end,
        offset_bytes=offset,
        prefix_bytes=len(stable),
        prefix_sha=hashlib.sha256(stable).hexdigest(),
        zones=zones,
        step_count=window_body.step_count + (1 if waiting else 0),
        fold_eta_steps=_fold_eta(zones, window_body.parts, window),
        last_seq=caught_up.last_seq,
        is_waiting=waiting is not None,
        breakpoints=_breakpoints(caught_up, zones, stays, is_cut=is_cut),
        omitted_refs=[refs_between(part.seq_from, part.seq_to) for part in window_body.parts if part.kind == SUMMARY],
        known_span_count=known_spans,
        spans=body.spans[known_spans:],
        files=files,
        recalled_refs=list(dict.fromkeys(ref for part in window_body.parts for ref in part.refs)),
    )


def _breakpoints(caught_up: CaughtUpWindow, zones: Zones, stays: Body, *, is_cut: bool) -> list[Breakpoint]:
    """Return the places for cache markers: after the zones before the steps, and after the part that stays.

    The part that stays is the part that all packs of this epoch repeat.

    Args:
        caught_up: The window, with its log read to the end.
        zones: The tokens of the pack, by zone.
        stays: The part of the body that the next packs repeat.
        is_cut: A step waits for results, and is not part of `stays`.
    """
    window, body, waiting = caught_up.window, caught_up.body, caught_up.waiting
    names = ("system", *(zone.name for zone in ZONES))
    before = dict(zip(names, accumulate(getattr(zones, name) for name in names), strict=True))
    places = [Breakpoint(pointer, name, before[name]) for name, pointer in body.ends]
    all_tokens = zones.all - (caught_up.waiting_tokens if is_cut else 0)
    if waiting is None and body.last_pieces > LOOK_BACK_BLOCKS.get(window.format, body.last_pieces):
        # The earlier pack ended before the last step, and the vendor does not look that far back for a marker.
        after = takewhile(lambda part: part.kind != STEP, reversed(body.parts))
        last = next(part for part in reversed(body.parts) if part.kind == STEP)
        of_last = last.tokens + sum(part.tokens for part in after)
        places.append(Breakpoint(body.last_from, "verbatim", all_tokens - of_last))
    places.append(Breakpoint(stays.pointer, "verbatim", all_tokens))
    return breakpoints(places, least_tokens=model(window.model).cache_tokens_min)


def _has_prefix(prefix: bytes, known_prefix: Prefix) -> bool:
    """Say whether the caller has the first bytes of the pack, and the rest begins with an ASCII character.

    The rest is sent as text, so it must not begin within a character of several bytes.
    """
    is_character = prefix[known_prefix.size_bytes : known_prefix.size_bytes + 1] < b"\x80"
    return (
        0 < known_prefix.size_bytes <= len(prefix)
        and is_character
        and hashlib.sha256(prefix[: known_prefix.size_bytes]).hexdigest() == known_prefix.sha
    )


def _fold_eta(zones: Zones, parts: Sequence[ViewPart], window: Window) -> int:
    """Estimate after how many steps, of the size of the last ones, the window reaches its high mark."""
    last = [part.tokens for part in islice((part for part in reversed(parts) if part.zone == "verbatim"), _LAST_STEPS)]
    mean = sum(last) / len(last) if last else 0
    return int(max(limits_of(window).high - zones.all, 0) / mean) if mean else 0
