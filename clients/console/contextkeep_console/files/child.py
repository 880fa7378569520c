"""The program that draws one file: `python -m contextkeep_console.files.child KIND PAGE EDGE MEMORY CPU_S`.

The file comes in at descriptor 0. A line of JSON goes out at descriptor 1, and after it the drawing: a picture as WebP,
a page of a PDF as PNG. The libraries are imported before the process gives up its abilities, so that none of their
modules is missing afterwards. Where the kernel does not confine the process, it draws nothing: the libraries are
written in C, and files are hostile.
"""

from __future__ import annotations

import ctypes
import io
import json
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from contextkeep_console._gen.confinement import confine

_DECODED_PIXELS_MAX = 40_000_000  # four bytes each, twice: as it is decoded, and converted
_PAGE_HEIGHT_RATIO_MAX = 4.0  # of a page of a PDF, as times its width; longer pages are drawn smaller
_PIECE_BYTES = 1024 * 1024

Draw = Callable[[bytes, int, int], tuple[dict[str, Any], bytes]]


class Undrawable(Exception):
    """The file cannot be drawn, for one of the reasons that the other side knows."""

    def __init__(self, reason: str, **facts: int) -> None:
        super().__init__(reason)
        self.facts: dict[str, Any] = {"reason": reason, **facts}


def main() -> None:
    """Draw the file on standard input, and exit at once, before a library's own clean-up could run."""
    kind, page, edge, memory_bytes_max, cpu_s_max = sys.argv[1], *map(int, sys.argv[2:])
    draw = _page_drawer() if kind == "pdf" else _picture_drawer()
    if confine(memory_bytes_max=memory_bytes_max, cpu_s_max=cpu_s_max):
        facts, drawing = _drawn(draw, page, edge)
    else:
        facts, drawing = {"reason": "unconfined"}, b""
    _write(json.dumps(facts).encode() + b"\n" + drawing)
    os._exit(0)


def _drawn(draw: Draw, page: int, edge: int) -> tuple[dict[str, Any], bytes]:
    try:
        return draw(_input(), page, edge)
    except Undrawable as error:
        return error.facts, b""
    except MemoryError:
        return {"reason": "memory"}, b""
    except Exception:  # any error of a library means that the file is not as it should be
        return {"reason": "damaged"}, b""


def _picture_drawer() -> Draw:
    """Return the function that draws a picture smaller, with all modules imported that its formats need."""
    import copy

    from PIL import (
        GifImagePlugin,
        Image,
        ImageChops,
        ImageOps,
        JpegImagePlugin,
        MpoImagePlugin,
        PngImagePlugin,
        TiffImagePlugin,
        WebPImagePlugin,
    )

    del copy, GifImagePlugin, ImageChops, JpegImagePlugin, MpoImagePlugin, PngImagePlugin, TiffImagePlugin
    del WebPImagePlugin
    Image.preinit()
    Image.MAX_IMAGE_PIXELS = None  # the limit here is below

    def draw(data: bytes, _page: int, edge: int) -> tuple[dict[str, Any], bytes]:
        image: Image.Image = Image.open(io.BytesIO(data), formats=("PNG", "JPEG", "GIF", "WEBP"))
        facts = {"width": image.width, "height": image.height}
        image.draft("RGB", (edge, edge))  # a JPEG is decoded at an eighth of its size, if that is enough
        if image.width * image.height > _DECODED_PIXELS_MAX:
            raise Undrawable("pixels", **facts)
        if image.mode not in {"RGB", "RGBA"}:
            image = image.convert("RGBA" if "A" in image.mode or "transparency" in image.info else "RGB")
        image.thumbnail((edge, edge))
        with suppress(Exception):  # a picture without a readable orientation is shown as it is
            image = ImageOps.exif_transpose(image)
        drawing = io.BytesIO()
        image.save(drawing, "WEBP", quality=80, method=2, exif=b"", icc_profile=b"", xmp=b"")
        return facts, drawing.getvalue()

    return draw


def _page_drawer() -> Draw:
    """Return the function that draws a page of a PDF. Its text without embedded fonts is in fonts of the library."""
    import pypdfium2.raw as pdfium
    from PIL import Image, PngImagePlugin

    del PngImagePlugin
    pdfium.FPDF_InitLibrary()

    def draw(data: bytes, number: int, edge: int) -> tuple[dict[str, Any], bytes]:
        document = pdfium.FPDF_LoadMemDocument64(data, len(data), None)
        if not document:
            raise Undrawable("password" if pdfium.FPDF_GetLastError() == pdfium.FPDF_ERR_PASSWORD else "damaged")
        facts = {"pages": pdfium.FPDF_GetPageCount(document)}
        if not 1 <= number <= facts["pages"]:
            raise Undrawable("page", **facts)
        page = pdfium.FPDF_LoadPage(document, number - 1)
        if not page:
            raise Undrawable("damaged", **facts)
        wide, high = pdfium.FPDF_GetPageWidthF(page), pdfium.FPDF_GetPageHeightF(page)
        if not (wide > 0 and high > 0):
            raise Undrawable("damaged", **facts)
        scale = min(edge / wide, edge * _PAGE_HEIGHT_RATIO_MAX / high)
        width, height = max(1, round(wide * scale)), max(1, round(high * scale))
        bitmap = pdfium.FPDFBitmap_CreateEx(width, height, pdfium.FPDFBitmap_BGRx, None, 0)
        if not bitmap:
            raise Undrawable("memory", **facts)
        pdfium.FPDFBitmap_FillRect(bitmap, 0, 0, width, height, 0xFFFFFFFF)
        pdfium.FPDF_RenderPageBitmap(bitmap, page, 0, 0, width, height, 0, pdfium.FPDF_ANNOT)
        stride = pdfium.FPDFBitmap_GetStride(bitmap)
        pixels = ctypes.string_at(pdfium.FPDFBitmap_GetBuffer(bitmap), stride * height)
        image = Image.frombuffer("RGB", (width, height), pixels, "raw", "BGRX", stride, 1)
        drawing = io.BytesIO()
        image.save(drawing, "PNG", compress_level=4)
        return {**facts, "width": width, "height": height}, drawing.getvalue()

    return draw


def _input() -> bytes:
    """Return all of standard input."""
    data = bytearray()
    while piece := os.read(0, _PIECE_BYTES):
        data += piece
    return bytes(data)


def _write(data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(1, rest) :]


if __name__ == "__main__":
    main()
