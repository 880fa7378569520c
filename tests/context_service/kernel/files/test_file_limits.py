"""Which files leave a request, so that its vendor takes it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from context_service.kernel.files.facts import FileFacts, FileKind, kind_of
from context_service.kernel.files.limits import Sendable, base64_bytes, files_left_out, reason_unsendable
from context_service.kernel.files.models import MediaModel, media_model
from context_service.kernel.rendering.formats import Format

_CLAUDE = media_model("claude-opus-5", Format.ANTHROPIC)
_GEMINI = media_model("gemini-2.5-pro", Format.GEMINI)


def _shot(*, side: int = 1_000, size_bytes: int = 50_000, of_tool: bool = True) -> Sendable:
    facts = FileFacts(media_type="image/png", width=side, height=side // 2)
    return Sendable(facts=facts, size_bytes=size_bytes, is_of_tool=of_tool)


def test_the_oldest_pictures_of_tools_leave_first():
    files = [_shot(of_tool=False), *[_shot() for _ in range(30)], _shot(of_tool=False)]
    assert files_left_out(files, _CLAUDE, tool_images_max=20) == set(range(1, 11))
    assert files_left_out(files, _CLAUDE) == set()


def test_pictures_of_users_leave_only_for_the_limit_of_the_vendor():
    files = [_shot(of_tool=False) for _ in range(150)]
    assert files_left_out(files, _CLAUDE, tool_images_max=0) == set(range(50))
    assert files_left_out(files, _CLAUDE, share=0.5) == set(range(100))


def test_large_pictures_leave_where_there_are_many():
    """Claude takes 8,000 pixels a side, but 2,000 if there are more than 20 pictures."""
    large = [_shot(side=4_000) for _ in range(3)]
    assert files_left_out([*large, *[_shot() for _ in range(17)]], _CLAUDE) == set()
    assert files_left_out([*large, *[_shot() for _ in range(18)]], _CLAUDE) == {0}
    assert files_left_out([*large, *[_shot() for _ in range(30)]], _CLAUDE) == {0, 1, 2}


def test_files_leave_until_the_request_is_small_enough():
    files = [_shot(size_bytes=3_000_000) for _ in range(10)]
    assert files_left_out(files, _CLAUDE) == {0, 1}
    pages = [Sendable(facts=FileFacts(media_type="application/pdf", page_count=60)) for _ in range(2)]
    assert files_left_out(pages, _CLAUDE) == {0}


def test_what_a_model_never_takes_leaves_with_the_reason():
    assert reason_unsendable(_shot(), _CLAUDE) == ""
    assert "8000 a side" in reason_unsendable(_shot(side=100_000), _CLAUDE)
    assert "pixels" in reason_unsendable(_shot(side=100_000), _GEMINI)
    assert "base64" in reason_unsendable(_shot(size_bytes=20 * 2**20), _CLAUDE)
    book = Sendable(facts=FileFacts(media_type="application/pdf", page_count=10_000))
    assert "10000 pages" in reason_unsendable(book, _GEMINI)
    drawing = Sendable(facts=FileFacts(media_type="image/svg+xml"))
    assert reason_unsendable(drawing, _GEMINI) == "the model takes no image/svg+xml"
    photo = Sendable(facts=FileFacts(media_type="image/heic", width=30, height=20))
    assert reason_unsendable(photo, _CLAUDE)
    assert not reason_unsendable(photo, _GEMINI)


_FILES = st.lists(
    st.builds(
        Sendable,
        facts=st.builds(
            FileFacts,
            media_type=st.sampled_from(["image/png", "image/gif", "application/pdf", "audio/wav", "text/csv"]),
            width=st.integers(0, 9_000),
            height=st.integers(0, 9_000),
            page_count=st.integers(0, 300),
        ),
        size_bytes=st.integers(0, 6_000_000),
        is_of_tool=st.booleans(),
    ),
    max_size=140,
)


@given(_FILES, st.sampled_from([_CLAUDE, _GEMINI]), st.none() | st.integers(0, 30), st.sampled_from([0.5, 1.0]))
def test_no_request_is_over_a_limit(files: list[Sendable], model: MediaModel, tool_images_max, share):
    left_out = files_left_out(files, model, tool_images_max=tool_images_max, share=share)
    kept = [file for number, file in enumerate(files) if number not in left_out]
    images = [file for file in kept if kind_of(file.facts.media_type) is FileKind.IMAGE]
    limits = model.limits
    assert all(model.takes(file.facts) for file in kept)
    assert len(images) <= share * limits.images
    assert sum(base64_bytes(file.size_bytes) for file in kept) <= share * limits.request_bytes
    assert sum(file.facts.page_count for file in kept) <= share * limits.pages
    if limits.many_above and len(images) > limits.many_above:
        assert all(max(file.facts.width, file.facts.height) <= limits.many_side for file in images)
    if tool_images_max is not None:
        assert sum(file.is_of_tool for file in images) <= tool_images_max
