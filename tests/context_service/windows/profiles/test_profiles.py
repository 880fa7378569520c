"""Profiles: what their files may say, and what each keeps of a run of its kind."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
import yaml

from context_service.contexts.model import Message
from context_service.packing.pure.steps.grades import mask_step
from context_service.packing.pure.steps.step import cut
from context_service.packing.pure.texts.units import units_of
from context_service.profiles.pure.profiles import BadProfile, Profile, parse_profile, profile, profile_names
from tests import cpu
from tests.case_files import FOLDER
from tests.context_service.windows.messages import answered, called, message

RUNS: dict[str, dict[str, Any]] = {
    path.stem: yaml.safe_load(path.read_text("utf-8")) for path in sorted((FOLDER / "profiles").glob("*.yaml"))
}


def log_of(run: dict[str, Any]) -> list[Message]:
    messages: list[Message] = []
    for one in run["log"]:
        seq = len(messages) + 1
        if "says" in one:
            messages.append(message(one["by"], one["says"], seq=seq))
        else:
            lines = [[line] if isinstance(line, str) else [line["line"]] * line["times"] for line in one["answers"]]
            text = "\n".join(line for several in lines for line in several)
            messages += [called(one["calls"], call_id=str(seq), seq=seq), answered(text, call_id=str(seq), seq=seq + 1)]
    return messages


def kept_by(of: Profile, messages: list[Message]) -> str:
    """Return what is left of a run: its masked results, and the units that a summary is chosen from."""
    units = [unit for one in messages for unit in units_of(one, of)]
    texts = [unit.text for unit in units]
    for step in cut(messages, is_end=True).closed:
        turn = mask_step(step, units, of, lambda text: len(text) // 4)
        texts += [call.result.text for call in turn.calls if call.result] if turn else []
    return "\n".join(texts)


def test_each_profile_has_a_run():
    assert RUNS.keys() == set(profile_names())


@pytest.mark.parametrize("name", RUNS)
def test_a_profile_keeps_what_its_run_is_about_and_no_noise(name: str):
    run = RUNS[name]
    kept = kept_by(profile(name), log_of(run))

    assert [fact for facts in run["facts"].values() for fact in facts if fact not in kept] == []
    units = [unit.text for one in log_of(run) for unit in units_of(one, profile(name))]
    assert [line for line in run["noise"] if any(line in unit for unit in units)] == []


@pytest.mark.parametrize(
    ("name", "kind"),
    [("coding", "path"), ("coding", "signature"), ("research", "citation"), ("operations", "anomaly")],
)
def test_a_profile_keeps_more_of_its_kind_than_the_general_one(name: str, kind: str):
    messages, facts = log_of(RUNS[name]), RUNS[name]["facts"][kind]

    own, general = kept_by(profile(name), messages), kept_by(profile("general"), messages)

    assert sum(fact in own for fact in facts) > sum(fact in general for fact in facts)


@pytest.mark.parametrize(
    ("name", "tool", "chars"),
    [
        ("coding", "read_file", 500),
        ("coding", "shell", 200),
        ("coding", "grep", 300),
        ("research", "web_fetch", 400),
        ("research", "read_document", 600),
        ("research", "sql_query", 300),
        ("general", "anything", 300),
    ],
)
def test_results_are_trimmed_by_what_the_tool_is(name: str, tool: str, chars: int):
    assert profile(name).trim_of(tool) == chars


def test_an_unknown_profile_is_a_key_error():
    with pytest.raises(KeyError):
        profile("../general")


def test_a_profile_adds_to_the_one_that_it_extends():
    text = "{extends: general, high_importance: [{kind: error, of: tool, line: bad, weight: 1}]}"

    made = parse_profile("mine", text)

    assert [rule.weight for rule in made.high if rule.kind == "error"] == [1.0]
    assert {rule.kind for rule in made.high} == {rule.kind for rule in profile("general").high}
    assert made.state == profile("general").state


STATE = "state: [{section: value, of: user, sentence: %s}]"


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("[", "mine is not valid YAML"),
        ("- a", "mine: a profile may have only extends, high_importance,"),
        ("units: []", "mine: a profile may have only"),
        ("extends: nobody", "mine.extends must name another profile, one of: coding, general,"),
        ("extends: mine", "mine.extends must name another profile, one of:"),
        ("extends: [general]", "mine.extends must name another profile, one of:"),
        ("high_importance: {a: b}", "mine.high_importance must be a list of up to 100 rules"),
        ("high_importance: [{kind: a, of: tool}]", "mine.high_importance[0]: a rule must have kind, line, of"),
        (
            "high_importance: [{kind: a, of: tool, line: b, weight: 2}]",
            "mine.high_importance[0].weight must be between 0 and 1 (got 2)",
        ),
        ("high_importance: [{kind: a, of: robot, line: b}]", "mine.high_importance[0].of must name only user,"),
        (
            "low_importance: [{kind: a, of: tool, line: b, weight: 0}]",
            "mine.low_importance[0]: a rule must have kind, line, of",
        ),
        (
            "preserve_verbatim: [{kind: a, of: tool, line: '('}]",
            "mine.preserve_verbatim[0].line is not a valid RE2 pattern: miss",
        ),
        (
            "high_importance: [{kind: a, of: tool, line: 7}]",
            "mine.high_importance[0].line must be a text that is not empty (got 7)",
        ),
        ("tool_clearing: {a: 1}", "mine.tool_clearing.a: a rule may have clear_inputs, keep_last, never_clear"),
        ("tool_clearing: {a: {keep: 1}}", "mine.tool_clearing.a: a rule may have"),
        ("tool_clearing: {a: {keep_last: 101}}", "mine.tool_clearing.a.keep_last must be between 0 and 100"),
        ("tool_clearing: {a: {keep_last: true}}", "mine.tool_clearing.a.keep_last must be between 0 and"),
        ("tool_clearing: {a: {never_clear: 1}}", "mine.tool_clearing.a.never_clear must be true or false"),
        ("tool_clearing: {'(': {}}", "mine.tool_clearing.( is not a valid RE2 pattern"),
        ("tool_output_trim: [1]", "mine.tool_output_trim must be a mapping with up to 100 keys"),
        ("tool_output_trim: {a: -1}", "mine.tool_output_trim.a must be between 0 and"),
        ("tool_output_trim: {a: true}", "mine.tool_output_trim.a must be between 0 and"),
        ("tool_output_trim: {'(': 1}", "mine.tool_output_trim.( is not a valid RE2 pattern"),
        ("state: [{section: mood, of: user, sentence: a}]", "mine.state[0].section must be one of goal,"),
        (STATE % r"'(?=a)'", "mine.state[0].sentence is not a valid RE2 pattern: invalid perl operator"),
        (STATE % r"'(a)\1'", "mine.state[0].sentence is not a valid RE2 pattern"),
        (STATE % "[a, '(']", "mine.state[0].sentence[1] is not a valid RE2 pattern"),
        (STATE % "[]", "mine.state[0].sentence must be a pattern, or a list"),
        (STATE % "'{here} a'", "mine.state[0].sentence names {here}, which is not in `words`"),
        (STATE % "'(a{1000}){1000}'", "mine.state[0].sentence is not a valid RE2 pattern"),
        (
            f"state: [{{section: value, of: user, sentence: {'a' * 20_001}}}]",
            "mine.state[0].sentence is not a valid RE2 pattern: it has more",
        ),
        ("words: {a: 7}", "mine.words.a must be a text that is not empty (got 7)"),
        (
            "state: [{section: constraint, of: tool, sentence: a}]",
            "mine.state[0].of must be user, system or both",
        ),
        (
            "state: [{section: constraint, of: user assistant, sentence: a}]",
            "mine.state[0].of must be user, system or both",
        ),
        ("state: [{section: lifted, of: assistant, sentence: a}]", "mine.state[0].of must be user, system or both"),
    ],
)
def test_a_file_that_is_not_of_the_form_is_refused_with_the_place(text: str, place: str):
    with pytest.raises(BadProfile) as refused:
        parse_profile("mine", text)

    assert str(refused.value).startswith(place)


def test_no_pattern_takes_more_than_time_that_is_linear_in_the_text():
    """`(a+)+$` doubles the time of a backtracking engine with each letter."""
    rule = parse_profile("mine", "high_importance: [{kind: a, of: tool, line: '(a+)+$|(a|aa)+b'}]").high[0]
    few, many = b"a" * 20_000 + b"!", b"a" * 200_000 + b"!"

    assert cpu.units(lambda: rule.lines.spans(many, count_max=10)) < 25 * cpu.units(
        lambda: rule.lines.spans(few, count_max=10)
    )


LAUGHS = (
    "words: {a: " + "x" * 100 + "".join(f", {b}: '{{{a}}}{{{a}}}'" for a, b in pairwise("abcdefghijklmnopqrst")) + "}"
)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("a: &a [x, x]\nb: [*a, *a]", "mine must have no anchors"),
        ("low_importance: !!python/object/apply:os.system [ls]", "mine must have no tags"),
        ("[" * 100_000, "mine must not nest more than"),
        (f"low_importance: [{'a, ' * 60_000}]", "mine must have at most"),
        ("words: {a: !!int " + "9" * 100_000 + "}", "mine must have no tags"),
        ("tool_output_trim: {a: " + "9" * 100_000 + "}", "mine.tool_output_trim.a must be between 0 and"),
        (
            "tool_output_trim: {a: " + "1:" * 50_000 + "1}",
            "mine.tool_output_trim.a must be between 0 and",
        ),  # YAML's numbers to the base 60
        (LAUGHS, "mine.words."),
        ("low_importance: [{kind: a, of: tool, line: '(?:a{30}){30}|(?:b{30}){30}'}]", ""),
        (
            "low_importance: [" + ", ".join(f"{{kind: a, of: tool, line: '{n}[ab]{{900}}c'}}" for n in range(20)) + "]",
            "mine.low_importance[10].line: a profile may have 400 patterns of",
        ),
        (
            'tool_output_trim: {"' + '": 1, "'.join(map(str, range(101))) + '": 1}',
            "mine.tool_output_trim must be a mapping with up to",
        ),
    ],
    ids=["aliases", "object", "deep", "many", "tagged", "digits", "sixties", "words", "taken", "sizes", "trims"],
)
def test_what_a_tenant_writes_is_plain_and_bounded_and_refused_at_once(text: str, place: str):
    def read() -> str:
        try:
            parse_profile("mine", text, is_own=True)
        except BadProfile as error:
            return str(error)
        return ""

    assert read().startswith(place) and bool(read()) == bool(place)
    assert cpu.units(read, rounds=1) < 1_000


def test_json_is_a_profile_too_and_numbers_are_numbers():
    made = parse_profile(
        "mine",
        '{"extends": "general", "tool_output_trim": {"read": 7}, "high_importance": '
        '[{"kind": "a", "of": "tool", "line": "b", "weight": 0.25}]}',
        is_own=True,
    )

    assert (made.trim_of("read_file"), made.high[0].weight) == (7, 0.25)
    assert made.own_size > 0 == profile("general").own_size
