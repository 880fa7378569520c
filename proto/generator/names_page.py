"""Write docs/names.md: the flat methods of the clients before, and the methods of nouns that replaced them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from model import Model, Rpc

_HEAD = """\
# Old and new names of client methods

The methods of both clients belong to nouns: `client.windows.pack(...)` in Python and TypeScript. Before, every method
was one of the client itself: `client.pack(...)`. The protos name noun and verb of each RPC; `make proto` writes this
page from them.

| Python before | Python | TypeScript before | TypeScript |
| --- | --- | --- | --- |
"""

# Of the Python client before its methods had nouns. An RPC that came later has no row.
_FLAT = frozenset(Path(__file__).with_name("flat_names.txt").read_text(encoding="utf-8").split())
# Where a client does not have the one method of an RPC, called as the RPC is.
_PYTHON_BEFORE = {"StreamChatHistory": "chat_history"}
_TYPESCRIPT = {
    "GetContent": ("getContentAsBuffer", "blobs.getContent"),
    "ImportGraph": ("importGraph", "graph.import"),
    "StreamChatHistory": ("", ""),  # `history.get` reads it
    "UploadBlob": ("uploadBlobFromBuffer, uploadBlobFromStream", "blobs.upload"),
}
# Methods that are no RPC.
_EXTRAS = (
    ("append_message", "graph.append_message", "appendMessage", "graph.appendMessage"),
    ("download_blob", "blobs.download", "getBlobAsBuffer", "blobs.getAsBuffer"),
    ("export_archive_messages", "archives.export_messages", "", ""),
    ("export_graph_pages", "graph.export_pages", "exportGraphPages", "graph.exportPages"),
    ("formatted_chat_history", "history.formatted", "getFormattedChatHistory", "history.formatted"),
    ("get_artifact_at", "artifacts.get_at", "getArtifactAt", "artifacts.getAt"),
    ("replay_source_test", "source_tests.replay", "replaySourceTest", "sourceTests.replay"),
    ("resume_upload", "uploads.resume", "resumeUpload", "uploads.resume"),
    ("traverse_pages", "graph.traverse_pages", "", ""),
    ("upload_resumable", "uploads.upload", "uploadResumable", "uploads.upload"),
)


def page(model: Model) -> str:
    """Return the page."""
    return _HEAD + "\n".join(sorted(_rows(model))) + "\n"


def _rows(model: Model) -> Iterator[str]:
    for names in (*map(_names, model.rpcs), *_EXTRAS):
        if names[0] in _FLAT:
            yield f"| {' | '.join(', '.join(f'`{name}`' for name in cell.split(', ') if name) for cell in names)} |"


def _names(rpc: Rpc) -> tuple[str, ...]:
    before = (
        _PYTHON_BEFORE.get(rpc.name) or "_".join(re.findall(r"[A-Z]+(?=[A-Z][a-z]|$)|[A-Z][a-z]+", rpc.name)).lower()
    )
    typescript = _TYPESCRIPT.get(rpc.name) or (rpc.name[0].lower() + rpc.name[1:], _camel(rpc.client))
    return before, rpc.client, *typescript


def _camel(name: str) -> str:
    return re.sub(r"_(\w)", lambda letter: letter.group(1).upper(), name)
