"""Reads the texts of PDF files with PDFium, built without a scripting language: scripts in a file cannot run."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from typing import Any

from context_service.retrieval.documents.kinds import PAGE_END, Reason, Refused

PAGES_MAX = 5_000

_HEAD_BYTES = 1_024  # the signature of a PDF is looked for in its first bytes
_ERR_PASSWORD = 4  # FPDF_ERR_PASSWORD


def load() -> Any:
    """Import PDFium, before the process is barred from opening files.

    Raises:
        ImportError: PDFium is not installed.
    """
    import pypdfium2.raw

    pypdfium2.raw.FPDF_InitLibrary()
    return pypdfium2.raw


def text_of_pdf(data: bytes, pdfium: Any) -> Iterator[str]:
    """Yield the text of each page.

    Raises:
        Refused: the file has too many pages, needs a password, or is not a PDF.
    """
    if b"%PDF-" not in data[:_HEAD_BYTES]:
        raise Refused(Reason.NOT_AS_SAID, "it is not a PDF")
    document = pdfium.FPDF_LoadMemDocument64(data, len(data), None)
    if not document:
        if pdfium.FPDF_GetLastError() == _ERR_PASSWORD:
            raise Refused(Reason.PASSWORD, "it is protected by a password")
        raise Refused(Reason.NOT_AS_SAID, "it is not a PDF that can be read")
    pages = pdfium.FPDF_GetPageCount(document)
    if pages > PAGES_MAX:
        raise Refused(Reason.TOO_MANY_PAGES, f"it has {pages} pages; the limit is {PAGES_MAX}")
    for number in range(pages):
        yield _page(document, number, pdfium).replace(PAGE_END, " ") + "\n" + PAGE_END


def _page(document: Any, number: int, pdfium: Any) -> str:
    """Return the text of a page; empty if the page is damaged, so that other pages are still read."""
    page = pdfium.FPDF_LoadPage(document, number)
    if not page:
        return ""
    text = pdfium.FPDFText_LoadPage(page)
    page_text = _text(text, pdfium) if text else ""
    pdfium.FPDFText_ClosePage(text)
    pdfium.FPDF_ClosePage(page)
    return page_text


def _text(text: Any, pdfium: Any) -> str:
    """Return the characters of a page's text as a string, with words joined that are divided at the end of a line."""
    count = pdfium.FPDFText_CountChars(text)
    if count <= 0:
        return ""
    # PDFium writes UTF-16 with a trailing zero, and a character may take two units.
    units = (ctypes.c_ushort * (2 * count + 1))()
    written = pdfium.FPDFText_GetText(text, 0, count, units)
    page_text = bytes(units)[: 2 * max(written - 1, 0)].decode("utf-16-le", "replace")
    # PDFium writes these signs where a word is divided at the end of a line.
    return page_text.replace("\ufffe\r\n", "").replace("\ufffe", "").replace("\x02", "").replace("\r\n", "\n")
