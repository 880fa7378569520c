"""The chart of a long run, as SVG: what prompts are made of, when the window folds, and what it all costs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from itertools import accumulate

ZONES = {  # the most stable at the bottom
    "system": "#8c959f",
    "pins": "#cf222e",
    "note": "#b3924f",
    "conversation": "#1b4b91",
    "digests": "#2f6fd0",
    "segments": "#79b0f0",
    "state": "#a371f7",
    "masked": "#2da18e",
    "verbatim": "#8ccf9b",
    "recalled": "#e8833a",
}
LINES = ("#2f6fd0", "#e8833a", "#2da18e", "#a371f7")
WIDTH, LEFT, RIGHT, TOP, GAP = 1_100, 64, 220, 56, 104
COLUMNS, LAST_STEPS = 200, 200  # of the first panel; steps of the second
STYLE = """
  text { font: 13px system-ui, sans-serif; fill: #1f2328 }
  .title { font-size: 15px; font-weight: 600 }
  .quiet, .tick { fill: #59636e }
  .tick { font-size: 12px }
  .page { fill: #ffffff }
  .grid { stroke: #d1d9e0; stroke-width: 1 }
  .limit { stroke: #cf222e; stroke-width: 1.5; stroke-dasharray: 6 4; fill: none }
  .fold { stroke: #1f2328; stroke-width: 1; fill: none }
  .line { fill: none }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 }
    .quiet, .tick { fill: #9198a1 }
    .page { fill: #0d1117 }
    .grid { stroke: #30363d }
    .limit { stroke: #ff7b72 }
    .fold { stroke: #e6edf3 }
  }
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """A part of the chart, with axes of its own."""

    title: str
    about: str
    top: float
    height: float
    steps: tuple[int, int]  # the first and the last
    y_max: float

    @property
    def bottom(self) -> float:
        """Where its axis is."""
        return self.top + self.height

    def x(self, step: float) -> float:
        """Return where a step is."""
        first, last = self.steps
        return LEFT + (step - first) / (last - first) * (WIDTH - LEFT - RIGHT)

    def y(self, amount: float) -> float:
        """Return where an amount is."""
        return self.bottom - self.height * amount / self.y_max

    def points(self, along: Iterable[tuple[float, float]]) -> str:
        """Return the points of a line."""
        return " ".join(f"{self.x(step):.1f},{self.y(amount):.1f}" for step, amount in along)

    def frame(self, unit: float, suffix: str) -> Iterator[str]:
        """Yield title, grid and labels."""
        yield text(LEFT, self.top - 30, self.title, "title")
        yield text(LEFT, self.top - 12, self.about, "quiet")
        for amount in ticks(0, self.y_max):
            y = self.y(amount)
            yield f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
            yield text(LEFT - 8, y + 4, f"{amount / unit:g}{suffix if amount else ''}", "tick", "end")
        for step in ticks(*self.steps):
            yield text(self.x(step), self.bottom + 24, f"{step:,.0f}", "tick", "middle")


def chart(
    *,
    packed_at: Sequence[int],
    zones: Sequence[Mapping[str, int]],
    limit: int,
    folded_at: Sequence[int],
    costs: Mapping[str, Sequence[float]],
) -> str:
    """Return the chart of a run.

    Args:
        packed_at: Behind which steps prompts were made.
        zones: The tokens of each of them.
        limit: Tokens of a prompt.
        folded_at: Behind which steps the window folded.
        costs: By way, what each prompt costs, in tokens.
    """
    last = packed_at[-1]
    size = math.ceil(len(zones) / COLUMNS)
    means = [mean(zones[at : at + size]) for at in range(0, len(zones), size)]
    middles = [packed_at[min(at + size // 2, len(zones) - 1)] for at in range(0, len(zones), size)]
    middles[0], middles[-1] = packed_at[0], last
    recent = [number for number, step in enumerate(packed_at) if step > last - LAST_STEPS]
    sums = {name: list(accumulate(each)) for name, each in costs.items()}

    whole = Panel(
        title="What a prompt is made of",
        about=f"tokens by zone{f', the mean of {size} prompts each' if size > 1 else ''}; "
        f"marks below the axis: {len(folded_at):,} folds",
        top=TOP,
        height=210,
        steps=(packed_at[0], last),
        y_max=limit * 1.08,
    )
    end = replace(
        whole,
        title=f"The last {last - packed_at[recent[0]] + 1} steps, prompt by prompt",
        about="it grows with each step, until a fold removes half of it",
        top=whole.bottom + GAP,
        steps=(packed_at[recent[0]], last),
    )
    cost = replace(
        whole,
        title="What all prompts have cost so far",
        about="millions of tokens; a token is 0.1 from a vendor's cache, 1.25 into it, 1 past it",
        top=end.bottom + GAP,
        height=250,
        y_max=max(item[-1] for item in sums.values()) * 1.05,
    )
    height = cost.bottom + 56
    drawn = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
        f'role="img" aria-label="{last:,} steps of an agent through a window of {limit:,} tokens">',
        f"<style>{STYLE}</style>",
        f'<rect class="page" width="{WIDTH}" height="{height}"/>',
        *stacked(whole, list(zip(middles, means, strict=True)), limit, folded_at),
        *stacked(end, [(packed_at[item], zones[item]) for item in recent], limit, folded_at),
        *lines(cost, packed_at, sums),
        text((LEFT + WIDTH - RIGHT) / 2, height - 12, "steps", "quiet", "middle"),
        "</svg>\n",
    ]
    return "\n".join(drawn)


def stacked(
    panel: Panel, prompts: Sequence[tuple[int, Mapping[str, float]]], limit: int, folded_at: Sequence[int]
) -> Iterator[str]:
    """Yield a panel with an area for each zone, a line for the limit, marks for folds, and a legend."""
    yield from panel.frame(1_000, "k")
    below = [0.0] * len(prompts)
    there = [zone for zone in ZONES if any(zones.get(zone) for _, zones in prompts)]
    for zone in there:
        above = [sum_ + zones.get(zone, 0) for sum_, (_, zones) in zip(below, prompts, strict=True)]
        steps = [step for step, _ in prompts]
        around = [*zip(steps, above, strict=True), *reversed(list(zip(steps, below, strict=True)))]
        yield f'<polygon fill="{ZONES[zone]}" points="{panel.points(around)}"/>'
        below = above
    yield f'<polyline class="limit" points="{panel.points((step, limit) for step in panel.steps)}"/>'
    marks = (f"M{panel.x(step):.1f} {panel.bottom + 2}v7" for step in folded_at if step >= panel.steps[0])
    yield f'<path class="fold" d="{"".join(marks)}"/>'
    yield text(WIDTH - RIGHT + 14, panel.y(limit) + 4, f"limit, {limit:,}")
    for row, zone in enumerate(reversed(there)):
        y = panel.top + 34 + row * 21
        yield f'<rect fill="{ZONES[zone]}" x="{WIDTH - RIGHT + 14}" y="{y}" width="13" height="13" rx="2"/>'
        yield text(WIDTH - RIGHT + 34, y + 11, zone)


def lines(panel: Panel, packed_at: Sequence[int], sums: Mapping[str, Sequence[float]]) -> Iterator[str]:
    """Yield a panel with a line for each way, named where it ends; the first is drawn above the others."""
    yield from panel.frame(1_000_000, "M")
    every = max(len(packed_at) // COLUMNS, 1)
    colored = list(zip(sums.items(), LINES, strict=False))
    for (_, sum_), color in reversed(colored):
        along = [*zip(packed_at[::every], sum_[::every], strict=True), (packed_at[-1], sum_[-1])]
        width = 2 if color == LINES[0] else 4
        yield f'<polyline class="line" stroke="{color}" stroke-width="{width}" points="{panel.points(along)}"/>'
    y = math.inf
    for (name, sum_), color in sorted(colored, key=lambda row: row[0][1][-1]):
        y = min(panel.y(sum_[-1]) + 4, y - 36)  # so that no name stands on another
        yield f'<rect fill="{color}" x="{WIDTH - RIGHT + 14}" y="{y - 11:.1f}" width="13" height="13" rx="2"/>'
        yield text(WIDTH - RIGHT + 34, y, name)
        yield text(WIDTH - RIGHT + 34, y + 16, f"{sum_[-1] / len(sum_):,.0f} a prompt", "tick")


def text(x: float, y: float, what: str, kind: str = "", anchor: str = "start") -> str:
    """Return a line of text."""
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(what)}</text>'


def ticks(low: float, high: float) -> Iterator[float]:
    """Yield four to nine round numbers of a range."""
    unit = 10 ** math.floor(math.log10((high - low) / 2))
    step = next(unit * item for item in (0.5, 1, 2, 5) if (high - low) / (unit * item) < 9)
    value = math.ceil(low / step) * step
    while value <= high:
        yield value
        value += step


def mean(zones: Sequence[Mapping[str, int]]) -> dict[str, float]:
    """Return what some prompts have on average."""
    return {zone: sum(item.get(zone, 0) for item in zones) / len(zones) for zone in ZONES}
