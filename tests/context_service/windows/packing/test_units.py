"""Units: lines as they were said, and what that takes."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_service.kernel.parts import Part, ToolCall
from context_service.kernel.rendering import Format
from context_service.kernel.tokens.counting import TokenCounter
from context_service.packing.pure.steps.catch_up import caught_up
from context_service.packing.pure.texts.units import NAMES_MAX, UNIT_CHARS_MAX, UNITS_OF_MESSAGE_MAX, names_of, units_of
from context_service.profiles.pure.profiles import Profile, parse_profile, profile, profile_names
from context_service.windows.pure.refs import parse_ref as ref
from tests import cpu
from tests.context_service.windows.messages import answered, called, message

GENERAL, CODING = profile("general"), profile("coding")
MIB = 2**20


def lines(*rules: str, low: str = "") -> Profile:
    """Return a profile of patterns of lines, each its own kind, the first the heaviest."""
    high = ", ".join(f"{{kind: k{n}, of: tool, line: '{rule}', weight: {1 - n / 10}}}" for n, rule in enumerate(rules))
    return parse_profile("test", f"high_importance: [{high}]\nlow_importance: [{low}]")


def test_a_unit_is_a_line_with_its_kind_and_its_part():
    one = message("assistant", "Let me see.", Part(text="First.\nWe chose SQLite because it is there.\nLast."), seq=7)

    _, _, unit, _ = units_of(one, GENERAL)

    assert (unit.kind, unit.text, unit.ref, unit.seq) == ("decision", "We chose SQLite because it is there.", "m7/1", 7)


def test_the_words_that_end_an_assistants_turn_are_units_and_those_beside_a_call_are_not():
    """They conclude, ask or decide in words that no pattern knows; those beside a call only announce it."""
    conclusion = "Der alte Tokenizer kann Signaturen nicht von Namen unterscheiden."
    ending = message("assistant", f"{conclusion}\n\n---\nWer soll das bezahlen")
    announcing = message(
        "assistant", "Ich sehe nach.", Part(tool_call=ToolCall(id="c", name="look", arguments_json="{}"))
    )

    assert [(unit.kind, unit.text) for unit in units_of(ending, GENERAL)] == [
        ("statement", conclusion),
        ("statement", "Wer soll das bezahlen"),
    ]
    assert units_of(announcing, GENERAL) == []
    assert units_of(message("tool", conclusion), GENERAL) == []


def test_of_a_long_answer_the_first_and_the_last_lines_are_statements():
    answer = message("assistant", "\n".join(f"Punkt {n} der Liste" for n in range(40)))

    assert [unit.text for unit in units_of(answer, GENERAL)] == [f"Punkt {n} der Liste" for n in (0, 1, 2, 37, 38, 39)]


def test_a_line_of_two_kinds_is_one_unit_of_the_heavier():
    (unit,) = units_of(answered("a b"), lines("b", "a"))

    assert unit.kind == "k0"


def test_a_line_of_low_importance_is_no_unit_wherever_it_stands():
    text = "\n".join([*["error in the noise"] * 3_000, "error in the end"])

    units = units_of(answered(text), lines("error", low="{kind: noise, of: tool, line: noise}"))

    assert [unit.text for unit in units] == ["error in the end"]


def test_of_many_lines_the_first_and_the_last_are_units():
    """An output's last lines say how it ended."""
    units = units_of(answered("\n".join(f"error {n}" for n in range(100))), lines("error"))

    assert [unit.text for unit in units] == [f"error {n}" for n in (0, 1, 2, 97, 98, 99)]


def test_a_pattern_that_begins_in_empty_lines_gives_the_line():
    (unit,) = units_of(answered("import os\n\n\n   def run(self):\n"), lines(r"^\s*def \w+"))

    assert unit.text == "def run(self):"


def test_a_long_line_is_cut_at_a_word_and_one_without_words_is_none():
    words, none = "error " + "word " * 100, "error" + "x" * 1_000

    (unit,) = units_of(answered(f"{words}\n{none}"), lines("error"))

    assert unit.text.endswith("word …")
    assert len(unit.text) <= UNIT_CHARS_MAX + 2


SAID = st.text(alphabet=st.characters(), max_size=60) | st.sampled_from(
    [
        'failed: "disk  full" at /var/lib/x.db, 1,024.5 MB of 2048',
        "\tdef parse_date(text: str) -> datetime:  # Ü",
        "error \x1b[31mred\x1b[0m\x00 in\u2028src/a.py\x85",
        "FAILED tests/test_a.py::test_b[ü-1] - KeyError: 'x'" * 6,
        "ошибка: error в файле src/а.py",
        "エラー error 失敗 " * 30,
        "👩‍👩‍👧‍👦 fixed 👍",
        "\ud800 error \udfff",
    ]
)


@given(
    said=st.lists(SAID, max_size=12),
    name=st.sampled_from(profile_names()),
    role=st.sampled_from(["user", "assistant", "tool", "system"]),
)
def test_whatever_a_unit_says_its_source_says(said: list[str], name: str, role: str):
    text = "\n".join(said)
    source = text.encode(errors="replace").decode()

    units = units_of(message(role, text, seq=3), profile(name))

    assert len(units) <= UNITS_OF_MESSAGE_MAX
    for unit in units:
        assert all(piece in source for piece in re.split(r"[\s\x00-\x1f\x7f-\x9f]+", unit.text.removesuffix(" …")))
        assert "\n" not in unit.text
        assert len(unit.text.splitlines()) == 1
        assert role == "user" or len(unit.text) <= UNIT_CHARS_MAX + 2
        assert ref(unit.ref) is not None
        assert unit.ref == "m3/0"
    assert names_of(text) == names_of(source)


def test_quotes_of_a_unit_are_those_of_its_source_to_the_space():
    (unit,) = units_of(answered('error: "two  spaces"'), lines("error"))

    assert unit.text == 'error: "two  spaces"'


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("see src/a/b.py and ./c", {"src/a/b.py", "./c"}),
        ("fooBar, HTTPServer, snake_case, a.b.c", {"fooBar", "HTTPServer", "snake_case", "a.b.c"}),
        ("issue #42 of straße.de", {"#42", "straße.de"}),
        ("plain words only", set()),
        ("a_b " * 10_000, {"a_b"}),
    ],
)
def test_names_are_paths_identifiers_and_numbers_of_things(text: str, names: set[str]):
    assert names_of(text) == names


def test_names_are_not_without_end():
    assert len(names_of(" ".join(f"name_{n}" for n in range(1_000)))) == NAMES_MAX


ODD = [
    ("user", "general", "a" * MIB),
    ("tool", "coding", ('{"a":123456,"b":"x/y/z.py"},' * 40_000)[:MIB]),
    ("user", "coding", "a/" * (MIB // 2)),
    ("tool", "coding", "a.b" * (MIB // 3)),
    ("assistant", "coding", "aB" * (MIB // 2)),
    ("user", "general", "+\n" * (MIB // 2)),
    ("tool", "coding", "\n" * MIB),
    ("tool", "operations", "2026-01-01 ERROR host-7 cpu 91% /var/log/x.log failed\n" * 18_000),
    ("user", "general", "Never do it. " * 80_000),
    ("assistant", "research", '"' * MIB),
    ("tool", "general", "\x00\x1b[31m\x85" * (MIB // 8)),
    ("user", "research", "\u4ece\u73b0\u5728\u5f00\u59cb " * (MIB // 16)),
    ("tool", "operations", "\U0001f469\u200d\U0001f469 error\n" * (MIB // 20)),
]


@pytest.mark.parametrize(("role", "name", "text"), ODD, ids=range(len(ODD)))
def test_a_message_of_a_mebibyte_is_caught_up_within_a_second(role: str, name: str, text: str):
    """Of CPU, and its tokens counted; a second has 2,500 units."""
    messages = [called("read_file"), answered(text)] if role == "tool" else [message(role, text)]

    def catch_up() -> None:
        caught_up(
            messages,
            to=Format.OPENAI,
            profile=profile(name),
            count=TokenCounter().count,
            is_end=True,
            last_seq=messages[-1].seq,
        )

    assert cpu.units(catch_up, rounds=1) < 2_500


def test_time_is_linear_in_the_text():
    for text in ("word src/a.py error ", "x", "a/"):
        few, many = answered(text * (20_000 // len(text))), answered(text * (200_000 // len(text)))

        # Ten times as much; by the square, a hundred times. A busy machine may spoil one comparison.
        assert any(
            cpu.units(lambda: units_of(many, CODING)) < 25 * cpu.units(lambda: units_of(few, CODING))  # noqa: B023
            for _ in range(3)
        )


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Mrs. Halvorsen wrote about order 88-4120 in CARE-991.", {"Mrs. Halvorsen", "order 88-4120", "CARE-991"}),
        ("2026-03-02 12:00 INFO took 159.29 s, self.invoice is set", set()),
        ("WARN retry in lib/net.py: loadPage failed", {"lib/net.py", "loadPage"}),
        ("K-70214 ordered PO-2026-0117 twice", {"K-70214", "PO-2026-0117"}),
        ("print it on A-4 paper, in UTF-16, with SHA-256", set()),
    ],
)
def test_levels_numbers_and_attributes_name_nothing(text: str, names: set[str]):
    assert names_of(text) == names
