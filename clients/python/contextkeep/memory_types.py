"""Memory types that every client knows. Any other text of up to 100 characters is a memory type as well."""

from __future__ import annotations

from enum import StrEnum


class MemoryType(StrEnum):
    """What a working memory record holds. Members are plain texts: `MemoryType.FILE == "file"`."""

    FILE = "file"
    MESSAGE_FILE = "message_file"  # of a message that is not sent yet; it expires within a day unless one names it
    JSON = "data/json"
    PNG = "image/png"
    JPEG = "image/jpeg"
    TYPESCRIPT = "code/typescript"
    JAVASCRIPT = "code/javascript"
    PYTHON = "code/python"
    MARKDOWN = "text/markdown"
