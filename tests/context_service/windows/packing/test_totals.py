"""The last line of a tool's list says what the list comes to, so summaries may quote it."""

from __future__ import annotations

import pytest

from context_service.packing.pure.texts.units import units_of
from context_service.profiles.pure.profiles import profile
from tests.context_service.windows.messages import answered

LISTS = {
    "berths": [f"K-{n}  {name}  {n * 7}" for n, name in enumerate(("Föhr", "Sylt", "Amrum", "Pellworm", "Nordstrand"))],
    "table": [f"| {name} | 1{n} kg | paid |" for n, name in enumerate(("Ann", "Bo", "Cy", "Di", "Eve"))],
    "csv": [f"2026-03-0{n},{n}.50,copied" for n in range(1, 8)],
}


@pytest.mark.parametrize("rows", LISTS.values(), ids=LISTS)
@pytest.mark.parametrize("total", ["5 of 31 berths are taken until Friday", "Gesamt: 87,50 kg", "sum = 12"])
def test_the_last_line_of_a_list_is_a_line_of_summaries_if_it_is_no_row(rows: list[str], total: str):
    with_total = units_of(answered("\n".join([*rows, total])), profile("general"))
    without = units_of(answered("\n".join(rows)), profile("general"))

    assert total in [unit.text for unit in with_total]
    assert rows[-1] not in [unit.text for unit in without if unit.kind == "total"]


@pytest.mark.parametrize(
    "text", ["def f():\n    x = 1\n    return y[2]\n\nclass B:\n    pass\n    z = 3", "1 row", "a\nb\nc\nd\n"]
)
def test_a_text_that_is_no_list_has_no_total(text: str):
    assert "total" not in [unit.kind for unit in units_of(answered(text), profile("general"))]
