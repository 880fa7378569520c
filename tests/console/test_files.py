"""Files on pages, over HTTP: what is drawn, what is sent as what it is, and to whom. Looks are in test_browser.py."""

from __future__ import annotations

import asyncio
import io
from collections.abc import AsyncIterator
from functools import partial

import httpx2 as httpx
import pytest
from PIL import Image

from contextkeep import ContextClient, EntityClient, FileInput, MessageInput, PartInput, ToolCallInput, ToolResultInput
from contextkeep_console.files.kinds import FILE_BYTES_MAX, Kind, kind_of_type, type_of
from contextkeep_console.files.previews import Preview, Previews, Wanted
from tests import media
from tests.conftest import Addresses
from tests.console.conftest import Running, Visitor, a_key
from tests.context_service.retrieval.files import pdf, pdf_with_password

SVG = b'<svg xmlns="http://www.w3.org/2000/svg"><script>document.title="owned"</script></svg>'
HTML = b"<!doctype html><title>x</title><script>document.title='owned'</script>"
NOTHING = "0197f1f2-0000-7000-8000-00000000000f"


def picture(kind: str, mode: str = "RGB", size: tuple[int, int] = (640, 400), **options: object) -> bytes:
    """Return a picture as a library writes it."""
    image = Image.linear_gradient("L").resize(size).convert(mode)
    written = io.BytesIO()
    image.save(written, kind, **options)
    return written.getvalue()


def animated(kind: str) -> bytes:
    frames = [Image.new("RGB", (90, 60), (50 * number, 0, 0)) for number in range(4)]
    written = io.BytesIO()
    frames[0].save(written, kind, save_all=True, append_images=frames[1:])
    return written.getvalue()


def turned() -> bytes:
    """Return a photograph of a telephone that was held upright."""
    exif = Image.Exif()
    exif[0x112] = 6
    return picture("JPEG", size=(640, 320), exif=exif)


@pytest.fixture
def files(clients: tuple[ContextClient, EntityClient]):
    """Store a file of any bytes, and return the id of its record."""
    context, _ = clients

    def store(data: bytes, media_type: str = "image/png") -> str:
        blob = context.blobs.upload(data, name="a file", memory_type=media_type, content_type=media_type)
        return blob.working_memory_id

    return store


@pytest.fixture
def client(running: Running, visitor: Visitor, key: str) -> httpx.Client:
    return visitor(running, key)


# How each is made, and its size when it is drawn. Two of them cost seconds, so the test that draws it makes it.
DRAWN = {
    "a screenshot": (partial(picture, "PNG", "RGBA"), (320, 200)),
    "a drawing in few colors": (partial(picture, "PNG", "P"), (320, 200)),
    "a scan in black and white": (partial(picture, "PNG", "1"), (320, 200)),
    "a photograph": (partial(picture, "JPEG"), (320, 200)),
    "a photograph for print": (partial(picture, "JPEG", "CMYK"), (320, 200)),
    "an upright photograph": (turned, (160, 320)),
    "two photographs in a file": (partial(animated, "MPO"), (90, 60)),
    "an animation": (partial(animated, "GIF"), (90, 60)),
    "an animated sticker": (partial(animated, "WEBP"), (90, 60)),
    "a large photograph": (partial(picture, "JPEG", "L", (9_000, 8_000)), (320, 284)),
    "a pixel": (partial(picture, "GIF", "L", (1, 1)), (1, 1)),
    "a document": (partial(pdf, ["first", "second"]), (247, 320)),
}


@pytest.mark.parametrize("name", DRAWN)
def test_a_file_is_drawn_small(files, client: httpx.Client, name: str):
    make, size = DRAWN[name]
    data = make()
    answer = client.get(f"/files/{files(data)}/thumbnail")

    assert answer.status_code == 200, answer.text
    image = Image.open(io.BytesIO(answer.content))
    width, height = image.size
    assert answer.headers["content-type"] == Image.MIME[image.format or ""]
    if not data.startswith(b"%PDF"):
        assert (width, height) == size


HOSTILE = {
    "of 100,000 by 100,000 pixels": partial(media.png, 100_000, 100_000, pixels=b"x"),
    "that unpacks to hundreds of megabytes": partial(media.png, 20_000, 20_000, bits=1),
    "that is cut off": lambda: picture("PNG")[:300],
    "that is a head alone": partial(media.webp, 40, 30),
    "with a script": lambda: SVG,
    "that is a page": lambda: HTML,
    "without bytes": bytes,
    "of a PDF with a password": pdf_with_password,
    "of a PDF of nothing": lambda: b"%PDF-1.7\nnothing",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_file_that_cannot_be_drawn_is_a_line_of_text(files, client: httpx.Client, name: str):
    record_id = files(HOSTILE[name]())
    answer = client.get(f"/files/{record_id}/thumbnail")
    page = client.get(f"/files/{record_id}")

    assert answer.status_code == 415
    assert answer.headers["content-type"].startswith("text/plain")
    assert page.status_code == 200
    assert "<script>document" not in page.text
    assert f'src="/files/{record_id}' not in page.text


@pytest.mark.parametrize(
    ("data", "media_type"),
    [
        (picture("PNG"), "image/png"),
        (picture("JPEG"), "image/jpeg"),
        (animated("GIF"), "image/gif"),
        (animated("WEBP"), "image/webp"),
        (media.wav(1), "audio/wav"),
        (b"ID3\x03" + bytes(500), "audio/mpeg"),
        (b"OggS" + bytes(500), "audio/ogg"),
        (b"fLaC" + bytes(500), "audio/flac"),
    ],
)
def test_pictures_and_recordings_are_sent_as_what_they_are(files, client: httpx.Client, data: bytes, media_type: str):
    """The type is that of the bytes, whatever the sender has declared."""
    answer = client.get(f"/files/{files(data, 'text/html')}/content")

    assert (answer.status_code, answer.content) == (200, data)
    assert answer.headers["content-type"] == media_type
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["content-security-policy"] == "default-src 'none'; sandbox; frame-ancestors 'none'"


@pytest.mark.parametrize(
    "data", [SVG, HTML, pdf(["x"]), b"MZ" + bytes(90), b"GIF files are", b"", "grüße".encode("utf-16")]
)
@pytest.mark.parametrize("declared", ["image/png", "text/html", "image/svg+xml"])
def test_any_other_file_is_never_sent_as_more_than_bytes_to_keep(
    files, client: httpx.Client, data: bytes, declared: str
):
    record_id = files(data, declared)
    for name in ("content", "download"):
        answer = client.get(f"/files/{record_id}/{name}")
        assert answer.content == data
        assert answer.headers["content-type"] == "application/octet-stream"
        assert answer.headers["content-disposition"].startswith("attachment")
        assert "sandbox" in answer.headers["content-security-policy"]


@pytest.mark.parametrize(
    ("wanted", "status", "start", "end"),
    [
        ("bytes=0-", 200, 0, 8_044),
        ("bytes=0-99", 206, 0, 100),
        ("bytes=8000-", 206, 8_000, 8_044),
        ("bytes=-10", 206, 8_034, 8_044),
        ("bytes=100-999999", 206, 100, 8_044),
        ("bytes=9-3", 200, 0, 8_044),
        ("bytes=1-2,5-6", 200, 0, 8_044),
        ("lines=1-2", 200, 0, 8_044),
        ("bytes=8044-", 416, 0, 0),
        ("bytes=-0", 416, 0, 0),
    ],
)
def test_a_player_seeks_in_a_recording(files, client: httpx.Client, wanted: str, status: int, start: int, end: int):
    recording = media.wav(1)
    assert len(recording) == 8_044
    answer = client.get(f"/files/{files(recording)}/content", headers={"range": wanted})

    assert (answer.status_code, answer.content) == (status, recording[start:end])
    if status == 206:
        assert answer.headers["content-range"] == f"bytes {start}-{end - 1}/8044"


def test_a_pdf_is_drawn_page_by_page(files, client: httpx.Client):
    record_id = files(pdf(["Sheet one", "Sheet two", "Sheet three"]), "application/pdf")
    pages = [client.get(f"/files/{record_id}/pages/{number}") for number in (1, 2, 3)]
    assert {page.headers["content-type"] for page in pages} == {"image/png"}
    assert {Image.open(io.BytesIO(page.content)).size for page in pages} == {(1200, 1553)}
    assert len({page.content for page in pages}) == 3
    for number in ("0", "4", "-1", "x", "99999999999999999999"):
        assert client.get(f"/files/{record_id}/pages/{number}").status_code == 415

    first, last = client.get(f"/files/{record_id}"), client.get(f"/records/{record_id}?page=3")
    assert "Page <b>1</b> of 3" in first.text and 'rel="next"' in first.text and 'rel="prev"' not in first.text
    assert "Page <b>3</b> of 3" in last.text and 'rel="prev"' in last.text and 'rel="next"' not in last.text
    assert "<embed" not in first.text and "<object" not in first.text and "<iframe" not in first.text


def test_a_file_of_another_tenant_or_of_another_users_conversation_is_not_there(
    running: Running, visitor: Visitor, stack: Addresses
):
    tenant = {"tenant_id": "0197f1f2-0000-7000-8000-0000000000aa", "scopes": ["read", "write"]}
    ann, bob = a_key(**tenant, user_id="ann"), a_key(**tenant, user_id="bob")
    with ContextClient(stack.context, api_key=ann) as context:
        sent = context.contexts.send(MessageInput("Look", parts=[PartInput(file=picture("PNG"))]))
        (message,) = context.contexts.list_messages(sent.context_id)
    (file,) = [part.file for part in message.parts if part.file]
    hers = visitor(running, ann)
    addresses = [f"/files/{file.working_memory_id}{rest}" for rest in ("", "/thumbnail", "/content", "/download")]
    # First hers: what is drawn already must be closed to others, too.
    assert [hers.get(address).status_code for address in addresses] == [200] * 4
    for key in (bob, a_key()):
        other = visitor(running, key)
        assert [other.get(address).status_code for address in addresses] == [404] * 4
        assert other.get(f"/files/{file.working_memory_id}/pages/1").status_code == 404
    assert hers.get(f"/files/{NOTHING}/thumbnail").status_code == 404


def test_who_has_not_signed_in_gets_no_file(running: Running, visitor: Visitor, files):
    record_id = files(picture("PNG"))
    for rest in ("", "/thumbnail", "/content", "/download", "/pages/1"):
        assert visitor(running, None).get(f"/files/{record_id}{rest}").status_code == 303


def test_files_of_messages_results_artifacts_and_windows_are_shown(
    client: httpx.Client, clients: tuple[ContextClient, EntityClient]
):
    context, _ = clients
    shot = FileInput(data=picture("PNG"), name="shot <b>1</b>.png", alt="A form with a red field")
    call = ToolCallInput(id="c1", name="screenshot", arguments={})
    sent = context.contexts.append(
        [
            MessageInput("Look at this.", parts=[PartInput(file=shot), PartInput(file=FileInput(data=media.wav(2)))]),
            MessageInput(role="assistant", parts=[PartInput(tool_call=call)]),
            MessageInput(
                role="tool",
                parts=[
                    PartInput(
                        tool_result=ToolResultInput(
                            tool_call_id="c1",
                            content="done",
                            files=[
                                picture("JPEG"),
                                FileInput(data=pdf(["x", "y"]), name="terms.pdf"),
                                FileInput(data=SVG, name="logo.svg", media_type="image/svg+xml"),
                                FileInput(url="https://example.com/a.png", media_type="image/png"),
                            ],
                        )
                    )
                ],
            ),
        ]
    )
    thread = client.get(f"/contexts/{sent[0].context_id}").text
    assert thread.count("<img src=") == 3 + 1  # two pictures, the first page of the PDF; the sign of the console
    assert "640\u00a0×\u00a0400" in thread and "2\u00a0pages" in thread
    assert thread.count("<audio controls") == 1
    assert 'alt="A form with a red field"' in thread and "<b>1</b>" not in thread
    assert "logo.svg" in thread
    assert 'src="https://' not in thread and 'href="https://' not in thread

    window = context.windows.open(sent[0].context_id, "gpt-5", message_format="anthropic").window_id
    token = client.get("/records").text  # any page of the session has the token of its forms
    token = token.split('name="token" value="', 1)[1].split('"', 1)[0]
    pack = client.post(f"/windows/{window}/pack", data={"token": token}).text
    assert "/thumbnail?part=picture" in pack
    assert "/thumbnail?part=picture" in client.get(f"/windows/{window}/original?ref=m1").text


def test_records_with_pictures_have_them_in_their_lists(files, client: httpx.Client):
    with_picture, without = files(picture("PNG")), files(b"a,b", "text/csv")
    text = client.get("/memory").text
    assert f"/files/{with_picture}/thumbnail" in text
    assert f"/files/{without}/thumbnail" not in text
    assert "/thumbnail" not in client.get("/memory?export=csv&table=records").text


def test_a_page_that_loads_its_pictures_keeps_no_session_alive(files, client: httpx.Client, running: Running):
    record_id = files(picture("PNG"))
    (session,) = [session for session in running.sessions._sessions.values() if session.tenant_id][-1:]
    seen = session.seen
    assert client.get(f"/files/{record_id}/thumbnail?part=picture").status_code == 200
    assert session.seen == seen


# Without services: the drawings themselves.


async def of(data: bytes) -> AsyncIterator[bytes]:
    yield data


def wanted(name: str, kind: Kind = Kind.PICTURE, edge: int = 320) -> Wanted:
    return Wanted(tenant_id="t", sha256=name, kind=kind, page=1, edge=edge)


async def test_kept_drawings_are_bounded_by_their_bytes():
    data = picture("PNG")
    size = len((await Previews().drawn(wanted("0"), of(data), len(data))).data)
    previews = Previews(bytes_max=2 * (size + 600))
    for name in ("a", "b", "c"):
        await previews.drawn(wanted(name), of(data), len(data))
        previews.kept(wanted("a"))  # which is used again and again, so it stays
    assert [previews.kept(wanted(name)) is not None for name in "abc"] == [True, False, True]


async def test_a_drawing_is_kept_for_its_tenant_alone():
    data, previews = picture("PNG"), Previews()
    await previews.drawn(wanted("a"), of(data), len(data))
    assert previews.kept(wanted("a")) is not None
    assert previews.kept(Wanted(tenant_id="u", sha256="a", kind=Kind.PICTURE, page=1, edge=320)) is None


async def test_a_file_that_is_too_large_is_not_read():
    def never() -> AsyncIterator[bytes]:
        raise AssertionError("it is read")

    class Unread:
        def __aiter__(self) -> AsyncIterator[bytes]:
            return never()

    preview = await Previews().drawn(wanted("a"), Unread(), FILE_BYTES_MAX + 1)
    assert "20 MiB" in preview.trouble


async def test_an_error_while_a_file_is_read_is_raised_and_the_next_file_is_drawn():
    async def broken() -> AsyncIterator[bytes]:
        yield picture("PNG")[:100]
        raise ConnectionError

    previews, data = Previews(), picture("PNG")
    for _ in range(3):  # more than there are turns
        with pytest.raises(ConnectionError):
            await previews.drawn(wanted("a"), broken(), len(data))
    assert previews.kept(wanted("a")) is None
    assert (await previews.drawn(wanted("a"), of(data), len(data))).trouble == ""


async def test_hostile_files_do_not_hold_up_the_loop():
    """They are read in another process, two at a time."""
    previews, bomb = Previews(), media.png(6_300, 6_300, bits=1)
    drawing = asyncio.gather(*(previews.drawn(wanted(str(n)), of(bomb), len(bomb)) for n in range(3)))
    longest, loop = 0.0, asyncio.get_running_loop()
    while not drawing.done():
        before = loop.time()
        await asyncio.sleep(0.01)
        longest = max(longest, loop.time() - before)
    assert all(isinstance(preview, Preview) for preview in await drawing)
    assert longest < 1


def test_what_a_file_says_of_itself_does_not_make_it_a_picture():
    assert (
        type_of(SVG) == type_of(HTML) == type_of(b"") == type_of(b"GIF files are") == type_of(b"BM" + bytes(60)) == ""
    )
    assert kind_of_type("image/svg+xml") is kind_of_type("text/html") is kind_of_type("") is Kind.OTHER
    assert kind_of_type("IMAGE/PNG; charset=x") is Kind.PICTURE
