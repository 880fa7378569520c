"""Texts of files of every kind; and of files that want something else than to be read."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from uuid import UUID

import pytest

from context_service.retrieval.documents.html import text_of_html
from context_service.retrieval.documents.kinds import Kind, Reason, Unread, charset_of, kind_of
from context_service.retrieval.documents.reading import FILE_BYTES_MAX, TEXT_CHARS_MAX, DocumentReader, FileText
from service_runtime.rpc.principal import DEFAULT_TENANT_ID
from tests.context_service.retrieval import files

_WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"


async def _read(
    kind: Kind,
    data: bytes,
    *,
    charset: str = "",
    memory_bytes_max: int = 512 * 2**20,
    timeout_s: float = 60,
) -> FileText | Unread:
    async def chunks() -> AsyncIterator[bytes]:
        for start in range(0, len(data), 1 << 20):
            yield data[start : start + (1 << 20)]

    reader = DocumentReader(memory_bytes_max=memory_bytes_max, timeout_s=timeout_s)
    return await reader.read(kind, chunks(), tenant_id=DEFAULT_TENANT_ID, charset=charset)


async def _lines(kind: Kind, data: bytes, charset: str = "") -> list[str]:
    read = await _read(kind, data, charset=charset)
    assert isinstance(read, FileText), read
    return [line.strip() for line in read.text.splitlines() if line.strip()]


async def _reason(kind: Kind, data: bytes) -> Reason:
    read = await _read(kind, data)
    assert isinstance(read, Unread), read
    assert read.detail
    return read.reason


@pytest.mark.parametrize(
    ("types", "name", "kind"),
    [
        (["application/pdf"], "", Kind.PDF),
        (["application/octet-stream"], "Report.PDF", Kind.PDF),
        (["text/html; charset=utf-8"], "", Kind.HTML),
        (["application/vnd.openxmlformats-officedocument.wordprocessingml.document"], "", Kind.DOCX),
        (["application/octet-stream"], "a.xlsx", Kind.XLSX),
        (["application/octet-stream"], "a.pptx", Kind.PPTX),
        (["application/json"], "a.txt", Kind.JSON),
        (["application/fhir+json"], "", Kind.JSON),
        (["text/csv"], "", Kind.TEXT),
        (["text/markdown"], "", Kind.TEXT),
        (["application/octet-stream", "code/python"], "", Kind.TEXT),
        (["application/octet-stream"], "main.rs", Kind.TEXT),
        (["image/png"], "a.png", None),
        ([""], "", None),
    ],
)
def test_how_a_file_is_read_is_told_by_its_type_or_its_name(types, name, kind):
    assert kind_of(types, name) is kind


def test_a_charset_is_read_off_a_type():
    assert charset_of('text/plain; format=flowed; Charset="ISO-8859-1"') == "iso-8859-1"
    assert charset_of("text/plain") == ""


async def test_a_text_is_read_as_it_is():
    assert await _lines(Kind.TEXT, "# Grüße\n\na,b\n1,2".encode()) == ["# Grüße", "a,b", "1,2"]
    assert await _lines(Kind.TEXT, "Grüße".encode("utf-16")) == ["Grüße"]
    assert await _lines(Kind.TEXT, "Grüße €".encode("cp1252"), "iso-8859-1") == ["Grüße €"]
    assert await _read(Kind.TEXT, b"") == FileText(text="", is_cut=False)


async def test_a_nul_is_read_as_a_space():
    """Postgres stores none."""
    assert await _lines(Kind.TEXT, b"a\0b") == ["a b"]


async def test_json_is_read_by_its_leaves_also_in_lines():
    assert await _lines(Kind.JSON, b'{"a": {"b": "x\\ny"}}') == ["a.b = x", "y"]
    assert await _lines(Kind.JSON, b'{"a": 1}\n{"a": 2}\n') == ["a = 1", "a = 2"]
    assert await _lines(Kind.JSON, b'{"a": 1, // one\n') == ['{"a": 1, // one']
    assert await _lines(Kind.JSON, b"[" * 100_000)


async def test_html_is_read_as_a_reader_sees_it():
    page = """<!DOCTYPE html><html><head><title>Plan</title><style>p {color: red}</style></head>
        <body><p>The <b>pri</b>ce
        is &lt; 5&nbsp;&euro;.<script>alert("no")</script></p><img alt="A chart"><br/>
        <svg><text>unseen</text></svg><table><tr><td>one</td><td>two</td></tr></table>after</body>"""
    assert await _lines(Kind.HTML, page.encode()) == [
        "Plan",
        "The price is < 5 €.",
        "A chart",
        "one\t\ttwo",
        "after",
    ]
    assert await _lines(Kind.HTML, '<meta charset="latin1"><p>Grüße'.encode("cp1252")) == ["Grüße"]


@pytest.mark.parametrize(
    "hidden",
    [
        '<div style="display:none">unseen</div>',
        '<span STYLE="color: red; Display : None;">unseen <b>too</b></span>',
        '<p style="visibility:hidden">unseen</p>',
        "<div hidden>a <div>b</div> unseen</div>",
        "<p hidden>unseen<p>",
        '<div hidden=""/>',
        '<img hidden alt="unseen"><input hidden>',
        "<table><tr><td hidden>unseen<td></table>",
    ],
)
async def test_what_a_page_hides_is_not_read(hidden: str):
    assert await _lines(Kind.HTML, f"<body>before{hidden}<p>after</p></body>".encode()) == ["before", "after"]


def test_a_declaration_that_html_does_not_know_is_a_comment():
    """As in browsers; the library gives up instead."""
    assert "".join(text_of_html(b"<p>a<![foo bar]>zebra</p>", "")).split() == ["azebra"]


async def test_a_pdf_is_read_page_by_page():
    assert await _lines(Kind.PDF, files.pdf(["The first page", "The second one"])) == [
        "The first page",
        "The second one",
    ]


async def test_of_an_office_file_the_texts_are_read():
    assert await _lines(Kind.DOCX, files.docx(["Dear Ms Meier,", "a < b"], footnote="below")) == [
        "Dear Ms Meier,",
        "a < b",
        "below",
    ]
    assert await _lines(Kind.XLSX, files.xlsx({"Costs": [["rent", 700], ["food", 12.5]], "More": [["tax", 3]]})) == [
        "Costs",
        "More",
        "rent\t700",
        "food\t12.5",
        "tax\t3",
    ]
    assert await _lines(Kind.PPTX, files.pptx(["Agenda", "Costs"], note="Smile")) == ["Agenda", "Smile", "Costs"]


async def test_shared_strings_are_whole_across_pieces():
    """A member is unpacked piece by piece; a text may begin in one and end in the next."""
    rows = [[f"cell number {number} of many"] for number in range(5_000)]
    read = await _lines(Kind.XLSX, files.xlsx({"One": rows}))
    assert read[1:] == [row[0] for row in rows]


async def test_of_a_long_text_the_beginning_is_read():
    read = await _read(Kind.TEXT, b"word " * (TEXT_CHARS_MAX // 5 + 1))
    assert isinstance(read, FileText)
    assert read.is_cut
    assert len(read.text) == TEXT_CHARS_MAX


async def test_what_is_not_what_its_type_says_is_not_read():
    png = b"\x89PNG\r\n\x1a\n" + bytes(range(256))
    for kind in Kind:
        if kind is not Kind.JSON:
            is_text = kind in (Kind.TEXT, Kind.HTML)
            assert await _reason(kind, png) is (Reason.UNREADABLE if is_text else Reason.NOT_AS_SAID)
    assert await _reason(Kind.DOCX, files.xlsx({})) is Reason.NOT_AS_SAID
    assert await _reason(Kind.DOCX, files.docx(["a"])[:-30]) is Reason.NOT_AS_SAID
    assert await _reason(Kind.DOCX, files.packed({"word/document.xml": "no XML"})) is Reason.NOT_AS_SAID
    assert await _reason(Kind.PDF, b"%PDF-1.7 and nothing else") is Reason.NOT_AS_SAID


async def test_a_file_with_a_password_is_not_read():
    assert await _reason(Kind.PDF, files.pdf_with_password()) is Reason.PASSWORD
    ole = bytes.fromhex("d0cf11e0a1b11ae1") + bytes(600) + "EncryptedPackage".encode("utf-16-le")
    assert await _reason(Kind.DOCX, ole) is Reason.PASSWORD


async def test_a_pdf_of_10_000_pages_is_refused():
    assert await _reason(Kind.PDF, files.pdf(["a"] * 10_000)) is Reason.TOO_MANY_PAGES


async def test_a_script_in_a_pdf_does_not_run_and_the_text_is_read():
    script = "/OpenAction << /S /JavaScript /JS (while \\(true\\) app.alert\\(1\\)) >>"
    assert await _lines(Kind.PDF, files.pdf(["The text"], beside=script)) == ["The text"]


async def test_a_zip_bomb_is_refused():
    bomb = files.packed({"word/document.xml": bytes(129 * 2**20)})
    assert len(bomb) < 2**20
    assert await _reason(Kind.DOCX, bomb) is Reason.TOO_LARGE


async def test_a_file_in_a_zip_that_says_less_than_it_has_is_refused():
    """What a member says of its size is what is unpacked."""
    honest = files.packed({"word/document.xml": b"<a>" + bytes(1 << 20)})
    size = ((1 << 20) + 3).to_bytes(4, "little")
    assert honest.count(size) == 2
    assert await _reason(Kind.DOCX, honest.replace(size, (3).to_bytes(4, "little"))) is Reason.NOT_AS_SAID


@pytest.mark.parametrize(
    "declaration",
    [
        '<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;">]>',
        '<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]>',
        '<!DOCTYPE x SYSTEM "http://127.0.0.1/x.dtd">',
    ],
)
async def test_xml_that_defines_entities_is_refused(declaration):
    document = f'{declaration}<w:document xmlns:w="{_WORD}"><w:p><w:t>&a;</w:t></w:p></w:document>'
    assert await _reason(Kind.DOCX, files.packed({"word/document.xml": document})) is Reason.FORBIDDEN


async def test_xml_in_an_encoding_that_the_parser_does_not_know_is_refused():
    document = f'<?xml version="1.0" encoding="UTF-7"?><w:document xmlns:w="{_WORD}"/>'
    assert await _reason(Kind.DOCX, files.packed({"word/document.xml": document})) is Reason.NOT_AS_SAID


async def test_a_file_that_is_too_large_is_refused():
    assert await _reason(Kind.TEXT, bytes(FILE_BYTES_MAX + 1)) is Reason.TOO_LARGE


async def test_a_file_that_takes_too_much_memory_is_given_up():
    workbook = files.xlsx({"One": [["much " * 2**22]]})
    read = await _read(Kind.XLSX, workbook, memory_bytes_max=48 * 2**20)
    assert isinstance(read, Unread)
    assert read.reason in {Reason.MEMORY, Reason.BROKEN}


async def test_a_file_that_takes_too_long_is_given_up():
    read = await _read(Kind.PDF, files.pdf(["a" * 500] * 4_000), timeout_s=0.4)
    assert isinstance(read, Unread)
    assert read.reason is Reason.TIMEOUT


async def test_a_tenant_whose_files_take_long_leaves_a_child_to_the_others():
    """A file may take a minute, so a tenant that arrives must not wait for the files of one that came before."""
    reader = DocumentReader(memory_bytes_max=512 * 2**20, timeout_s=60)
    slow, quick = UUID(int=1), UUID(int=2)
    may_end, begun = asyncio.Event(), []

    async def stalling() -> AsyncIterator[bytes]:
        begun.append(slow)
        yield b"a text "
        await may_end.wait()
        yield b"that ends late"

    async def short() -> AsyncIterator[bytes]:
        yield b"a short text"

    files_of_one = [asyncio.create_task(reader.read(Kind.TEXT, stalling(), tenant_id=slow)) for _ in range(4)]
    async with asyncio.timeout(30):
        while not begun:
            await asyncio.sleep(0.01)
        for _ in range(2):
            assert await reader.read(Kind.TEXT, short(), tenant_id=quick) == FileText(text="a short text", is_cut=False)
        assert begun == [slow], "a tenant has more than one child"
        may_end.set()
        texts = await asyncio.gather(*files_of_one)
    assert [one.text for one in texts] == ["a text that ends late"] * 4
