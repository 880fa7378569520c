"""The rules of windows: opening them, catching up with the log, and packing."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from context_service.contexts.log import Log
from context_service.contexts.messaging import not_found
from context_service.contexts.model import Message
from context_service.contexts.order import Order
from context_service.parts import Part, texts_of
from context_service.rendering import Format, Turn, pieces
from context_service.tokens import TokenCounter
from context_service.windows.models import model
from context_service.windows.packing import Block, Budget, DoesNotFit, Rendered, block_of, first_seen, packed, tokens_of
from context_service.windows.steps import cut
from context_service.windows.window_rows import Seen, StoredBlock, Window, WindowInput, WindowRows
from contextkeep.errors import (
    Aborted,
    AnswerTooLarge,
    BudgetTooSmall,
    ContextClosed,
    InvalidArgument,
    InvalidPageToken,
    LimitExceeded,
    WindowClosed,
    WindowNotFound,
)
from service_runtime import pages
from service_runtime.auth import Principal
from service_runtime.documents import beside_the_loop, check_size, check_text, parse_json
from service_runtime.ids import new_id
from service_runtime.postgres import Transaction
from service_runtime.requests import Request, Requests

BUDGET_SHARE = 0.8
OUTPUT_RESERVATION = 4_096
CONTEXT_TOKENS_MAX = 10_000_000
MODEL_CHARS_MAX = 200
WINDOWS_MAX = 16  # open ones of a context
SYSTEM_PROMPT_BYTES_MAX = 256 * 1024
TOOLS_BYTES_MAX = 1024 * 1024
GOAL_BYTES_MAX = 16 * 1024
PACK_BYTES_MAX = 4 * 1024 * 1024 - 64 * 1024
MESSAGES_AT_ONCE = 256  # of a transaction that catches up

_NOTE_TOKENS = 100  # that are kept for the note in front of the steps; it has 40
_RENDERING = 16  # times as long as parsing: what is counted
_READING = 4  # as long: what is read, assembled and hashed
_TRIES = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """What a caller says of a new window; what is empty or 0 is known, or has a default."""

    model: str
    context_tokens: int = 0
    format: Format | None = None
    system_prompt: str = ""
    tools_json: str = ""
    goal: str = ""
    token_budget: float = 0.0
    output_reservation: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Pack:
    """What a model shall see now.

    Attributes:
        window: As it was packed.
        messages_json: For the body of a request.
        prefix_bytes: So many of it begin the next pack, too, until the window's epoch is another one.
        prefix_sha: Their SHA-256, in hexadecimal.
        step_tokens: Of the steps.
        note_tokens: Of what says that some are left out.
        step_count: Steps that are seen.
        last_seq: The newest message that was read.
        is_waiting: The last step waits for results.
    """

    window: Window
    messages_json: bytes
    prefix_bytes: int
    prefix_sha: str
    step_tokens: int
    note_tokens: int
    step_count: int
    last_seq: int
    is_waiting: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _Read:
    """What a window has not, of a log.

    Attributes:
        window: As it was then.
        last_seq: Of the log, then.
        blocks: Steps that are whole.
        reached_seq: Up to which message.
        waiting: The step behind, if it waits for results.
    """

    window: Window
    last_seq: int
    blocks: list[Block]
    reached_seq: int
    waiting: Block | None

    def is_of(self, window: Window) -> bool:
        """Say whether a window is still the one that lacks it; or has it, by another call."""
        is_same = window.retracted_count == self.window.retracted_count and not window.closed_at
        return is_same and window.reached_seq in (self.window.reached_seq, self.reached_seq)


class Windows:
    """Opens windows and packs them; each call acts for its principal.

    Args:
        rows: Where they are.
        log: Their contexts and messages.
        requests: The request ids of this service.
        order: The writers of a context, and who packs a window.
        nesting_max: Of a window's tools.
    """

    def __init__(self, rows: WindowRows, *, log: Log, requests: Requests, order: Order, nesting_max: int) -> None:
        self._rows = rows
        self._log = log
        self._requests = requests
        self._order = order
        self._nesting_max = nesting_max

    def _input(self, said: Opening) -> WindowInput:
        """Return what a new window is, with what is known of its model."""
        check_text("model", said.model, chars_max=MODEL_CHARS_MAX, required=True)
        known = model(said.model)
        context_tokens = said.context_tokens or known.context_tokens
        if not context_tokens:
            raise InvalidArgument(f"what {said.model} takes is not known: name it", field="context_tokens")
        if not 0 < context_tokens <= CONTEXT_TOKENS_MAX:
            raise InvalidArgument(f"context_tokens is not between 1 and {CONTEXT_TOKENS_MAX}", field="context_tokens")
        share = said.token_budget or BUDGET_SHARE
        if not 0 < share <= 1:
            raise InvalidArgument("token_budget is not above 0 and up to 1", field="token_budget")
        reserved = said.output_reservation or OUTPUT_RESERVATION
        if not 0 < reserved < context_tokens:
            raise InvalidArgument(
                f"output_reservation is not between 0 and {context_tokens}, what the model takes",
                field="output_reservation",
            )
        for name, text, size_bytes_max in (
            ("system_prompt", said.system_prompt, SYSTEM_PROMPT_BYTES_MAX),
            ("goal", said.goal, GOAL_BYTES_MAX),
        ):
            check_text(name, text, chars_max=size_bytes_max)
            check_size(name, text, size_bytes_max=size_bytes_max)
        if said.tools_json:
            tools = parse_json(
                "tools_json", said.tools_json, size_bytes_max=TOOLS_BYTES_MAX, nesting_max=self._nesting_max
            )
            if not isinstance(tools, list):
                raise InvalidArgument("tools_json is no JSON list", field="tools_json")
        given = WindowInput(
            model=said.model,
            format=said.format or known.format,
            tokens_family=known.family,
            context_tokens=context_tokens,
            token_limit=min(math.floor(share * context_tokens), context_tokens - reserved),
            head_tokens=0,
            system_prompt=said.system_prompt,
            tools_json=said.tools_json,
            goal=said.goal,
        )
        count = TokenCounter(given.tokens_family).count
        head_tokens = count(_body(given, [], []).decode())
        if head_tokens + _NOTE_TOKENS > given.token_limit:
            raise BudgetTooSmall(
                f"what stands in front of all has {head_tokens} tokens; the limit is {given.token_limit}",
                least=head_tokens + _NOTE_TOKENS,
                token_limit=given.token_limit,
            )
        return replace(given, head_tokens=head_tokens)

    async def open(self, context_id: UUID, said: Opening, *, principal: Principal, request: Request | None) -> Window:
        """Open a window on a context.

        Raises:
            ContextNotFound, ContextClosed: there is no such context, or it is closed.
            BudgetTooSmall: what stands in front of all steps does not fit.
            InvalidArgument, LimitExceeded, RequestIdReused: see the contract.
        """
        given = await beside_the_loop(_RENDERING * len(said.system_prompt + said.tools_json), self._input, said)

        async def work(transaction: Transaction) -> Window | UUID:
            if request and (answer := await self._requests.claim(transaction, request)):
                return UUID(answer["window_id"])
            context = await self._log.lock(transaction, context_id)
            if context is None:
                raise not_found(context_id)
            if context.closed_at:
                raise ContextClosed("the context is closed", context_id=context_id)
            count = await self._rows.count_open(transaction, context_id)
            if count >= WINDOWS_MAX:
                raise LimitExceeded(
                    f"the context has {count} open windows: close one",
                    limit="windows",
                    limit_max=WINDOWS_MAX,
                    value=count + 1,
                )
            window = await self._rows.open(transaction, context_id, new_id(), given, created_by=principal.subject)
            if request:
                await self._rows.answer(transaction, request, window)
            return window

        async with self._order.turn((principal.tenant_id, context_id)):
            made = await self._log.of(principal, context_id).transaction(work)
        if isinstance(made, Window):
            return made
        opened_before = await self._rows.standing(context_id, made, principal=principal)
        if opened_before is None:  # the context is gone since
            raise not_found(context_id)
        return opened_before.window

    async def read(self, window_id: UUID, *, principal: Principal) -> Window:
        """Return a window.

        Raises:
            WindowNotFound: there is none.
        """
        context_id = await self._meant(window_id, principal)
        window = await self._rows.read(context_id, window_id, principal=principal)
        if window is None:
            raise _no_window(window_id)
        return window

    async def windows(
        self, context_id: UUID, page: pages.PageRequest, *, principal: Principal
    ) -> tuple[list[Window], str]:
        """Return a page of the windows of a context, the newest first, and the token of the next page.

        Raises:
            ContextNotFound: there is no such context.
            InvalidArgument, InvalidPageToken: see the contract.
        """
        if not await self._log.read(context_id, principal=principal):
            raise not_found(context_id)
        query = ("ListWindows", principal.tenant_id, context_id)
        key = pages.decode_token(query, page.token, parts=1)
        count = pages.page_size(page.size)
        found = await self._rows.page(context_id, principal=principal, before=_before(key), count=count + 1)
        token = pages.encode_token(query, (str(found[count - 1].window_id),)) if len(found) > count else ""
        return found[:count], token

    async def close(self, window_id: UUID, *, principal: Principal, request: Request | None) -> Window:
        """Close a window, and remove what it was packed of.

        Raises:
            WindowNotFound: there is none.
            RequestIdReused: see the contract.
        """
        principal = principal.without_admin()
        if request:  # what it named first counts
            await self._requests.answered(self._log.of(principal, new_id()), request)
        context_id = await self._meant(window_id, principal)

        async def work(transaction: Transaction) -> Window:
            again = request and await self._requests.claim(transaction, request)
            window = await self._rows.lock(transaction, context_id, window_id)
            if window is None:
                raise _no_window(window_id)
            if again:
                return window
            closed = await self._rows.close(transaction, window_id)
            if request:
                await self._rows.answer(transaction, request, closed)
            return closed

        return await self._log.of(principal, context_id).transaction(work)

    async def pack(self, window_id: UUID, *, principal: Principal) -> Pack:
        """Catch up with the log, and return what the model shall see now.

        Raises:
            WindowNotFound, WindowClosed: there is no such window, or it is closed.
            BudgetTooSmall: the last step does not fit.
            AnswerTooLarge: what fits the model fits no answer.
            Aborted: others write to the window all the time.
        """
        principal = principal.without_admin()
        context_id = await self._meant(window_id, principal)
        async with self._order.turn((principal.tenant_id, window_id)):  # of another replica one may be faster
            for _ in range(_TRIES):
                read = await self._caught_up(context_id, window_id, principal)
                if seen := await self._seen(read, principal):
                    break
            else:
                raise Aborted("others write to the window while it is packed; try again")
        size = sum(len(one.pieces_json or "") for one in seen.blocks)
        return await beside_the_loop(_READING * size, _pack_of, seen.window, seen.blocks, read)

    async def _meant(self, window_id: UUID, principal: Principal) -> UUID:
        context_id = await self._rows.context_of(window_id, principal=principal)
        if context_id is None:
            raise _no_window(window_id)
        return context_id

    async def _caught_up(self, context_id: UUID, window_id: UUID, principal: Principal) -> _Read:
        """Write the steps that the log has and the window has not, but for the last that are to be written.

        Messages are cut, rendered and counted before the window is locked, those of one step or `MESSAGES_AT_ONCE` of a
        transaction. A kill between two of them leaves a window that is so far.

        Raises:
            WindowNotFound, WindowClosed: it is gone, or closed.
        """
        while True:
            standing = await self._rows.standing(context_id, window_id, principal=principal)
            if standing is None:
                raise _no_window(window_id)
            window, last_seq, retracted_count = standing
            if window.closed_at:
                raise WindowClosed("the window is closed", window_id=window_id)
            if retracted_count != window.retracted_count:
                await self._begin_anew(window, retracted_count, principal)
                continue
            messages, is_end = await self._messages(window, last_seq, principal)
            size = sum(map(_size_of, messages))
            read = await beside_the_loop(_RENDERING * size, _read, window, messages, is_end, last_seq)
            if is_end:
                return read
            await self._written(read, principal)

    async def _messages(self, window: Window, last_seq: int, principal: Principal) -> tuple[list[Message], bool]:
        """Return what follows in the log, one whole step at least, and whether that is all of it up to `last_seq`."""
        messages: list[Message] = []
        seq_from = window.reached_seq + 1
        while seq_from <= last_seq:
            page = await self._log.page(
                window.context_id,
                principal=principal,
                seq_from=seq_from,
                seq_to=last_seq,
                count=MESSAGES_AT_ONCE,
                newest_first=False,
            )
            if page is None:
                raise _no_window(window.window_id)
            if not page:  # all that follow are retracted
                return messages, True
            messages += page
            seq_from = page[-1].seq + 1
            if seq_from <= last_seq and await beside_the_loop(sum(map(_size_of, messages)), _has_whole_step, messages):
                return messages, False
        return messages, True

    async def _written(self, read: _Read, principal: Principal) -> None:
        """Write what was read, unless another call has: then it was the same."""

        async def work(transaction: Transaction) -> None:
            await self._add(transaction, read)

        await self._log.of(principal, read.window.context_id).transaction(work)

    async def _add(self, transaction: Transaction, read: _Read) -> bool:
        """Write what was read within a transaction, which has the window from then on; False: it is another one now."""
        locked = await self._rows.lock(transaction, read.window.context_id, read.window.window_id)
        if locked is None or not read.is_of(locked):
            return False
        if locked.reached_seq != read.reached_seq:
            await self._rows.add(transaction, locked, read.blocks, reached_seq=read.reached_seq)
        return True

    async def _begin_anew(self, window: Window, retracted_count: int, principal: Principal) -> None:
        """Forget the blocks: a message was retracted, and no pack shall have it."""

        async def work(transaction: Transaction) -> None:
            locked = await self._rows.lock(transaction, window.context_id, window.window_id)
            if locked and locked.retracted_count == window.retracted_count:
                await self._rows.begin_anew(transaction, locked, retracted_count=retracted_count)

        await self._log.of(principal, window.context_id).transaction(work)

    async def _seen(self, read: _Read, principal: Principal) -> Seen | None:
        """Return what of a window is seen now, with what was read of the log; None: it is another one meanwhile.

        Raises:
            BudgetTooSmall: the last step does not fit. What was read is written all the same.
        """
        if read.reached_seq == read.window.reached_seq:  # nothing is to be written, unless there is a fold
            seen = await self._rows.seen(read.window, principal=principal)
            if seen is None or not read.is_of(seen.window):
                return None
            if not _left_out(seen, read.waiting):
                return seen

        async def work(transaction: Transaction) -> Seen | None:
            if not await self._add(transaction, read):
                return None
            seen = await self._rows.seen_within(transaction, read.window)
            try:
                count = _left_out(seen, read.waiting)
            except BudgetTooSmall:  # it is raised behind what is written
                return seen
            if not count:
                return seen
            tokens = sum(one.tokens for one in seen.blocks[:count])
            await self._rows.fold(transaction, seen.window, seen.window.first_number + count, tokens=tokens)
            return await self._rows.seen_within(transaction, read.window)

        seen = await self._log.of(principal, read.window.context_id).transaction(work)
        if seen:
            _left_out(seen, read.waiting)
        return seen


def _left_out(seen: Seen, waiting: Block | None) -> int:
    """Return how many of the blocks that are seen a fold leaves out now.

    Raises:
        BudgetTooSmall: not even the last one fits.
    """
    tokens = [one.tokens for one in seen.blocks] + ([waiting.tokens] if waiting else [])
    budget = Budget(limit=seen.window.token_limit, head=seen.window.head_tokens + _NOTE_TOKENS)
    try:
        return first_seen(tokens, budget, first=0)
    except DoesNotFit as error:
        raise BudgetTooSmall(
            f"the last step does not fit: with what stands in front it has {error.least} tokens",
            least=error.least,
            token_limit=budget.limit,
        ) from None


def _has_whole_step(messages: Sequence[Message]) -> bool:
    return bool(cut(messages, is_end=False).closed)


def _read(window: Window, messages: Sequence[Message], is_end: bool, last_seq: int) -> _Read:
    """Return messages as what a window lacks."""
    count = TokenCounter(window.tokens_family).count
    done = cut(messages, is_end=is_end)
    read_seq = last_seq if is_end else messages[-1].seq
    return _Read(
        window=window,
        last_seq=last_seq,
        blocks=[block_of(step, window.format, count) for step in done.closed],
        reached_seq=read_seq if done.next_seq is None else done.next_seq - 1,
        waiting=block_of(done.open, window.format, count) if done.open else None,
    )


def _pack_of(window: Window, stored: Sequence[StoredBlock], read: _Read) -> Pack:
    blocks = [one.read() for one in stored]
    if read.waiting:
        blocks.append(read.waiting)
    note = _note(window, blocks)
    body = _body(window, note, blocks)
    if len(body) > PACK_BYTES_MAX:
        raise AnswerTooLarge("the pack does not fit one answer", size_bytes=len(body), size_bytes_max=PACK_BYTES_MAX)
    prefix = body.rstrip(b"]}")  # what closes it: the next one goes on before
    count = TokenCounter(window.tokens_family).count
    return Pack(
        window=window,
        messages_json=body,
        prefix_bytes=len(prefix),
        prefix_sha=hashlib.sha256(prefix).hexdigest(),
        step_tokens=sum(block.tokens for block in blocks),
        note_tokens=tokens_of(note, window.format, count),
        step_count=len(blocks),
        last_seq=read.last_seq,
        is_waiting=read.waiting is not None,
    )


def _body(window: WindowInput, note: Sequence[Rendered], blocks: Sequence[Block]) -> bytes:
    body = packed([*_head(window), *note], blocks, window.format)
    return b'{"tools":' + window.tools_json.encode() + b"," + body[1:] if window.tools_json else body


def _head(window: WindowInput) -> list[Rendered]:
    """Return what stands in front of all: the system prompt with the goal."""
    goal = f"# Goal\n\n{window.goal}" if window.goal else ""
    text = "\n\n".join(filter(None, [window.system_prompt, goal]))
    if not text:
        return []
    return [Rendered.of(piece) for piece in pieces(Turn("system", parts=[Part(text=text)]), window.format)]


def _note(window: Window, blocks: Sequence[Block]) -> list[Rendered]:
    """Return what says that steps are left out; and, for vendors who want a user first, that it begins otherwise."""
    if window.first_number:
        text = (
            f"[{window.first_number} earlier steps of this conversation, {window.left_out_tokens} tokens, are left "
            "out here. They are kept, and can be recalled.]"
        )
    elif blocks and blocks[0].pieces and blocks[0].pieces[0].role in ("assistant", "model"):
        text = "[The conversation begins with the assistant.]"
    else:
        return []
    return [Rendered.of(piece) for piece in pieces(Turn("user", parts=[Part(text=text)]), window.format)]


def _before(key: Sequence[object] | None) -> UUID | None:
    try:
        return UUID(str(key[0])) if key else None
    except ValueError:
        raise InvalidPageToken("page_token is malformed", field="page_token") from None


def _size_of(message: Message) -> int:
    return sum(map(len, texts_of(message.content, message.parts)))


def _no_window(window_id: UUID) -> WindowNotFound:
    return WindowNotFound("there is no such window", window_id=window_id)
