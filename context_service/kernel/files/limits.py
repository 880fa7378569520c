"""Which files of a request have to be left out, so that the request is within the limits of its vendor.

The oldest pictures of tools go first: newer screenshots replace them. Then go the oldest of the others. A file that is
left out is a line of text with its name and its ref, so nothing is lost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import ceil
from operator import add
from typing import NamedTuple

from context_service.kernel.files.facts import FileFacts, FileKind, kind_of
from context_service.kernel.files.models import MediaModel, RequestLimits

_PIXELS_MAX = 120_000_000  # of a picture for which the vendor documents no limit; more unpacks to over 480 MB
_BASE64_GROUP, _BASE64_CHARS = 3, 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Sendable:
    """A file that a request may send, in the order of the request.

    Attributes:
        facts: Its facts.
        size_bytes: Its size; 0 for a file of which only a URL is sent.
        is_of_tool: Whether the result of a tool brought it.
    """

    facts: FileFacts
    size_bytes: int = 0
    is_of_tool: bool = False


class FileUse(NamedTuple):
    """What the files of a part of a request use of the vendor's limits.

    Attributes:
        images: Pictures.
        large_images: Pictures that are too large for a request with many pictures.
        bytes: Bytes of all files, as base64.
        pages: Pages of PDFs.
        tool_images: Pictures in results of tools.
    """

    images: int = 0
    large_images: int = 0
    bytes: int = 0
    pages: int = 0
    tool_images: int = 0

    def plus(self, other: FileUse) -> FileUse:
        """Return the use of both parts together."""
        return FileUse(*map(add, self, other))

    def is_over(self, limits: RequestLimits, *, share: float = 1.0) -> bool:
        """Return whether a request with this use is over a share of a limit."""
        several = ((self.images, limits.images), (self.bytes, limits.request_bytes), (self.pages, limits.pages))
        if any(limit and use > limit * share for use, limit in several):
            return True
        return bool(self.large_images and limits.many_above and self.images > limits.many_above * share)


NO_FILES = FileUse()


def use_of(files: Iterable[Sendable], model: MediaModel) -> FileUse:
    """Return what files use of the limits of a model's vendor; those that the model does not take use nothing."""
    use, limits = NO_FILES, model.limits
    for file in files:
        if not model.takes(file.facts):
            continue
        is_image = kind_of(file.facts.media_type) is FileKind.IMAGE
        is_large = is_image and 0 < limits.many_side < max(file.facts.width, file.facts.height)
        size = base64_bytes(file.size_bytes)
        use = use.plus(FileUse(is_image, is_large, size, file.facts.page_count, is_image and file.is_of_tool))
    return use


def reason_unsendable(file: Sendable, model: MediaModel) -> str:
    """Return why a model never takes a file, for people; empty if it takes the file."""
    facts, limits = file.facts, model.limits
    if not model.takes(facts):
        return f"the model takes no {facts.media_type}"
    if kind_of(facts.media_type) is FileKind.IMAGE:
        side = max(facts.width, facts.height)
        if limits.side and side > limits.side:
            return f"{facts.width} x {facts.height} pixels; the model takes {limits.side} a side"
        if facts.width * facts.height > _PIXELS_MAX:
            return f"{facts.width} x {facts.height} pixels; {_PIXELS_MAX} are sent at most"
        if limits.image_bytes and base64_bytes(file.size_bytes) > limits.image_bytes:
            return f"{base64_bytes(file.size_bytes)} bytes of base64; the model takes {limits.image_bytes}"
    if limits.pages and facts.page_count > limits.pages:
        return f"{facts.page_count} pages; the model takes {limits.pages}"
    if limits.request_bytes and base64_bytes(file.size_bytes) > limits.request_bytes:
        return f"{base64_bytes(file.size_bytes)} bytes of base64; a request has {limits.request_bytes} at most"
    return ""


def files_left_out(
    files: Sequence[Sendable], model: MediaModel, *, tool_images_max: int | None = None, share: float = 1.0
) -> set[int]:
    """Return the positions of the files that have to become lines of text.

    Args:
        files: All files of a request, the oldest first.
        model: The model that gets the request.
        tool_images_max: How many pictures of tools are kept at most; None if only the vendor's limits hold.
        share: The share of the limits that the request may use. A fold leaves room for files that come after it.
    """
    limits = model.limits
    left_out = {number for number, file in enumerate(files) if reason_unsendable(file, model)}
    kept = sorted(
        (number for number in range(len(files)) if number not in left_out),
        key=lambda number: (not files[number].is_of_tool, number),
    )  # in the order in which they leave
    images = [number for number in kept if kind_of(files[number].facts.media_type) is FileKind.IMAGE]
    if tool_images_max is not None:
        of_tools = [number for number in images if files[number].is_of_tool]
        left_out.update(of_tools[: max(len(of_tools) - tool_images_max, 0)])
    drop(images, left_out, lambda _: 1, ceil(limits.images * share))
    left_out |= _large_among_many([number for number in images if number not in left_out], files, model, share)
    drop(kept, left_out, lambda number: base64_bytes(files[number].size_bytes), ceil(limits.request_bytes * share))
    drop(kept, left_out, lambda number: files[number].facts.page_count, ceil(limits.pages * share))
    return left_out


def base64_bytes(size_bytes: int) -> int:
    """Return how many bytes the base64 of so many bytes has."""
    return -(-size_bytes // _BASE64_GROUP) * _BASE64_CHARS


def drop(numbers: Sequence[int], left_out: set[int], cost: Callable[[int], int], limit: int) -> None:
    """Leave out files in an order, until the costs of the others are within a limit. 0 means no limit.

    A file that alone is over the limit goes first: it takes no others with it.
    """
    if not limit:
        return
    left_out.update(number for number in numbers if cost(number) > limit)
    total = sum(cost(number) for number in numbers if number not in left_out)
    for number in numbers:
        if total <= limit:
            return
        if number not in left_out and cost(number):
            left_out.add(number)
            total -= cost(number)


def _large_among_many(images: Sequence[int], files: Sequence[Sendable], model: MediaModel, share: float) -> set[int]:
    """Return the pictures that are too large for a request with so many pictures, in the order in which they leave.

    A picture of unknown size is trusted: it is at a URL, whose vendor names it if it is too large.
    """
    limits = model.limits
    if not limits.many_above:
        return set()
    sides = {number: max(files[number].facts.width, files[number].facts.height) for number in images}
    large = [number for number in images if sides[number] > limits.many_side]
    return set(large[: max(len(images) - int(limits.many_above * share), 0)])
