"""Files: small pictures of them, a viewer, and their bytes. For each answer the service checks the visitor's key.

Only pictures and recordings are sent as what they are, by their first bytes and under a policy that lets nothing run.
A PDF is never sent as one: a confined process draws its pages. All else is text on a page, or a file to download.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from urllib.parse import quote

from starlette.responses import PlainTextResponse, Response, StreamingResponse

from contextkeep import Record
from contextkeep.errors import Aborted
from contextkeep_console import code
from contextkeep_console.files.kinds import PICTURE_PIXELS_MAX, START_BYTES, Kind, kind_of_type, type_of
from contextkeep_console.files.previews import PAGE_EDGE, THUMBNAIL_EDGE, Preview, Wanted
from contextkeep_console.guard import CONTENT_POLICY
from contextkeep_console.tables import facts
from contextkeep_console.visit import Visit

PAGES_MAX = 100_000  # of a PDF
TEXT_BYTES = 64 * 1024  # of a file of text, on a page
_TEXTS = ("text/", "application/json", "application/xml", "application/yaml", "application/x-ndjson", "image/svg")
_RANGE = re.compile(r"bytes=([0-9]{0,18})-([0-9]{0,18})")


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """What a page shows of a file."""

    record: Record
    kind: Kind
    text: str = ""  # of a file of text, or why nothing else is shown
    is_text: bool = False
    page: int = 0  # of a PDF
    width: int = 0  # pixels; 0 is unknown
    height: int = 0
    page_count: int = 0


async def view(visit: Visit) -> Response:
    """Show a file: the whole page, or what the viewer of another page shows."""
    record_id = visit.step("record_id")
    file = await shown(visit, record_id, visit.number("page", 1, PAGES_MAX))
    record = file.record
    is_part = visit.query_value("view") == "alone"
    return visit.render(
        "file_alone.html" if is_part else "file.html",
        here="memory",
        title=record.name or "File",
        file=file,
        is_part=is_part,
        facts=facts(
            [
                ("Type", record.content_type or record.memory_type),
                ("Size", f"{record.size_bytes:,} bytes"),
                ("Pixels", f"{file.width:,} by {file.height:,}" if file.kind is Kind.PICTURE and file.width else ""),
                ("Pages", file.page_count or ""),
                ("Description", record.description),
                ("sha256", record.sha256),
                ("Created", record.created_at),
            ]
        ),
        code=code.Code(
            python=code.python("context", "blobs.download", record_id, record.name or "file"),
            shell=code.shell("wm", "get", record_id, o=record.name or "file"),
        ),
    )


async def shown(visit: Visit, record_id: str, page: int = 1) -> Shown:
    """Return what a page shows of a file, by its first bytes.

    Raises:
        NotFound: there is no such record, or the visitor may not read it.
        RecordHasNoBlob: its content is no file.
    """
    record, start = await _beginning(visit, record_id, TEXT_BYTES)
    kind = kind_of_type(type_of(start))
    if kind in {Kind.PICTURE, Kind.PDF}:
        number, edge = (page, PAGE_EDGE) if kind is Kind.PDF else (1, THUMBNAIL_EDGE)
        preview = await _preview(visit, record_id, number, edge)
        is_too_large = kind is Kind.PICTURE and preview.width * preview.height > PICTURE_PIXELS_MAX
        if is_too_large or (preview.trouble and not preview.page_count):
            kind = Kind.OTHER
        return Shown(
            record=record,
            kind=kind,
            text=preview.trouble,
            page=number,
            width=preview.width,
            height=preview.height,
            page_count=preview.page_count,
        )
    if kind is Kind.AUDIO:
        return Shown(record=record, kind=kind)
    is_text = record.content_type.startswith(_TEXTS) or record.memory_type.startswith(_TEXTS)
    if not is_text and b"\0" in start[:4096]:
        return Shown(record=record, kind=kind, text="It is no text. Download it to look at it.")
    more = f"\n… ({record.size_bytes:,} bytes in all)" if record.size_bytes > len(start) else ""
    return Shown(record=record, kind=kind, text=start.decode("utf-8", "replace") + more, is_text=True)


async def thumbnail(visit: Visit) -> Response:
    """Return a small picture of a picture, or of the first page of a PDF."""
    return _drawing(await _preview(visit, visit.step("record_id"), 1, THUMBNAIL_EDGE))


async def page(visit: Visit) -> Response:
    """Return a page of a PDF as a picture."""
    number = visit.step("number")
    wanted = min(int(number), PAGES_MAX) if number.isdecimal() and len(number) < 9 else 0
    return _drawing(await _preview(visit, visit.step("record_id"), wanted, PAGE_EDGE))


def _drawing(preview: Preview) -> Response:
    if preview.trouble:
        return PlainTextResponse(preview.trouble, 415, headers={"content-security-policy": CONTENT_POLICY})
    return Response(preview.data, media_type=preview.media_type, headers={"content-security-policy": CONTENT_POLICY})


async def _preview(visit: Visit, record_id: str, number: int, edge: int) -> Preview:
    """Return the drawing of a file, after the service has checked that the visitor may read it."""
    record, start = await _beginning(visit, record_id, START_BYTES)
    kind = kind_of_type(type_of(start))
    if kind not in {Kind.PICTURE, Kind.PDF} or (kind is Kind.PICTURE and edge == PAGE_EDGE):
        return Preview(trouble="Its first bytes are not those of a file that is drawn here.")
    wanted = Wanted(tenant_id=visit.session.tenant_id, sha256=record.sha256, kind=kind, page=number, edge=edge)
    if (kept := visit.previews.kept(wanted)) is not None:
        return kept
    async with visit.session.drawing:
        return await visit.previews.drawn(wanted, _bytes(visit, record), record.size_bytes)


async def _beginning(visit: Visit, record_id: str, size_bytes: int) -> tuple[Record, bytes]:
    """Return the record of a file, and its first bytes, at most `size_bytes`."""
    reader = await visit.context.blobs.get(record_id, length_bytes=size_bytes, include_archived=True, **visit.whose)
    async with reader:
        return reader.record, b"".join([chunk async for chunk in reader])


async def content(visit: Visit) -> Response:
    """Return a picture or a recording as what it is, also a range of its bytes; anything else as a file to keep."""
    record_id = visit.step("record_id")
    record, start = await _beginning(visit, record_id, START_BYTES)
    media_type = type_of(start)
    if kind_of_type(media_type) not in {Kind.PICTURE, Kind.AUDIO}:
        return await download(visit)
    size = record.size_bytes
    headers = {"accept-ranges": "bytes", "content-security-policy": CONTENT_POLICY}
    wanted = _range(visit.request.headers.get("range", ""), size)
    if wanted is None:
        return Response(status_code=416, headers={**headers, "content-range": f"bytes */{size}"})
    first, last = wanted
    length = last - first + 1
    if length < size:
        headers["content-range"] = f"bytes {first}-{last}/{size}"
    body = _bytes(visit, record, offset_bytes=first, length_bytes=length)
    return StreamingResponse(
        body,
        206 if length < size else 200,
        media_type=media_type,
        headers={**headers, "content-length": str(length)},
    )


def _range(header: str, size: int) -> tuple[int, int] | None:
    """Return the first and the last byte that a request wants; all of them if its header asks for no single range.

    None if the file ends before the range. HTTP lets a server ignore ranges that it does not know (RFC 9110, 14.2).
    """
    match = _RANGE.fullmatch(header)
    if not match or match[1] == match[2] == "":
        return 0, size - 1
    if not match[1]:
        return (max(0, size - int(match[2])), size - 1) if int(match[2]) else None
    first = int(match[1])
    last = min(int(match[2]), size - 1) if match[2] else size - 1
    if match[2] and int(match[2]) < first:
        return 0, size - 1
    return (first, last) if first < size else None


async def download(visit: Visit) -> Response:
    """Return a file to keep; nothing of it is ever shown as a page."""
    record_id = visit.step("record_id")
    record, _ = await _beginning(visit, record_id, 1)
    headers = {**as_attachment(record.name or record_id), "content-length": str(record.size_bytes)}
    return StreamingResponse(_bytes(visit, record), media_type="application/octet-stream", headers=headers)


def as_attachment(name: str) -> dict[str, str]:
    """Return the headers of a file to keep."""
    return {
        "content-disposition": f"attachment; filename*=UTF-8''{quote(name, safe='', errors='replace')}",
        "content-security-policy": CONTENT_POLICY,
    }


async def _bytes(visit: Visit, record: Record, offset_bytes: int = 0, length_bytes: int = 0) -> AsyncIterator[bytes]:
    """Yield the bytes of a file, or a range of them.

    Raises:
        Aborted: the record has other bytes by now, whose type and name may differ, too.
    """
    reader = await visit.context.blobs.get(
        record.working_memory_id,
        offset_bytes=offset_bytes,
        length_bytes=length_bytes,
        include_archived=True,
        **visit.whose,
    )
    async with reader:
        if reader.record.sha256 != record.sha256:
            raise Aborted("the file was replaced meanwhile")
        async for chunk in reader:
            yield chunk
