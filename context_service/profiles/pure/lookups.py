"""Learning from lookups: compute new weights and limits of a profile from counts. Values in, values out.

A lookup is a call (`Expand` or `SearchWindow`) for a text that a fold removed from the packs. For each kind of line the
counts say how many lines folds removed, and how many lookups returned such a line. For each rule about tool results
they say how many results were masked, and how many of these were expanded. A kind that is looked up more often than the
average gets a greater weight, by at most `BOUND`; a kind that is looked up less often gets a smaller one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from context_service.folding.pure.folds import Fold, View
from context_service.profiles.pure.profiles import TRIM_CHARS_MAX, Profile

CONTEXTS_MIN = 20  # with fewer contexts nothing is learned, so that no learned number reveals a single context
BOUND = 0.2  # the most by which a weight or a limit changes, as a share of it
SEEN_MIN = 20  # a kind with fewer removed lines stays unchanged
_COUNT_MAX = 2**53  # JSON parsers that use doubles read integers up to this exactly
_DEFAULT = "default"  # the rule for results that no other rule matches


class Count(NamedTuple):
    """How many lines or results of one kind folds removed, and how many of these were looked up."""

    seen: int = 0  # how many were removed from the packs
    looked_up: int = 0  # how many of these were looked up

    def plus(self, other: Count) -> Count:
        """Return the sum of both counts."""
        return Count(self.seen + other.seen, self.looked_up + other.looked_up)


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """Counts of lookups.

    Attributes:
        lines: Counts by the kind of line in the profile.
        results: Counts by the rule of `tool_output_trim`: its number, from 0, or `default`.
    """

    lines: Mapping[str, Count] = field(default_factory=dict)
    results: Mapping[str, Count] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.lines or self.results)

    def plus(self, other: Counts) -> Counts:
        """Return the sum of both counts, kind by kind."""
        return Counts(lines=_plus(self.lines, other.lines), results=_plus(self.results, other.results))


class Learned(NamedTuple):
    """The factors for the weights of lines and the limits of results. Kinds and rules without a factor stay."""

    lines: Mapping[str, float]
    results: Mapping[str, float]

    def __bool__(self) -> bool:
        return bool(self.lines or self.results)


def count_removed(before: View, fold: Fold, tools: Iterable[Iterable[str]], profile: Profile) -> Counts:
    """Count the lines and results that a fold removes from view.

    Args:
        before: The window before the fold.
        fold: The fold, with the blocks that it merges and masks.
        tools: For each step that the fold masks, the names of the tools that it called.
        profile: The compression profile of the window.
    """
    lines: dict[str, Count] = {}
    for block in before.blocks:
        for unit in block.units if block.number in fold.merged else ():
            lines[unit.kind] = lines.get(unit.kind, Count()).plus(Count(seen=1))
    results: dict[str, Count] = {}
    for names in tools:
        for rule in {rule_of(name, profile) for name in names}:
            results[rule] = results.get(rule, Count()).plus(Count(seen=1))
    return Counts(lines=lines, results=results)


def count_lookup(kinds: Iterable[str], tools: Iterable[str], profile: Profile) -> Counts:
    """Return the counts of one lookup of text that the pack does not show.

    Args:
        kinds: The kinds of the lines that were looked up.
        tools: The tools of the masked step. If several rules apply to them, no result is counted, because it is not
            known which result was wanted.
        profile: The compression profile of the window.
    """
    rules = {rule_of(name, profile) for name in tools}
    return Counts(
        lines={kind: Count(looked_up=1) for kind in kinds},
        results={rule: Count(looked_up=1) for rule in rules} if len(rules) == 1 else {},
    )


def rule_of(tool: str, profile: Profile) -> str:
    """Return the rule of `tool_output_trim` that applies to a tool: its number, or `default`."""
    number = profile.trim_rule_of(tool)
    return _DEFAULT if number is None else str(number)


def learned(counts: Counts) -> Learned:
    """Return the factors that follow from counts of lookups."""
    return Learned(_factors(counts.lines), _factors(counts.results))


def applied(profile: Profile, what: Learned) -> Profile:
    """Return a profile with its weights and limits multiplied by learned factors. Weights stay at most 1."""

    def cap(chars: int, rule: str) -> int:
        return min(round(chars * what.results.get(rule, 1.0)), TRIM_CHARS_MAX)

    return replace(
        profile,
        high=tuple(
            replace(rule, weight=min(rule.weight * what.lines.get(rule.kind, 1.0), 1.0)) for rule in profile.high
        ),
        trim=tuple((pattern, cap(chars, str(number))) for number, (pattern, chars) in enumerate(profile.trim)),
        trim_default=cap(profile.trim_default, _DEFAULT),
    )


def counts_of(fields: Mapping[str, Any]) -> Counts:
    """Return the counts that `counts_json` wrote."""
    return Counts(
        **{
            name: {kind: Count(*fields_of_count) for kind, fields_of_count in fields.get(name, {}).items()}
            for name in ("lines", "results")
        }
    )


def learned_of(fields: Mapping[str, Any]) -> Learned:
    """Return `Learned` from its stored form.

    Factors are cut to the range that `BOUND` allows, because an imported archive may have any numbers.
    """
    lines, results = (
        {kind: min(max(float(factor), 1 - BOUND), 1 + BOUND) for kind, factor in fields.get(name, {}).items()}
        for name in Learned._fields
    )
    return Learned(lines, results)


def check_learned(value: object) -> None:
    """Check a stored `Learned`.

    Raises:
        ValueError: the document does not have the stored form.
    """
    _check(value, lambda factor: type(factor) in (int, float))


def check_counts(value: object) -> None:
    """Check stored counts.

    Raises:
        ValueError: the document does not have the form that `counts_json` writes.
    """
    _check(value, lambda item: isinstance(item, list) and len(item) == len(Count._fields) and all(map(_is_count, item)))


def _is_count(item: object) -> bool:
    """Return whether a value is a count that JSON can hold."""
    return type(item) is int and 0 <= item <= _COUNT_MAX


def _check(value: object, is_good: Callable[[object], bool]) -> None:
    """Check that a document has only lines and results, and that each of their values passes `is_good`.

    Raises:
        ValueError: the document has another form.
    """
    if not isinstance(value, dict) or not value.keys() <= set(Learned._fields):
        raise ValueError("it must be an object with only lines and results")
    for name, kinds in value.items():
        if not isinstance(kinds, dict):
            raise ValueError(f"{name} must be an object")
        for kind, count in kinds.items():
            if not is_good(count):
                raise ValueError(f"{name}.{kind[:100]} is not a value that was counted or learned")


def counts_json(counts: Counts) -> dict[str, Any]:
    """Return counts in their stored form."""
    return {
        "lines": {kind: list(count) for kind, count in counts.lines.items()},
        "results": {rule: list(count) for rule, count in counts.results.items()},
    }


def is_due(context_count: int, learned_count: int) -> bool:
    """Say whether a new version must be learned: from enough contexts, and from twice as many as the last version."""
    return context_count >= max(CONTEXTS_MIN, 2 * learned_count)


def _plus(counts: Mapping[str, Count], other: Mapping[str, Count]) -> Mapping[str, Count]:
    """Return the sums of counts, kind by kind."""
    return {**counts, **{kind: counts.get(kind, Count()).plus(more) for kind, more in other.items()}}


def _factors(counts: Mapping[str, Count]) -> Mapping[str, float]:
    """Return the factor of each kind: its share of lookups, compared with the share over all kinds.

    Kinds with few removed lines, and factors of 1, are left out.
    """
    enough = {kind: counted for kind, counted in counts.items() if counted.seen >= SEEN_MIN}
    together = sum(count.looked_up for count in enough.values())
    if not together:
        return {}
    mean = together / sum(count.seen for count in enough.values())
    factors = {
        kind: round(1 + BOUND * min(max(counted.looked_up / counted.seen / mean - 1, -1.0), 1.0), 3)
        for kind, counted in enough.items()
    }
    return {kind: factor for kind, factor in sorted(factors.items()) if factor != 1}
