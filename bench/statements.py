"""`make bench-statements`: how well the state reads sentences that its authors did not write.

The sentences in `tests/cases/statements` were written by hand, by authors who know nothing of this project, and
labelled: rules, values that are replaced, rules that are lifted, decisions, next steps, questions and answers, errors
and their resolutions. A fifth is not in English. Rules may be tuned on the half `tuning` only; `held out` shows whether
they hold for sentences that no author of a rule looked at. A wrong entry costs more than a missing one: the user's own
words stay in the pack, and an entry that contradicts them misleads.
"""

from __future__ import annotations

import argparse
import hashlib
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson

from bench.document import save
from bench.long_run.workload import message_at
from context_service.kernel.parts import Part, ToolResult
from context_service.packing.pure.state.task_state import CONTESTED, Entry, after, entries_of
from context_service.profiles.pure.profiles import profile

FOLDER = Path(__file__).parents[1] / "tests" / "cases" / "statements"
HALVES = ("tuning", "held out")
_NOW = datetime(2026, 3, 2, 9, tzinfo=UTC)

Item = dict[str, Any]


def items(name: str) -> Iterator[Item]:
    """Yield the labelled items of a file, each with its half: a hash of its words decides, so it never changes."""
    for line in (FOLDER / f"{name}.jsonl").read_bytes().splitlines():
        item = orjson.loads(line)
        digest = hashlib.sha256(line).digest()
        yield item | {"half": HALVES[digest[0] % 2]}


def state_of(*said: tuple[str, str]) -> list[Entry]:
    """Return the state after some messages, each with its role."""
    rules = profile("general")
    read: list[Entry] = []
    for number, (speaker, text) in enumerate(said, 1):
        role = {"tool error": "tool", "person": "user"}.get(speaker, speaker)
        parts: tuple[Part, ...] = ()
        if role == "tool":
            result = ToolResult(
                tool_call_id="c1", content_json=orjson.dumps(text).decode(), is_error=speaker == "tool error"
            )
            parts = (Part(tool_result=result),)
        read += entries_of(message_at(_NOW, number, role, "" if parts else text, *parts), rules)
    return after([], read)[0]


def _texts(entries: list[Entry], section: str) -> list[str]:
    return [entry.text for entry in entries if entry.section == section]


def rule(item: Item) -> str:
    """Return whether the rule stands in the state as a whole, or a sentence that is no rule stands there."""
    texts = _texts(state_of((item["speaker"], item["text"])), "constraint")
    if item["kind"] == "not_rule":
        return "wrong" if texts else "right"
    if any(item["rule"].rstrip(".!") in text for text in texts):
        return "right"
    return "wrong" if texts else "silent"


def replaced_value(item: Item) -> str:
    """Return whether the old value is not shown as current: the new one is, or both are listed, the newest first."""
    entries = state_of((item["speaker_first"], item["first"]), (item["speaker_later"], item["later"]))
    texts = _texts(entries, "value")
    if not texts and any(item["first"] in text for text in _texts(entries, CONTESTED)):
        return "right" if item["is_replaced"] else "silent"  # both statements are listed, the newest first
    has_old = any(item["old"] in text and item["new"] not in text for text in texts)
    has_new = any(item["new"] in text for text in texts)
    if item["is_replaced"]:
        return "wrong" if has_old else "right" if has_new else "silent"
    return "right" if has_old else "wrong" if has_new else "silent"


def lifted_rule(item: Item) -> str:
    """Return whether a rule that was lifted or changed is gone, and another one is still there."""
    rule_text = item["rule"].rstrip(".!")
    before = _texts(state_of(("user", item["rule"])), "constraint")
    if not any(rule_text in text for text in before):
        return "silent"  # it was never read
    entries = state_of(("user", item["rule"]), (item["speaker_later"], item["later"]))
    stands = any(rule_text in text for text in _texts(entries, "constraint"))
    if not stands and item["effect"] == "none" and any(rule_text in text for text in _texts(entries, CONTESTED)):
        return "silent"  # it is listed after the later sentence, as one that may have changed
    return "right" if stands == (item["effect"] == "none") else "wrong"


def of_section(section: str, part: str, kind: str) -> Callable[[Item], str]:
    """Return a scorer: does a part of the text stand in a section, and nothing of other sentences?"""

    def score(item: Item) -> str:
        texts = _texts(state_of((item["speaker"], item["text"])), section)
        if item["kind"] != kind:
            return "wrong" if texts else "right"
        if any(item[part].rstrip(".!") in text for text in texts):
            return "right"
        return "wrong" if texts else "silent"

    return score


def question(item: Item) -> str:
    """Return whether the state shows the question as open after the later message exactly if it is open."""
    other = "user" if item["speaker"] == "assistant" else "assistant"
    asked = _texts(state_of((item["speaker"], item["text"])), "question")
    open_after = _texts(state_of((item["speaker"], item["text"]), (other, item["later"])), "question")
    if not item["is_question"]:
        return "wrong" if asked else "right"
    if not asked:
        return "silent"
    return "right" if bool(open_after) == item["is_open"] else "wrong"


def error(item: Item) -> str:
    """Return whether the state names the error, and shows its resolution exactly if there is one."""
    speaker = "tool error" if item["error_line"] else "tool"
    output: str = item["output"]
    entries = [entry for entry in state_of((speaker, output)) if entry.section == "error"]
    if not item["error_line"]:
        return "wrong" if entries else "right"
    if not any(item["error_line"].strip() in entry.text for entry in entries):
        return "wrong" if entries else "silent"
    later = [entry for entry in state_of((speaker, output), ("assistant", item["later"])) if entry.section == "error"]
    is_resolved = any(entry.value for entry in later)
    if item["effect"] == "resolved" and not is_resolved:
        return "silent"
    return "right" if is_resolved == (item["effect"] == "resolved") else "wrong"


# Each kind with its file, and its scorer: "right", "silent" or "wrong".
KINDS: dict[str, tuple[str, Callable[[Item], str], Callable[[Item], bool]]] = {
    "rules": ("rules", rule, lambda item: item["kind"] == "rule"),
    "sentences that are no rules": ("rules", rule, lambda item: item["kind"] == "not_rule"),
    "replaced values": ("values", replaced_value, lambda item: item["is_replaced"]),
    "values that stay": ("values", replaced_value, lambda item: not item["is_replaced"]),
    "lifted or changed rules": ("lifted", lifted_rule, lambda item: item["effect"] != "none"),
    "rules that stay": ("lifted", lifted_rule, lambda item: item["effect"] == "none"),
    "decisions": ("decisions", of_section("decision", "choice", "decision"), lambda item: item["kind"] == "decision"),
    "no decisions": (
        "decisions",
        of_section("decision", "choice", "decision"),
        lambda item: item["kind"] != "decision",
    ),
    "next steps": ("next_steps", of_section("next", "step", "next_step"), lambda item: item["kind"] == "next_step"),
    "no next steps": ("next_steps", of_section("next", "step", "next_step"), lambda item: item["kind"] != "next_step"),
    "open questions": ("questions", question, lambda item: item["is_question"] and item["is_open"]),
    "answered questions": ("questions", question, lambda item: item["is_question"] and not item["is_open"]),
    "no questions": ("questions", question, lambda item: not item["is_question"]),
    "errors with a resolution": ("errors", error, lambda item: item["effect"] == "resolved"),
    "errors without one": ("errors", error, lambda item: item["effect"] in ("unrelated", "still_failing")),
    "no errors": ("errors", error, lambda item: item["effect"] == "none"),
}


def measured() -> dict[str, dict[str, Counter[str]]]:
    """Return how many items of each kind and half are read right, not at all, and wrong."""
    figures: dict[str, dict[str, Counter[str]]] = {}
    for kind, (name, score, belongs) in KINDS.items():
        figures[kind] = {half: Counter() for half in HALVES}
        for item in items(name):
            if belongs(item):
                figures[kind][item["half"]][score(item)] += 1
    return figures


def main() -> None:
    """Print how many sentences of each kind the state reads right."""
    parser = argparse.ArgumentParser(prog="bench.statements", description=__doc__)
    parser.add_argument("--json", action="store_true", help="print one JSON document, and no table")
    parser.add_argument(
        "--wrong", metavar="KIND", choices=KINDS, help="print the wrong items of a kind, tuning half only"
    )
    parser.add_argument("--save", action="store_true", help="put the table into docs/benchmarks.md")
    options = parser.parse_args()
    if options.wrong:
        name, score, belongs = KINDS[options.wrong]
        for item in items(name):
            if item["half"] == HALVES[0] and belongs(item) and score(item) != "right":
                print(score(item), orjson.dumps(item).decode())
        return
    figures = measured()
    if options.json:
        print(orjson.dumps(figures, option=orjson.OPT_INDENT_2).decode())
        return
    columns = f"{'right':>7}{'silent':>8}{'wrong':>7}"
    lines = [f"{'':28}{'tuning: items':>14}{columns}{'held out: items':>18}{columns}"]
    for kind, by_half in figures.items():
        cells = []
        for half, width in zip(HALVES, (14, 18), strict=True):
            counts = by_half[half]
            total = counts.total() or 1
            shares = (counts["right"] / total, counts["silent"] / total, counts["wrong"] / total)
            cells.append(f"{counts.total():>{width}}{shares[0]:>7.2f}{shares[1]:>8.2f}{shares[2]:>7.2f}")
        lines.append(f"{kind:28}{''.join(cells)}")
    print("\n".join(lines))
    if options.save:
        save("bench-statements", lines)


if __name__ == "__main__":
    main()
