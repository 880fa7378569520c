"""Charts: values in, shapes out, which templates/charts.html draws as SVG with a title, a description and a table.

No library draws them: those that do put styles and scripts into the picture, which our pages refuse, and a browser
needs no more than rectangles and lines.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

WIDTH, HEIGHT = 720, 240
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 16, 12, 34
COLOURS = 9  # of the style sheet: "c0" to "c8"


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """A piece of a whole."""

    name: str
    value: float
    start: float  # in per cent of the whole, as the next one
    width: float
    colour: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Stack:
    """A whole and its pieces, side by side."""

    title: str
    description: str
    unit: str
    total: float
    shares: Sequence[Share]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """A bar, as long as its value."""

    name: str
    value: float
    width: float  # in per cent of the longest
    is_negative: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Bars:
    """Values that are compared."""

    title: str
    description: str
    unit: str
    bars: Sequence[Bar]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tick:
    """A mark of an axis."""

    place: float
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A place of a line that something happened at."""

    x: float
    y: float
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """How a value went."""

    title: str
    description: str
    x_name: str
    y_name: str
    points: Sequence[tuple[float, float]]  # as they were given
    line: str  # of an SVG path, as the next one
    area: str
    x_ticks: Sequence[Tick]
    y_ticks: Sequence[Tick]
    marks: Sequence[Mark]
    limit_y: float | None  # where a line of a limit is drawn
    limit_text: str
    width: int = WIDTH
    height: int = HEIGHT
    left: int = _LEFT
    right: int = WIDTH - _RIGHT
    bottom: int = HEIGHT - _BOTTOM


def stack(title: str, values: Mapping[str, float], *, unit: str, description: str = "", whole: float = 0) -> Stack:
    """Return pieces side by side.

    Args:
        title: Title of the chart.
        values: The pieces, in their order; those of 0 are left out.
        unit: Unit of the numbers.
        description: What to see in it. Empty: the largest piece.
        whole: The total of which the numbers are shares; 0: their sum.
    """
    total = sum(values.values())
    whole = max(whole, total) or 1
    shares, start = [], 0.0
    for place, (name, value) in enumerate(values.items()):
        if value > 0:
            width = value / whole * 100
            shares.append(Share(name=name, value=value, start=start, width=width, colour=place % COLOURS))
            start += width
    if not description and shares:
        largest = max(shares, key=lambda share: share.value)
        description = f"Most of it is {largest.name}: {largest.value:,.0f} of {total:,.0f} {unit}."
    return Stack(title=title, description=description, unit=unit, total=total, shares=shares)


def bars(title: str, values: Mapping[str, float], *, unit: str, description: str = "") -> Bars:
    """Return values that are compared, in their order."""
    longest = max((abs(value) for value in values.values()), default=0) or 1
    return Bars(
        title=title,
        description=description,
        unit=unit,
        bars=[
            Bar(name=name, value=value, width=abs(value) / longest * 100, is_negative=value < 0)
            for name, value in values.items()
        ],
    )


def line(
    title: str,
    points: Sequence[tuple[float, float]],
    *,
    x_name: str,
    y_name: str,
    description: str,
    marks: Sequence[tuple[float, float, str]] = (),
    limit: float = 0,
    limit_text: str = "",
) -> Line:
    """Return how a value went, from 0 up.

    Args:
        title: Title of the chart.
        points: x and y, by x; two of one x are a fall.
        x_name: The name of the horizontal axis.
        y_name: The name of the vertical axis.
        description: What to see in it.
        marks: x, y and what happened there.
        limit: The value at which a line is drawn across the chart; 0 draws none.
        limit_text: The label of this line.
    """
    x_most = max((x for x, _ in points), default=1) or 1
    y_ticks = ticks(max([limit, *(y for _, y in points)], default=1) or 1)
    y_most = y_ticks[-1]

    def x_of(x: float) -> float:
        return round(_LEFT + x / x_most * (WIDTH - _LEFT - _RIGHT), 1)

    def y_of(y: float) -> float:
        return round(HEIGHT - _BOTTOM - y / y_most * (HEIGHT - _TOP - _BOTTOM), 1)

    path = " ".join(f"{'M' if place == 0 else 'L'}{x_of(x)} {y_of(y)}" for place, (x, y) in enumerate(points))
    area = f"{path} L{x_of(points[-1][0])} {y_of(0)} L{x_of(points[0][0])} {y_of(0)} Z" if points else ""
    return Line(
        title=title,
        description=description,
        x_name=x_name,
        y_name=y_name,
        points=points,
        line=path,
        area=area,
        x_ticks=[Tick(place=x_of(x), text=f"{x:,.0f}") for x in ticks(x_most) if x <= x_most],
        y_ticks=[Tick(place=y_of(y), text=_short(y)) for y in y_ticks],
        marks=[Mark(x=x_of(x), y=y_of(y), text=text) for x, y, text in marks],
        limit_y=y_of(limit) if limit else None,
        limit_text=limit_text,
    )


def ticks(most: float, count: int = 5) -> list[float]:
    """Return about `count` round numbers, from 0 to a number that is at least `most`."""
    step = 10 ** math.floor(math.log10(most / count)) if most > 0 else 1
    step = next(step * factor for factor in (1, 2, 5, 10) if most / (step * factor) <= count)
    return [step * place for place in range(math.ceil(most / step) + 1)]


def _short(value: float) -> str:
    """Return a number as a short label of an axis, such as `1.5 k`."""
    for size, unit in ((1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:g} {unit}"
    return f"{value:g}"
