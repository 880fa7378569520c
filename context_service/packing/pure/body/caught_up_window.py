"""A window that has read its log, and when it has to fold."""

from __future__ import annotations

from dataclasses import dataclass

from context_service.folding.pure.folds import Limits
from context_service.kernel.files.limits import NO_FILES, FileUse
from context_service.kernel.files.models import media_model
from context_service.packing.pure.body.front import front_tokens
from context_service.packing.pure.body.window_body import WindowBody
from context_service.packing.pure.steps.blocks import Block
from context_service.windows.model import Window, WindowSnapshot

# A share of the lifetime of the vendor's cache. A pack of the same log within this time is not recorded again.
_PACKED_SHARE = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class CaughtUpWindow:
    """A window that has read all of its log, and the body of its packs.

    Attributes:
        waiting: The step that waits for results, or None if none waits.
        last_seq: The `seq` of the last message of the log.
        packed_seq: The last message of the log when the window was packed last for a model.
        idle_s: Seconds since that pack, or None if the window was never packed for a model.
    """

    window: Window
    body: WindowBody
    waiting: Block | None
    last_seq: int
    packed_seq: int
    idle_s: float | None

    @property
    def waiting_tokens(self) -> int:
        """The tokens of the step that waits for results; 0 if none waits."""
        return self.waiting.tokens if self.waiting else 0

    @property
    def tokens(self) -> int:
        """The tokens of the pack."""
        return front_tokens(self.window) + sum(self.body.tokens.values()) + self.waiting_tokens

    @property
    def files(self) -> FileUse:
        """What the files of the pack use of the vendor's limits."""
        return self.body.files.plus(self.waiting.files if self.waiting else NO_FILES)

    @property
    def is_over_files(self) -> bool:
        """Whether the vendor refuses the pack because of its files."""
        return self.files.is_over(media_model(self.window.model, self.window.format).limits)

    @property
    def counts_as_packed(self) -> bool:
        """Whether the time and the last message of this pack must be recorded, because the next pack asks for them."""
        if self.waiting:  # no model gets a pack whose last step waits for results
            return False
        if self.idle_s is None or self.packed_seq < self.last_seq:
            return True
        return 0 < _PACKED_SHARE * self.window.config.cache_ttl_s < self.idle_s


def limits_of(window: Window) -> Limits:
    """Return the high and low marks of a window in tokens: above the high mark it folds, down to the low mark."""
    return Limits.of(window.counted_limit, window.config)


def is_cold(last: WindowSnapshot | CaughtUpWindow) -> bool:
    """Say whether the vendor's cache of the last pack has expired and new messages came since that pack.

    Without new messages the answer is no, so that two packs of the same log are equal.
    """
    ttl_s = last.window.config.cache_ttl_s
    return last.idle_s is not None and 0 < ttl_s < last.idle_s and last.packed_seq < last.last_seq


def half_way(window: Window) -> int:
    """Return the tokens above which a window folds when its cache is cold: halfway between its marks.

    With a cold cache a fold wastes no cached tokens, it only loses detail, and above this size a fold would come soon
    anyway. Below this size the window does not fold, because else each pause would cause a fold.
    """
    limits = limits_of(window)
    return (limits.low + limits.high) // 2
