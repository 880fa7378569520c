"""Messages about windows, from Python values."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any

from contextkeep.client._messages import built, to_json
from contextkeep.context.v1 import context_windows_pb2 as windows_pb
from contextkeep.errors import AnswerTooLarge, BlobCorrupted, InvalidArgument
from contextkeep.values import ImportanceWeights, Original, Pack, TierRatios, TokenPrices, WindowConfig

EXPANDED_RANGE_BYTES = 4_128_768  # the most that the service answers in one call
_EXPANDED_BYTES_MAX = 10 * 1024 * 1024

_GROUPS = (
    ("importance_weights", ImportanceWeights, windows_pb.ImportanceWeights),
    ("tier_ratios", TierRatios, windows_pb.TierRatios),
    ("prices", TokenPrices, windows_pb.TokenPrices),
)


def window_config(config: WindowConfig | None, *, field: str = "config") -> windows_pb.WindowConfig | None:
    """Return the message of a window's config, with the fields that are not None. None if there is no config.

    Raises:
        InvalidArgument: `config` has another type, or a value cannot be sent.
    """
    if config is None:
        return None
    result = _fields(config, WindowConfig, field)
    for name, value_type, message_type in _GROUPS:
        if name in result:
            place = f"{field}.{name}"
            result[name] = built(message_type, place, **_fields(result[name], value_type, place))
    return built(windows_pb.WindowConfig, field, **result)


def check_expanded_size(size_bytes: int) -> None:
    """Refuse to read a very large original in ranges.

    Raises:
        AnswerTooLarge: it has more than 10 MiB.
    """
    if size_bytes > _EXPANDED_BYTES_MAX:
        raise AnswerTooLarge(
            f"the file has {size_bytes:,} bytes; expand returns up to {_EXPANDED_BYTES_MAX:,}: read it with blobs.get",
            use="blobs.get",
            size_bytes=size_bytes,
            size_bytes_max=_EXPANDED_BYTES_MAX,
        )


def original_of(answer: windows_pb.ExpandResponse, ranges: Sequence[bytes]) -> Original:
    """Return an original that came in ranges.

    Raises:
        BlobCorrupted: the bytes that arrived are not those of the original.
    """
    original = Original.from_proto(answer)
    if len(ranges) == 1:
        return original
    content = b"".join(ranges)
    sha256 = hashlib.sha256(content).hexdigest()
    if sha256 != original.sha256:
        raise BlobCorrupted(f"the bytes of the file have the sha256 {sha256}, not {original.sha256}")
    return replace(original, content=content)


def tools_json(items: Sequence[Any]) -> str:
    """Return tools as JSON; an empty text if there are none.

    Raises:
        InvalidArgument: the tools are not a list, or a value cannot be sent.
    """
    if isinstance(items, str) or not isinstance(items, Sequence):
        raise InvalidArgument(f"tools must be a list of tools (got {type(items).__name__})", field="tools")
    return to_json("tools", list(items)) if items else ""


def prefix_of(since: Pack | None) -> dict[str, Any]:
    """Return the fields of a request that name the previous pack.

    Raises:
        InvalidArgument: the value has another type.
    """
    if since is None:
        return {}
    if not isinstance(since, Pack):
        raise InvalidArgument(f"since must be the Pack before (got {type(since).__name__})", field="since")
    return {"if_prefix_sha": since.prefix_sha, "if_prefix_bytes": since.prefix_bytes}


def pack_id_of(pack: Pack) -> str:
    """Return the id of a pack.

    Raises:
        InvalidArgument: the value has another type.
    """
    if not isinstance(pack, Pack):
        raise InvalidArgument(f"pack must be a Pack (got {type(pack).__name__})", field="pack")
    return pack.pack_id


def _fields(answer: object, wanted: type[Any], field: str) -> dict[str, Any]:
    if not isinstance(answer, wanted):
        raise InvalidArgument(f"{field} must be a {wanted.__name__} (got {type(answer).__name__})", field=field)
    return {item.name: value for item in fields(wanted) if (value := getattr(answer, item.name)) is not None}
