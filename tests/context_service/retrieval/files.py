"""Files as programs of offices write them, as small as they can be; and hostile ones."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping, Sequence
from xml.sax.saxutils import escape

_WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_SHEET = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_DRAWING = "http://schemas.openxmlformats.org/drawingml/2006/main"


def pdf(pages: Sequence[str], *, beside: str = "", encrypt: str = "") -> bytes:
    """Return a PDF with a line of text on each page.

    Args:
        pages: Their texts; Latin-1 without brackets.
        beside: What stands in the catalog beside the pages.
        encrypt: The dictionary that says how it is encrypted.
    """
    objects = [f"<< /Type /Catalog /Pages 2 0 R {beside} >>"]
    kids = " ".join(f"{4 + 2 * number} 0 R" for number in range(len(pages)))
    objects.append(f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>")
    objects.append("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>")
    for number, text in enumerate(pages):
        content = f"BT /F1 12 Tf 72 720 Td ({text}) Tj ET"
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {5 + 2 * number} 0 R "
            "/Resources << /Font << /F1 3 0 R >> >> >>"
        )
        objects.append(f"<< /Length {len(content)} >>\nstream\n{content}\nendstream")
    written, places = bytearray(b"%PDF-1.4\n"), []
    for number, body in enumerate(objects, 1):
        places.append(len(written))
        written += f"{number} 0 obj\n{body}\nendobj\n".encode("latin-1")
    table = len(written)
    rows = "".join(f"{place:010d} 00000 n \n" for place in places)
    encrypted = f"/Encrypt {encrypt} /ID [<{'00' * 16}> <{'00' * 16}>]" if encrypt else ""
    written += (
        f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{rows}"
        f"trailer\n<< /Size {len(objects) + 1} /Root 1 0 R {encrypted} >>\nstartxref\n{table}\n%%EOF\n"
    ).encode()
    return bytes(written)


def pdf_with_password() -> bytes:
    """Return a PDF that no empty password opens."""
    nobody = "5a" * 32
    return pdf(["secret"], encrypt=f"<< /Filter /Standard /V 1 /R 2 /O <{nobody}> /U <{nobody}> /P -4 >>")


def packed(members: Mapping[str, str | bytes]) -> bytes:
    """Return a zip file."""
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return written.getvalue()


def docx(paragraphs: Sequence[str], *, footnote: str = "") -> bytes:
    """Return a document with paragraphs, each in two runs."""
    body = "".join(
        f"<w:p><w:r><w:t>{escape(text[:3])}</w:t></w:r><w:r><w:t>{escape(text[3:])}</w:t></w:r></w:p>"
        for text in paragraphs
    )
    note = f'<w:footnotes xmlns:w="{_WORD}"><w:p><w:r><w:t>{escape(footnote)}</w:t></w:r></w:p></w:footnotes>'
    return packed(
        {
            "word/footnotes.xml": note,
            "word/document.xml": f'<w:document xmlns:w="{_WORD}"><w:body>{body}</w:body></w:document>',
        }
    )


def xlsx(sheets: Mapping[str, Sequence[Sequence[str | float]]]) -> bytes:
    """Return a workbook; its texts are shared, as Excel has them."""
    strings: list[str] = []
    members = {}
    for number, rows in enumerate(sheets.values(), 1):
        lines = []
        for row in rows:
            cells = []
            for cell in row:
                if isinstance(cell, str):
                    cells.append(f'<c t="s"><v>{len(strings)}</v></c>')
                    strings.append(cell)
                else:
                    cells.append(f"<c><f>A1+A2</f><v>{cell}</v></c>")
            lines.append(f"<row>{''.join(cells)}</row>")
        members[f"xl/worksheets/sheet{number}.xml"] = (
            f'<worksheet xmlns="{_SHEET}"><sheetData>{"".join(lines)}</sheetData></worksheet>'
        )
    shared = "".join(f"<si><t>{escape(text)}</t></si>" for text in strings)
    names = "".join(f'<sheet name="{escape(name)}"/>' for name in sheets)
    return packed(
        {
            "xl/workbook.xml": f'<workbook xmlns="{_SHEET}"><sheets>{names}</sheets></workbook>',
            "xl/sharedStrings.xml": f'<sst xmlns="{_SHEET}">{shared}</sst>',
            **members,
        }
    )


def pptx(slides: Sequence[str], *, note: str) -> bytes:
    """Return a presentation, with a note to its first slide."""

    def told(text: str) -> str:
        return f'<p xmlns:a="{_DRAWING}"><a:p><a:r><a:t>{escape(text)}</a:t></a:r></a:p></p>'

    return packed(
        {
            "ppt/presentation.xml": "<p/>",
            **{f"ppt/slides/slide{number}.xml": told(text) for number, text in enumerate(slides, 1)},
            "ppt/notesSlides/notesSlide1.xml": told(note),
        }
    )
