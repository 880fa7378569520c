"""The files of bodies, between protobuf and values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from context_service.kernel.rendering import PlacedFile
from contextkeep.context.v1 import chat_history_pb2 as pb
from contextkeep.errors import InvalidArgument
from service_runtime.values.copying import copied


def is_inline(delivery: int) -> bool:
    """Return whether the bytes of files are inserted into an answer.

    Raises:
        InvalidArgument: a newer client names a delivery that this server does not know.
    """
    if delivery not in pb.FileDelivery.values():
        raise InvalidArgument(f"files is {delivery}, which is not a known delivery of files", field="files")
    return delivery != pb.FILE_DELIVERY_REFERENCES


def body_files(files: Iterable[PlacedFile]) -> Iterator[pb.BodyFile]:
    """Yield the messages of files whose bytes a body lacks."""
    return (copied(pb.BodyFile, file) for file in files)
