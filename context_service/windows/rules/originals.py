"""Expand and SearchWindow: the original of a ref, byte for byte, and passages of a window's whole log."""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import TYPE_CHECKING
from uuid import UUID

from context_service.contexts.model import Message
from context_service.contexts.room import SEQ_MAX, ByMeaning, Filter, Log, RecalledItem, Recalling, RecallQuery
from context_service.kernel.parts import File, Part
from context_service.kernel.rendering.turns import line_of
from context_service.packing.model import STEP, SUMMARY, ViewPart
from context_service.packing.pure.texts.units import SpokenText, said_in
from context_service.profiles.pure.profiles import ROLES
from context_service.retrieval.model import PassageScope
from context_service.retrieval.room import Passages
from context_service.windows.model import Window, window_not_found
from context_service.windows.pure import refs
from context_service.windows.pure.refs import Ref
from context_service.windows.rules.telemetry import Telemetry
from context_service.windows.store.windows import WindowRows
from context_service.working_memory.room import FileContents
from contextkeep.errors import AnswerTooLarge, Erased, InvalidArgument, RefNotFound
from service_runtime.inputs.documents import beside_the_loop
from service_runtime.rpc.principal import Principal
from service_runtime.values.copying import copied

if TYPE_CHECKING:
    from context_service.forks.room import ForkRows
    from context_service.packing.room import ViewRows
    from context_service.profiles.room import Learning

_MESSAGES_MAX = 500  # the most messages of an answer
RANGE_BYTES_MAX = 4 * 1024 * 1024 - 64 * 1024  # gRPC clients take answers of up to 4 MiB
_PART_BYTES = 40  # bytes of parsing that reading a part costs


@dataclass(frozen=True, slots=True, kw_only=True)
class Original:
    """The original that a ref names: the bytes of a part, or a range of those of a file; or messages."""

    content: bytes = b""
    is_json: bool = False
    sha256: str = ""  # of the whole original, as its size
    size_bytes: int = 0
    media_type: str = ""  # of a file with bytes
    messages: Sequence[Message] = ()
    next_ref: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ByteRange:
    """A range of the bytes of a file; a length of 0 means up to the end."""

    offset: int = 0
    length: int = 0


WHOLE = ByteRange()


@dataclass(frozen=True, slots=True, kw_only=True)
class OriginalHit:
    """A passage that was found, and the steps of the window that it belongs to.

    The steps are 0 if the window has not read the passage yet.
    """

    item: RecalledItem
    step_from: int = 0
    step_to: int = 0
    zone: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepRange:
    """A range of steps, both ends included; 0 leaves an end open."""

    first: int = 0
    last: int = 0


class Originals:
    """Returns originals and searches logs; each call acts for its principal.

    Args:
        rows: The store of windows.
        views: The store of the windows' shown parts.
        forks: The store of forks, whose logs a ref may name.
        log: The contexts, which hold the messages.
        passages: The index of the logs' passages.
        contents: Reads the bytes of files.
        recalling: Finds passages that answer a question.
        learning: Counts the lookups of windows that learn.
        telemetry: Counts all lookups, for metrics.
    """

    def __init__(
        self,
        rows: WindowRows,
        views: ViewRows,
        forks: ForkRows,
        *,
        log: Log,
        passages: Passages,
        contents: FileContents,
        recalling: Recalling,
        learning: Learning,
        telemetry: Telemetry,
    ) -> None:
        self._learning = learning
        self._telemetry = telemetry
        self._rows = rows
        self._views = views
        self._forks = forks
        self._log = log
        self._passages = passages
        self._contents = contents
        self._recalling = recalling

    async def expand(
        self, window_id: UUID, ref: str, *, principal: Principal, byte_range: ByteRange = WHOLE
    ) -> Original:
        """Return the original text or messages that a ref names.

        In a window that learns, the lookup is counted if the window no longer shows the message.

        Args:
            window_id: The window.
            ref: The ref, which may lead through forks.
            principal: The caller.
            byte_range: The range to return of the bytes of a file.

        Raises:
            WindowNotFound: the window does not exist.
            InvalidArgument: the text is not a ref, or the range is not within the file.
            RefNotFound: the context has no such message, part or fork.
            Erased: the message was retracted, or the fork that has it is erased.
            AnswerTooLarge: the file that the ref names does not fit one answer.
            BlobCorrupted, ProviderNotConfigured, Unavailable: the bytes of the file cannot be read.
        """
        principal = principal.without_admin()
        context_id, learns = await self._rows.window_context(window_id, principal=principal)
        self._telemetry.looked_up("expand")
        forks, last_ref = refs.path_of(ref)
        learns = learns and not forks
        _check_range(byte_range)
        target = refs.parse_ref(last_ref)
        if target is None:
            raise InvalidArgument("ref must be like m37, m37/2, m37/2/1, m37.0, m37..m58, a2.0 or f3:m37", field="ref")
        for number in forks:
            fork = await self._forks.read(context_id, number, principal=principal)
            if fork is None:
                raise _no_ref(ref)
            context_id = fork.fork_context_id
        context = await self._log.read(context_id, principal=principal)
        if context is None:
            raise Erased("the messages that ref names were erased", ref=ref) if forks else window_not_found(window_id)
        if target.passage is not None:
            place = (target.seq, target.passage)
            texts = await self._passages.texts(principal, PassageScope.of_context(context_id), [place])
            if place in texts:
                if learns:  # a passage does not have its speaker, so it counts for all roles
                    spoken_texts = [SpokenText(role, texts[place], 0) for role in ROLES]
                    await self._learning.count_lookup(
                        context_id, window_id, target.seq, spoken_texts, principal=principal
                    )
                return _original(texts[place])
        if not 0 < target.seq <= target.last_seq <= context.last_seq:
            raise _no_ref(ref)
        messages = await self._log.page(
            context_id,
            principal=principal,
            seq_from=target.seq,
            seq_to=target.last_seq,
            count=_MESSAGES_MAX,
            newest_first=False,
        )
        if not messages:
            raise Erased("the messages that ref names were retracted", ref=ref)
        if target.passage is not None:
            raise _no_ref(ref)
        original: Original | None = None
        if target.part is not None:
            file = _file(messages[0], target, ref)
            if file:
                original = await self._original_of_file(
                    file, last_ref, context_id, principal=principal, byte_range=byte_range
                )
            else:
                original = _part(messages[0], target, ref)
        if learns and target.seq == target.last_seq:  # a range of messages does not show which kind of line was wanted
            spoken_texts = [
                spoken_text for spoken_text in said_in(messages[0]) if target.part in (None, spoken_text.part)
            ]
            await self._learning.count_lookup(context_id, window_id, target.seq, spoken_texts, principal=principal)
        if original:
            return original
        last = messages[-1].seq
        next_ref = refs.refs_between(last + 1, target.last_seq) if last < target.last_seq else ""
        return Original(messages=messages, next_ref=next_ref and ref.removesuffix(last_ref) + next_ref)

    async def _original_of_file(
        self, file: File, ref: str, context_id: UUID, *, principal: Principal, byte_range: ByteRange
    ) -> Original:
        """Return bytes of a file of a context. If its record was deleted, the line that stands for the file.

        Raises:
            AnswerTooLarge: the bytes do not fit one answer.
            InvalidArgument: the range begins after the end of the file.
        """
        record_id = file.working_memory_id
        if record_id is None:
            return _original(file.url or "")
        files = await self._contents.files_of([record_id], principal=principal, context_id=context_id)
        if record_id not in files:
            return _original(line_of(replace(file, ref=ref)))
        stored = files[record_id]
        size_bytes, first = stored.blob.size_bytes, byte_range.offset
        if first and first >= size_bytes:
            raise InvalidArgument(
                f"offset_bytes must be less than the {size_bytes:,} bytes of the file (got {first:,})",
                field="offset_bytes",
            )
        end = min(first + byte_range.length, size_bytes) if byte_range.length else size_bytes
        if end - first > RANGE_BYTES_MAX:
            raise AnswerTooLarge(
                f"the file has {size_bytes:,} bytes; an answer may have up to {RANGE_BYTES_MAX:,}: set length_bytes,"
                " and read it in ranges",
                use="length_bytes",
                size_bytes=size_bytes,
                size_bytes_max=RANGE_BYTES_MAX,
            )
        return Original(
            content=await self._contents.read(stored.blob, start_bytes=first, end_bytes=end),
            sha256=stored.file.sha256,
            size_bytes=size_bytes,
            media_type=stored.file.media_type,
        )

    async def search(
        self, window_id: UUID, query: RecallQuery, steps: StepRange, *, principal: Principal
    ) -> tuple[list[OriginalHit], ByMeaning]:
        """Return the passages that match, best first, each with its step.

        Raises:
            WindowNotFound: the window does not exist.
            InvalidArgument: a field of the request is malformed or out of range.
            LimitExceeded: a field of the request is too large, or a limit of stored objects is reached.
        """
        principal = principal.without_admin()
        context_id = await self._rows.context_of(window_id, principal=principal)
        window = await self._rows.read(context_id, window_id, principal=principal)
        view = await self._views.view(window, principal=principal) if window else None
        if window is None or view is None:
            raise window_not_found(window_id)
        if steps.first or steps.last:
            size = _PART_BYTES * len(view.parts)
            query = replace(query, which=await beside_the_loop(size, _within, query.which, view.parts, steps))
        self._telemetry.looked_up("search")
        recalled = await self._recalling.search(context_id, query, principal=principal)
        size = _PART_BYTES * len(view.parts)
        hits = await beside_the_loop(size, _hits, recalled.items, view.parts, window)
        # Only the best passage counts as looked up: the others are probably not what the caller wanted.
        if window.config.learning and hits and hits[0].zone not in ("", "verbatim"):
            best = hits[0].item
            spoken_texts = [SpokenText(best.role, best.text, 0)]
            await self._learning.count_lookup(context_id, window_id, best.seq, spoken_texts, principal=principal)
        return hits, recalled.meaning


def _check_range(byte_range: ByteRange) -> None:
    """Refuse a range that no file has."""
    if byte_range.offset < 0:
        raise InvalidArgument(f"offset_bytes must be 0 or more (got {byte_range.offset})", field="offset_bytes")
    if not 0 <= byte_range.length <= RANGE_BYTES_MAX:
        raise InvalidArgument(
            f"length_bytes must be between 0 and {RANGE_BYTES_MAX:,} (got {byte_range.length:,})", field="length_bytes"
        )


def _file(message: Message, target: Ref, ref: str) -> File | None:
    """Return the file that a ref names: a part of a message, or a file of a result; None if it names something else.

    Raises:
        RefNotFound: the result has no such file.
    """
    part = message.parts[target.part - 1] if target.part and target.part <= len(message.parts) else None
    if target.file is None:
        return part.file if part else None
    files = part.tool_result.files if part and part.tool_result else ()
    if target.file > len(files):
        raise _no_ref(ref)
    return files[target.file - 1]


def _part(message: Message, target: Ref, ref: str) -> Original:
    """Return the original of the part of a message that a ref names.

    Raises:
        RefNotFound: the message has no such part.
    """
    if target.part == 0:
        return _original(message.content)
    if target.part is None or target.part > len(message.parts):
        raise _no_ref(ref)
    return _original_of(message.parts[target.part - 1])


def _original_of(part: Part) -> Original:
    """Return the text or the JSON of a part; for a part that points at a record, its id."""
    if part.tool_result:
        return _original(part.tool_result.content_json, is_json=True)
    if part.tool_call:
        return _original(part.tool_call.arguments_json, is_json=True)
    if part.reasoning:
        return _original(part.reasoning.data_json or part.reasoning.text, is_json=bool(part.reasoning.data_json))
    if part.data_json is not None:
        return _original(part.data_json, is_json=True)
    return _original(
        next((content for content in (part.text, part.url, part.working_memory_id) if content is not None), "")
    )


def _original(text: str, *, is_json: bool = False) -> Original:
    """Return a text as an original, with its bytes and their hash."""
    content = text.encode(errors="surrogatepass")
    return Original(
        content=content,
        sha256=hashlib.sha256(content).hexdigest(),
        size_bytes=len(content),
        is_json=is_json and bool(content),
    )


def _no_ref(ref: str) -> RefNotFound:
    return RefNotFound("the context has no message with this ref", ref=ref)


def _within(which: Filter, parts: Sequence[ViewPart], steps: StepRange) -> Filter:
    """Return a filter narrowed to the messages of steps.

    If a step is part of a summary, the filter includes the messages of all steps of the summary.
    """
    last = steps.last or max((part.step_to for part in parts), default=0)
    parts_named = [
        part
        for part in parts
        if part.kind in (STEP, SUMMARY) and part.step_to >= steps.first and part.step_from <= last
    ]
    seq_from = min((part.seq_from for part in parts_named), default=SEQ_MAX)
    seq_to = max((part.seq_to for part in parts_named), default=0)
    return replace(
        which,
        seq_from=max(which.seq_from, seq_from),
        seq_to=seq_to if which.seq_to is None else min(which.seq_to, seq_to),
    )


def _hits(items: Sequence[RecalledItem], parts: Sequence[ViewPart], window: Window) -> list[OriginalHit]:
    """Return passages, each with the step it belongs to.

    Steps may overlap if a user spoke while a tool ran: then the step that begins last counts.
    """
    steps = [part for part in reversed(parts) if part.kind in (STEP, SUMMARY)]  # of two that begin together the first
    steps.sort(key=lambda found_step: found_step.seq_from)
    starts = [step.seq_from for step in steps]
    ends = list(accumulate((step.seq_to for step in steps), max))  # the last message of any step up to this one
    hits = []
    for item in items:
        at = bisect_right(starts, item.seq) - 1
        while at >= 0 and steps[at].seq_to < item.seq <= ends[at]:
            at -= 1
        is_of_step = at >= 0 and item.seq <= ends[at]
        if not is_of_step or item.seq > window.reached_seq or item.seq in window.left_out:
            hits.append(OriginalHit(item=item))
        else:
            step = steps[at]
            hits.append(copied(OriginalHit, step, item=item))
    return hits
