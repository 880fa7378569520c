"""The notice before a fold: a note that tells the model to save its results, for windows that ask for it.

The note comes when the next step of average size would reach the high mark, or when a step as large as the largest of
the last ten would pass the limit together with the note. If a larger step passes the mark before that, the pack with
this step has the note, and the fold waits for the next step, if the pack fits the limit.
"""

from __future__ import annotations

from itertools import islice, takewhile

from context_service.packing.model import NOTICE, STEP, NewBlock, Pack
from context_service.packing.pure.body.caught_up_window import CaughtUpWindow
from context_service.packing.pure.steps.new_blocks import text_block

NOTICE_TEXT = (
    "[This window is nearly full. Soon results of older steps will be cleared, and older steps will become summaries. "
    "Save now what you need later and what is not yet saved: in a file, in your notes or plan, or in your answer.]"
)
_LAST_STEPS = 10  # the number of last steps whose largest size is expected for the next step


def notice_for(caught_up: CaughtUpWindow, pack: Pack) -> NewBlock | None:
    """Return the notice to append to a window after its last step, or None if none is due."""
    window, parts = caught_up.window, caught_up.body.parts
    if not window.config.notice_before_fold or caught_up.waiting or any(part.kind == NOTICE for part in parts):
        return None
    last = islice((part.tokens for part in reversed(parts) if part.zone == "verbatim"), _LAST_STEPS)
    notice = text_block(NOTICE, window.step_count, NOTICE_TEXT, window)
    # If the largest step comes next, its pack must have room for the notice, or the fold cannot wait for it.
    passes_limit = caught_up.tokens + max(last, default=0) + notice.tokens > window.counted_limit
    if not (passes_limit or (pack.step_count and not pack.fold_eta_steps)):
        return None
    return notice if caught_up.tokens + notice.tokens <= window.counted_limit else None


def waits_for_notice(caught_up: CaughtUpWindow) -> bool:
    """Say whether a window over its high mark must not fold yet, because the model must read the notice first."""
    window, parts = caught_up.window, caught_up.body.parts
    if not window.config.notice_before_fold or caught_up.waiting:
        return False
    if any(part.kind == NOTICE for part in parts):
        after_step = takewhile(lambda part: part.kind != STEP, reversed(parts))
        return any(part.kind == NOTICE for part in after_step) and caught_up.tokens <= window.counted_limit
    notice = text_block(NOTICE, window.step_count, NOTICE_TEXT, window)
    return caught_up.tokens + notice.tokens <= window.counted_limit
