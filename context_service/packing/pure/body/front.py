"""The front of a pack: tools, system prompt and goal, before all zones."""

from __future__ import annotations

from collections.abc import Sequence

from context_service.kernel.parts import Part
from context_service.kernel.rendering import Body, Rendered, Source, Turn, empty
from context_service.packing.pure.steps.turns import pieces
from context_service.packing.pure.texts.quotation import Trust
from context_service.windows.model import Window, WindowInput

NOTE_TOKENS = 40  # at most, in any format: the note for vendors whose requests must begin with a user's message


def front_of(window: WindowInput) -> Body:
    """Return the body of a request with only the head of a window: tools, system prompt and goal."""
    goal = f"# Goal\n\n{window.goal}" if window.goal else ""
    text = "\n\n".join(filter(None, [window.system_prompt, goal]))
    tools = f'"tools":{window.tools_json},' if window.tools_json else ""
    head = pieces(Turn("system", parts=[Part(text=text)]), window.format) if text else []
    by_operator = (Source("system", "", Trust.USER.value),)
    return empty(window.format, tools).with_pieces(Rendered.of(piece)._replace(sources=by_operator) for piece in head)


def body_of(window: WindowInput, turns: Sequence[Rendered]) -> bytes:
    """Return the body of a request: the head of a window, followed by the pieces `turns`."""
    return front_of(window).with_pieces(turns).json


def front_tokens(window: Window) -> int:
    """Return the tokens of all parts but summaries and steps: the head, the pins, the state and the largest note."""
    return window.head_tokens + window.pins_tokens + window.state_tokens + NOTE_TOKENS
