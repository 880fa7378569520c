"""The front of a window's packs: system prompt, tools and goal. Pins come right after it."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

from context_service.kernel.tokens import TokenCounter, calibrated
from context_service.packing.pure.body.front import NOTE_TOKENS, body_of
from context_service.windows.model import Window, WindowInput
from contextkeep.errors import BudgetTooSmall, InvalidArgument
from service_runtime.inputs.documents import parse_json
from service_runtime.values.checks import check_long_text

SYSTEM_PROMPT_BYTES_MAX = 256 * 1024
TOOLS_BYTES_MAX = 1024 * 1024
GOAL_BYTES_MAX = 16 * 1024

RENDERING = 16  # the cost of rendering and counting a byte of the head, in bytes of JSON parsing

_Head = TypeVar("_Head", bound=WindowInput)


def check_head(window: WindowInput, *, nesting_max: int) -> None:
    """Check the head of a window: its system prompt, its tools and its goal.

    Args:
        window: The window with the head that it is to get.
        nesting_max: The deepest nesting that the JSON of the tools may have.

    Raises:
        InvalidArgument: the tools are not a JSON list, or a text contains a NUL.
        LimitExceeded: a text of the head is too large.
    """
    for name, text, size_bytes_max in (
        ("system_prompt", window.system_prompt, SYSTEM_PROMPT_BYTES_MAX),
        ("goal", window.goal, GOAL_BYTES_MAX),
    ):
        check_long_text(name, text, size_bytes_max=size_bytes_max)
    if window.tools_json:
        tools = parse_json("tools_json", window.tools_json, size_bytes_max=TOOLS_BYTES_MAX, nesting_max=nesting_max)
        if not isinstance(tools, list):
            raise InvalidArgument("tools_json must be a JSON list", field="tools_json")


def count_head(window: _Head) -> _Head:
    """Return the window with the counted tokens of its head."""
    count = TokenCounter(window.tokens_family).count
    return replace(window, head_tokens=count(body_of(window, []).decode()))


def check_room(window: Window, *, state_tokens: int = 0) -> None:
    """Refuse a head that does not fit into the window's limit, so that it is refused before the first pack.

    Args:
        window: The window, with its tokens and the factor of its budget.
        state_tokens: The tokens of the required part of the state.

    Raises:
        BudgetTooSmall: the head does not fit; `least` in the metadata is the smallest limit that would be enough.
    """
    counted_tokens = window.head_tokens + window.pins_tokens + state_tokens + NOTE_TOKENS
    if counted_tokens > window.counted_limit:
        least = calibrated(counted_tokens, window.token_factor)
        raise BudgetTooSmall(
            f"prompt, tools, goal, pins and state have {least} tokens; the limit of the window is {window.token_limit}",
            least=least,
            token_limit=window.token_limit,
        )
