"""Extensions of windows as operators install them: by a package with entry points. Each does what `doing` says."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import orjson

from context_service.kernel import extensions
from context_service.kernel.rendering import Format, RequestPart, Turn
from context_service.kernel.tokens import counting
from context_service.packing.pure.steps import turns
from context_service.packing.rules.plugins import Decided, ExtractedStatement, ExtractorText, Line, Packed, StepText
from context_service.profiles.pure import profiles

WORKS, RAISES, IS_LATE, IS_NONSENSE = "works", "raises", "is late", "is nonsense"
LATE_S = 0.4

AT_ONCE = frozenset({"message_renderer", "token_counter"})  # called for each turn: late a few times is enough

doing = WORKS
called: dict[str, int] = {}


def _does(name: str, work: Callable[..., Any]) -> Callable[..., Any]:
    def call(*args: Any) -> Any:
        called[name] = called.get(name, 0) + 1
        if doing == RAISES:
            raise RuntimeError("the password is hunter2")
        if doing == IS_LATE and (called[name] <= 3 or name not in AT_ONCE):
            time.sleep(LATE_S)
        return [object()] if doing == IS_NONSENSE else work(*args)

    return call


def importance_scorer() -> Callable[..., Any]:
    def score(lines: list[Line]) -> list[float]:
        return [1.0 if "zebra" in one.text else 0.0 for one in lines]

    return _does("importance_scorer", score)


def state_extractor() -> Callable[..., Any]:
    def extract(said: list[ExtractorText]) -> list[list[ExtractedStatement]]:
        return [
            [ExtractedStatement("constraint", line) for line in one.text.splitlines() if line.startswith("REGEL")]
            for one in said
        ]

    return _does("state_extractor", extract)


def summarizer() -> Callable[..., Any]:
    def summarize(instructions: str, asked: str) -> str:
        must = [line for line in asked.partition("Sources:")[0].splitlines() if line.startswith("- ") and "(m" in line]
        lines = [{"text": one[2:].rpartition(" (")[0], "refs": [one.rpartition("(")[2][:-1]]} for one in must]
        ref = asked.partition("[")[2].partition("]")[0]
        return orjson.dumps({"lines": [*lines, {"text": "By the package.", "refs": [ref]}]}).decode()

    return _does("summarizer", summarize)


def summarization_validator() -> Callable[..., Any]:
    def refused(text: str, sources: list[StepText]) -> str:
        return "" if sources and "zebra" not in text else "it has no stripes"

    return _does("summarization_validator", refused)


def context_middleware() -> Callable[..., Any]:
    def decide(packed: Packed) -> Decided:
        veto = "no secrets" if "hunter2" in packed.messages_json else ""
        return Decided(
            veto, {"steps": str(packed.step_count)}, "Mind the gap." if "gap" in packed.messages_json else ""
        )

    return _does("context_middleware", decide)


def token_counter() -> Callable[..., Any]:
    return _does("token_counter", lambda text: len(text.split()) or bool(text) * 1)


def message_renderer() -> Callable[..., Any]:
    def pieces(turn: Turn) -> list[RequestPart]:
        role = "model" if turn.role == "assistant" else "user"
        return [RequestPart(role, {"text": f"<{part.text}>"}) for part in turn.parts if part.text]

    return _does("message_renderer", pieces)


def compression_profile() -> Callable[..., Any]:
    text = "extends: general\nhigh_importance:\n  - {kind: stripe, of: tool, line: zebra, weight: 1.0}\n"
    return _does("compression_profile", lambda: text)


NAMES = {
    "importance_scorer": importance_scorer,
    "state_extractor": state_extractor,
    "summarizer": summarizer,
    "summarization_validator": summarization_validator,
    "context_middleware": context_middleware,
    "token_counter.gemini": token_counter,
    f"message_renderer.{Format.GEMINI.value}": message_renderer,
    "compression_profile.striped": compression_profile,
}
_CACHES = (
    extensions._entry_points,
    extensions.installed,
    counting._own_counter,
    turns._own_renderer,
    profiles.profile,
    profiles.profile_names,
    profiles._installed_texts,
)


@contextmanager
def installed(folder: Path, **more: str) -> Iterator[None]:
    """Let a package with all of them be installed for the block, and `more`: names, and where they are."""
    package = folder / "stub_extensions-1.0.dist-info"
    package.mkdir(parents=True)
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: stub-extensions\nVersion: 1.0\n")
    named = {name: f"{__name__}:{made.__name__}" for name, made in NAMES.items()} | more
    lines = [f"{name} = {value}" for name, value in named.items()]
    (package / "entry_points.txt").write_text("\n".join([f"[{extensions.GROUP}]", *lines]) + "\n")
    sys.path.insert(0, str(folder))
    _forget()
    try:
        yield
    finally:
        sys.path.remove(str(folder))
        _forget()


def _forget() -> None:
    for one in _CACHES:
        one.cache_clear()
