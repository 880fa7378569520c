"""Counts what happens to windows, for metrics: packs, breaks of their prefix, folds, lookups and bills.

Metrics are sums over this process. Their labels have values from a fixed list: no ids of tenants, windows or contexts,
and only names of profiles that come with the service. They are for dashboards; for a single window, read its receipts.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, OrderedDict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import accumulate
from uuid import UUID

from context_service.folding.pure.folds import Fold, View
from context_service.folding.pure.summaries import SEGMENT
from context_service.profiles.pure.profiles import profile_names
from context_service.usage.model import Usage
from contextkeep.errors import AnswerTooLarge, BudgetTooSmall, TokensSpent, WindowBehind
from service_runtime.telemetry.metrics import Metrics

OWN = "own"  # the label for a profile that does not come with the service
# The reasons of breaks of a prefix: see `Receipt`.
REASONS = (
    *("high_mark", "files", "requested", "goal", "prepared", "cache_cold"),
    *("updated", "pinned", "unpinned", "retracted", "imported", "rolled_back"),
)
ZONES = ("system", "pins", "conversation", "digests", "segments", "state", "masked", "verbatim", "recalled", "notes")
VERDICTS = (
    *("accepted", "model", "schema", "cap", "ratio", "sources", "grounding"),
    *("superseded", "instruction", "refusal"),
)
_WINDOWS_MAX = 10_000  # the most windows whose last pack is remembered
_REFUSALS = (BudgetTooSmall, TokensSpent, WindowBehind, AnswerTooLarge)
_TENTHS = tuple(f"{tenth / 10:.1f}" for tenth in range(10))

_Key = tuple[UUID, UUID]  # tenant and window


class Telemetry:
    """Counts packs, breaks, folds, lookups and bills of windows, for metrics.

    Args:
        metrics: The registry of the server's metrics.
    """

    def __init__(self, metrics: Metrics) -> None:
        """Register the counters, each with all values that its labels may have."""
        profiles, levels = (*profile_names(), OWN), ("masked", "segments", "digests")
        self._last: OrderedDict[_Key, tuple[int, Mapping[str, int]]] = OrderedDict()
        self._packs = metrics.counter("contextkeep_window_packs", "Packs of windows", profile=profiles)
        self._breaks = metrics.counter(
            "contextkeep_window_breaks", "Breaks of a prefix, folds too", reason=REASONS, profile=profiles
        )
        self._pack_tokens = metrics.counter("contextkeep_window_pack_tokens", "Tokens of packs", zone=ZONES)
        self._prefix_tokens = metrics.counter(
            "contextkeep_window_prefix_tokens",
            "Tokens of packs: those that the pack before had in front, and the others",
            part=("read", "written"),
        )
        self._billed = metrics.counter(
            "contextkeep_window_billed_tokens",
            "Tokens that vendors billed, as callers said",
            part=("read", "written", "plain", "output"),
        )
        self._folded = metrics.counter(
            "contextkeep_window_fold_tokens",
            "Tokens of what folds put into another level, before and after",
            level=levels,
            side=("before", "after"),
        )
        self._evicted = metrics.counter(
            "contextkeep_window_evictions",
            "What folds took out of view",
            what=("masked_step", "merged_step", "digested_summary", "appended"),
        )
        self._units = metrics.counter(
            "contextkeep_window_units",
            "Lines that folds chose from, by their importance, rounded down",
            importance=_TENTHS,
            fate=("shown", "left_out"),
        )
        self._asked = metrics.counter(
            "contextkeep_window_segments",
            "Segments that a model was asked for: accepted, or which check they failed",
            verdict=VERDICTS,
        )
        self._model_tokens = metrics.counter(
            "contextkeep_window_model_tokens",
            "Tokens that a model was asked and answered for segments, as this service counts them",
            part=("asked", "answered"),
        )
        self._lookups = metrics.counter(
            "contextkeep_window_lookups", "Looks at what is out of view", how=("expand", "search")
        )
        self._learned = metrics.counter(
            "contextkeep_window_learned", "Versions of profiles that were learned", profile=profiles
        )
        self._refused = metrics.counter(
            "contextkeep_window_refusals",
            "Packs, and changes of windows, that were refused for tokens or time",
            reason=[error.reason for error in _REFUSALS],
        )

    def count_pack(self, key: _Key, epoch: int, zones: Mapping[str, int], *, profile: str) -> None:
        """Count a pack.

        The tokens are counted as repeated (in the vendor's cache) or as written. A pack of the same epoch repeats the
        whole earlier pack. In a new epoch, only the zones before the first zone with another number of tokens are
        repeated. If this process does not remember an earlier pack of the window, all tokens count as written.

        Args:
            key: Identifies the window.
            epoch: The epoch of the window.
            zones: The tokens of the pack by zone, the most stable zone first.
            profile: The name of the window's compression profile.
        """
        before_epoch, before = self._last.pop(key, (epoch, {}))
        self._last[key] = epoch, zones
        if len(self._last) > _WINDOWS_MAX:
            self._last.popitem(last=False)
        total = sum(zones.values())
        if before_epoch == epoch:
            cached_tokens = min(sum(before.values()), total)
        else:
            cached_tokens = 0
            for zone, tokens in zones.items():
                if before[zone] != tokens:
                    break
                cached_tokens += tokens
        self._packs(profile=_profile_label(profile))
        for zone, tokens in zones.items():
            self._pack_tokens(tokens, zone=zone)
        self._prefix_tokens(cached_tokens, part="read")
        self._prefix_tokens(total - cached_tokens, part="written")

    def count_break(self, reason: str, *, profile: str) -> None:
        """Count a break of a prefix.

        Args:
            reason: The reason of the break, one of those of `Receipt`.
            profile: The name of the window's compression profile.
        """
        self._breaks(reason=reason, profile=_profile_label(profile))

    def count_fold(self, before: View, fold: Fold) -> None:
        """Count the tokens and steps that a fold removed, and those that replace them."""
        masked_blocks = [block for block in before.blocks if block.number in fold.masked]
        self._folded(sum(block.tokens for block in masked_blocks), level="masked", side="before")
        self._folded(sum(block.masked_tokens for block in masked_blocks), level="masked", side="after")
        merged_blocks = [block for block in before.blocks if block.number in fold.merged]
        ids_after, ids_before = set(map(id, fold.view.summaries)), set(map(id, before.summaries))
        removed_summaries = [summary for summary in before.summaries if id(summary) not in ids_after]
        steps = sorted(
            [(block.step, block.tokens) for block in merged_blocks]
            + [(summary.step_from, summary.tokens) for summary in removed_summaries]
        )
        sums = [0, *accumulate(tokens for _, tokens in steps)]
        for new_summary in fold.view.summaries:
            if id(new_summary) in ids_before:
                continue
            level = "segments" if new_summary.level == SEGMENT else "digests"
            first, end = (bisect_left(steps, (place,)) for place in (new_summary.step_from, new_summary.step_to + 1))
            self._folded(sums[end] - sums[first], level=level, side="before")
            self._folded(new_summary.tokens, level=level, side="after")
        for what, count in (
            ("masked_step", len(masked_blocks)),
            ("merged_step", len(merged_blocks)),
            ("digested_summary", len(removed_summaries)),
            ("appended", len(fold.dropped)),
        ):
            self._evicted(count, what=what)
        for (tenth, is_shown), count in Counter((_tenth(worth), is_shown) for worth, is_shown in fold.worth).items():
            self._units(count, importance=tenth, fate="shown" if is_shown else "left_out")

    def count_written_segment(self, verdict: str) -> None:
        """Count a segment that a model wrote or failed to write."""
        self._asked(verdict=verdict.partition(":")[0])

    def count_model_tokens(self, part: str, tokens: int) -> None:
        """Count tokens of a model that writes segments: those it was "asked", and those it "answered"."""
        self._model_tokens(tokens, part=part)

    def looked_up(self, how: str) -> None:
        """Count a lookup of text that the pack does not show: `expand` or `search`."""
        self._lookups(how=how)

    def learned(self, profile: str) -> None:
        """Count a version of a profile that was learned."""
        self._learned(profile=_profile_label(profile))

    def count_bill(self, usage: Usage) -> None:
        """Count the tokens that a vendor billed for a call of a model."""
        plain = usage.input_tokens - usage.cached_tokens - usage.cache_write_tokens
        for part, tokens in (
            ("read", usage.cached_tokens),
            ("written", usage.cache_write_tokens),
            ("plain", plain),
            ("output", usage.output_tokens),
        ):
            self._billed(tokens, part=part)

    @contextmanager
    def refusals(self) -> Iterator[None]:
        """Count the packs and changes that the block refuses for tokens or time."""
        try:
            yield
        except _REFUSALS as error:
            self._refused(reason=error.reason)
            raise


def _profile_label(profile: str) -> str:
    """Return the name of a profile as a label: `OWN` if it does not come with the service."""
    name = profile.partition("@")[0]  # a learned version has its base before the @
    return name if name in profile_names() else OWN


def _tenth(worth: float) -> str:
    """Return the label of the tenth of the range from 0 to 1 that an importance is in."""
    return _TENTHS[min(max(int(worth * 10), 0), 9)]
