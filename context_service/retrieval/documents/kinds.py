"""The kinds of files that have a text, and the reasons why a file may have none."""

from __future__ import annotations

import codecs
import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import PurePosixPath


class Kind(Enum):
    """How the text of a file is read."""

    TEXT = "text"
    JSON = "json"
    HTML = "html"
    PDF = "pdf"
    DOCX = "docx"
    XLSX = "xlsx"
    PPTX = "pptx"


PAGED = frozenset({Kind.PDF})  # kinds with known page borders
PAGE_END = "\f"  # the child process writes this character at the end of each page
WITH_EXTRA = frozenset({Kind.PDF, Kind.DOCX, Kind.XLSX, Kind.PPTX})  # kinds whose parsers are packages, some in C


class Reason(Enum):
    """Why a file has no text."""

    UNSUPPORTED = "unsupported"  # nothing reads files of this type
    NO_PARSER = "no_parser"  # it needs the extra `documents`, or a kernel that confines it
    TOO_LARGE = "too_large"  # the file, or its unpacked content
    TOO_MANY_PAGES = "too_many_pages"
    PASSWORD = "password"  # noqa: S105 - the reason, not one
    UNREADABLE = "unreadable"  # a text in no encoding that is known
    NOT_AS_SAID = "not_as_said"  # damaged, or of another type than it says
    FORBIDDEN = "forbidden"  # XML that defines entities: it could grow without end
    TIMEOUT = "timeout"
    MEMORY = "memory"
    BROKEN = "broken"  # the parser broke on it


BY_CHANCE = frozenset({Reason.TIMEOUT, Reason.MEMORY, Reason.BROKEN})  # reasons that a retry may not meet again


@dataclass(frozen=True, slots=True, kw_only=True)
class Unread:
    """The result for a file without text, with the reason."""

    reason: Reason
    detail: str


class Refused(Exception):
    """A file has no text that can be read. Parsers raise this within the child process."""

    def __init__(self, reason: Reason, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason
        self.detail = detail


_OFFICE = "application/vnd.openxmlformats-officedocument."
_BY_TYPE = {
    "application/pdf": Kind.PDF,
    "application/x-pdf": Kind.PDF,
    "text/html": Kind.HTML,
    "application/xhtml+xml": Kind.HTML,
    f"{_OFFICE}wordprocessingml.document": Kind.DOCX,
    f"{_OFFICE}spreadsheetml.sheet": Kind.XLSX,
    f"{_OFFICE}presentationml.presentation": Kind.PPTX,
}
_BY_SUFFIX = {".pdf": Kind.PDF, ".docx": Kind.DOCX, ".xlsx": Kind.XLSX, ".pptx": Kind.PPTX, ".xhtml": Kind.HTML}
# The media types of texts: `text/...`, the memory types `code/...`, and types of other families that are text.
_TEXT_TYPES = re.compile(
    r"(?:text|code)/.*|.*\+(?:json|xml|yaml)|application/(?:json|jsonl|json5|xml|yaml|toml)"
    r"|application/(?:x-)?(?:ndjson|yaml|javascript|ecmascript|typescript|sql|sh|csh|tex|latex|texinfo|graphql|perl|php)"
)
_JSON_TYPES = re.compile(r".*\+json|application/(?:json|jsonl|json5|(?:x-)?ndjson)")
_NULS_SHARE = 0.3  # of the bytes of a text
# Endings of texts that have no media type of their own.
_TEXT_SUFFIXES = re.compile(
    r"\.(?:adoc|bash|cc|cfg|clj|conf|cpp|cs|dart|env|ex|exs|go|gql|graphql|groovy|hpp|hs|ini|ipynb|java|jl|json5|jsx|kt"
    r"|kts|less|lock|log|lua|mdx|mjs|ml|org|php|pl|properties|proto|ps1|r|rb|rs|rst|sass|scala|scss|sh|sql|srt|svelte"
    r"|swift|tex|tf|tfvars|vtt|vue|zig|zsh)"
)


def kind_of(types: Sequence[str], name: str) -> Kind | None:
    """Return how the text of a file is read; None if no reader knows the type.

    Args:
        types: Media types of the file, the most reliable first; memory types are accepted, too.
        name: The name of the file, whose extension decides if no type does.
    """
    for media_type in types:
        if kind := _BY_TYPE.get(_bare(media_type)):
            return kind
    if kind := _BY_SUFFIX.get(_suffix(name)):
        return kind
    return Kind.JSON if is_json(types) else Kind.TEXT if is_text(types, name) else None


def is_text(types: Sequence[str], name: str) -> bool:
    """Say whether a file is plain text, by one of its types or by the extension of its name."""
    return any(_TEXT_TYPES.fullmatch(_bare(media_type)) for media_type in types) or bool(
        _TEXT_SUFFIXES.fullmatch(_suffix(name))
    )


def is_json(types: Sequence[str]) -> bool:
    """Say whether a text is a JSON document, or has one on each line."""
    return any(_JSON_TYPES.fullmatch(_bare(media_type)) for media_type in types)


def charset_of(content_type: str) -> str:
    """Return the charset that a media type names, in lower case; empty if it names none."""
    for parameter in content_type.split(";")[1:]:
        name, _, value = parameter.partition("=")
        if name.strip().lower() == "charset":
            return value.strip().strip("\"'").lower()[:40]
    return ""


def is_utf8(data: bytes, *, is_cut: bool = False) -> bool:
    """Say whether bytes are a text in UTF-8 with few NULs, of which UTF-16 has many.

    Args:
        data: The bytes of the text, or its beginning.
        is_cut: There are more bytes, so the last character may lack some.
    """
    try:
        codecs.getincrementaldecoder("utf-8")().decode(data, final=not is_cut)
    except UnicodeDecodeError:
        return False
    return data.count(0) <= _NULS_SHARE * len(data)


def _bare(media_type: str) -> str:
    return media_type.partition(";")[0].strip().lower()


def _suffix(name: str) -> str:
    return PurePosixPath(name).suffix.lower()
