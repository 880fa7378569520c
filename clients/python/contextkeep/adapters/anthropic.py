"""Anthropic's SDK: turns of the Messages API as messages of a context, and the memory tool.

    for message in message_inputs(response):
        await client.contexts.send(message, context_id=context_id)

The memory tool stores the files that a model keeps as records of working memory:

    memory = AsyncMemoryTool("user-4711", AsyncContextClient())
    runner = anthropic.beta.messages.tool_runner(model=..., max_tokens=..., messages=[...], tools=[memory])
    await runner.until_done()

The answers to a model's commands have the texts of the SDK's own tool, word for word: models are trained on them.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from typing import Any
from uuid import UUID

from anthropic.lib.tools import BetaAbstractMemoryTool, BetaAsyncAbstractMemoryTool, ToolError
from anthropic.types.beta import (
    BetaCacheControlEphemeralParam,
    BetaMemoryTool20250818CreateCommand,
    BetaMemoryTool20250818DeleteCommand,
    BetaMemoryTool20250818InsertCommand,
    BetaMemoryTool20250818RenameCommand,
    BetaMemoryTool20250818StrReplaceCommand,
    BetaMemoryTool20250818ViewCommand,
)

from contextkeep.adapters._anthropic_messages import message_inputs, message_params, read_messages
from contextkeep.adapters._files import Files, entity_of
from contextkeep.adapters._steps import Steps, done, done_async
from contextkeep.client.aio.context import AsyncContextClient
from contextkeep.client.sync.context import ContextClient
from contextkeep.errors import InvalidArgument, LimitExceeded, RecordNotFound
from contextkeep.values import Record

__all__ = ["AsyncMemoryTool", "MemoryTool", "message_inputs", "message_params", "read_messages"]

SYSTEM = "anthropic"  # namespace of the names of memories
ROOT = "/memories"
_PATH_CHARS_MAX = 512  # characters of a path, which is the name of a record
_LINES_MAX = 999_999
_NUMBER_WIDTH = 6
_LEVELS_SHOWN = 2
_OCCURRENCES_SHOWN = 20
_SNIPPET_LINES = 2  # lines that are shown before and after a change


class MemoryTool(BetaAbstractMemoryTool):
    """The memory tool for a client that blocks; see `AsyncMemoryTool`."""

    def __init__(
        self,
        name: str | UUID,
        client: ContextClient,
        *,
        cache_control: BetaCacheControlEphemeralParam | None = None,
    ) -> None:
        """See `AsyncMemoryTool`."""
        super().__init__(cache_control=cache_control)
        self.entity_node_id = entity_of(name, system=SYSTEM)
        self._client = client
        self._memory = _Memory(self.entity_node_id)

    def view(self, command: BetaMemoryTool20250818ViewCommand) -> str:
        """Show a file with line numbers, or list a folder."""
        return done(self._client, _with_errors_for_model(self._memory.view(command.path, command.view_range)))

    def create(self, command: BetaMemoryTool20250818CreateCommand) -> str:
        """Write a new file."""
        return done(self._client, _with_errors_for_model(self._memory.create(command.path, command.file_text)))

    def str_replace(self, command: BetaMemoryTool20250818StrReplaceCommand) -> str:
        """Replace a text that is in a file once."""
        return done(
            self._client,
            _with_errors_for_model(self._memory.str_replace(command.path, command.old_str, command.new_str)),
        )

    def insert(self, command: BetaMemoryTool20250818InsertCommand) -> str:
        """Insert a text after a line of a file."""
        return done(
            self._client,
            _with_errors_for_model(self._memory.insert(command.path, command.insert_line, command.insert_text)),
        )

    def delete(self, command: BetaMemoryTool20250818DeleteCommand) -> str:
        """Delete a file or a folder."""
        return done(self._client, _with_errors_for_model(self._memory.delete(command.path)))

    def rename(self, command: BetaMemoryTool20250818RenameCommand) -> str:
        """Move a file or a folder."""
        return done(self._client, _with_errors_for_model(self._memory.rename(command.old_path, command.new_path)))

    def clear_all_memory(self) -> str:
        """Delete all files."""
        return done(self._client, _with_errors_for_model(self._memory.clear()))


class AsyncMemoryTool(BetaAsyncAbstractMemoryTool):
    """The memory tool. Its files are durable; searches find them by words, and by meaning if there is an embedder."""

    def __init__(
        self,
        name: str | UUID,
        client: AsyncContextClient,
        *,
        cache_control: BetaCacheControlEphemeralParam | None = None,
    ) -> None:
        """Name a memory.

        Args:
            name: Name of the memory, such as that of a user, an agent or a project. A UUID is the id of a node in the
                graph, and the files are then records of that node.
            client: Client of the Context Service; the caller closes it.
            cache_control: Passed to the SDK's base class.
        """
        super().__init__(cache_control=cache_control)
        self.entity_node_id = entity_of(name, system=SYSTEM)
        self._client = client
        self._memory = _Memory(self.entity_node_id)

    async def view(self, command: BetaMemoryTool20250818ViewCommand) -> str:
        """Show a file with line numbers, or list a folder."""
        return await done_async(
            self._client, _with_errors_for_model(self._memory.view(command.path, command.view_range))
        )

    async def create(self, command: BetaMemoryTool20250818CreateCommand) -> str:
        """Write a new file."""
        return await done_async(
            self._client, _with_errors_for_model(self._memory.create(command.path, command.file_text))
        )

    async def str_replace(self, command: BetaMemoryTool20250818StrReplaceCommand) -> str:
        """Replace a text that is in a file once."""
        steps = self._memory.str_replace(command.path, command.old_str, command.new_str)
        return await done_async(self._client, _with_errors_for_model(steps))

    async def insert(self, command: BetaMemoryTool20250818InsertCommand) -> str:
        """Insert a text after a line of a file."""
        steps = self._memory.insert(command.path, command.insert_line, command.insert_text)
        return await done_async(self._client, _with_errors_for_model(steps))

    async def delete(self, command: BetaMemoryTool20250818DeleteCommand) -> str:
        """Delete a file or a folder."""
        return await done_async(self._client, _with_errors_for_model(self._memory.delete(command.path)))

    async def rename(self, command: BetaMemoryTool20250818RenameCommand) -> str:
        """Move a file or a folder."""
        return await done_async(
            self._client, _with_errors_for_model(self._memory.rename(command.old_path, command.new_path))
        )

    async def clear_all_memory(self) -> str:
        """Delete all files."""
        return await done_async(self._client, _with_errors_for_model(self._memory.clear()))


class _Memory:
    """The commands of both tools. Their arguments come from a model, so each may have any type.

    Each command returns the text for the model, and raises `ToolError` with a text for the model if it fails.
    """

    def __init__(self, entity_node_id: str) -> None:
        self._files = Files(entity_node_id, purpose="memory")

    def view(self, path: Any, view_range: Any) -> Steps[str]:
        """Return a file with line numbers, or the list of a folder's contents."""
        path = _path(path)
        record = yield from self._files.find(path)
        if record is not None:
            return _number_lines(path, record.content_text, view_range)
        below = yield from self._files.below(path)
        if not below and path != ROOT:
            raise ToolError(f"The path {path} does not exist. Please provide a valid path.")
        header = f"Here're the files and directories up to 2 levels deep in {path}, excluding hidden items:"
        shown = [f"{_size(sum(record.size_bytes for record in below))}\t{path}", *_entries(path, below)]
        return "\n".join([header, *shown])

    def create(self, path: Any, text: Any) -> Steps[str]:
        """Create a file with its folders, and return the sentence that the tool's specification prescribes.

        Raises:
            ToolError: the file already exists, or the path is not valid.
        """
        path, text = _file(path), _text("file_text", text)
        yield from self._folders_of(path)
        if not (yield from self._files.create(path, text)):
            raise ToolError(f"File {path} already exists")
        return f"File created successfully at: {path}"

    def str_replace(self, path: Any, old: Any, new: Any) -> Steps[str]:
        """Replace the only occurrence of a text in a file, and return the changed lines."""
        path, old, new = _path(path), _text("old_str", old), _text("new_str", new)
        changed_line = 0

        def edit(text: str) -> str:
            nonlocal changed_line
            changed_line = text[: _only(path, text, old)].count("\n")
            return text.replace(old, new)

        text = yield from self._edit(path, edit)
        first = max(0, changed_line - _SNIPPET_LINES)
        snippet = text.split("\n")[first : changed_line + _SNIPPET_LINES + 1]
        header = "The memory file has been edited. Here is the snippet showing the change (with line numbers):"
        return "\n".join([header, *_numbers(snippet, first + 1)])

    def insert(self, path: Any, line: Any, inserted: Any) -> Steps[str]:
        """Insert a text after a line of a file; line 0 is the beginning."""
        path, inserted = _path(path), _text("insert_text", inserted)

        def edit(text: str) -> str:
            lines = text.removesuffix("\n").split("\n") if text else []
            if not isinstance(line, int) or not 0 <= line <= len(lines):
                raise ToolError(
                    f"Invalid `insert_line` parameter: {line}. It should be within the range [0, {len(lines)}]."
                )
            lines.insert(line, inserted.rstrip("\n"))
            return "\n".join(lines).removesuffix("\n") + "\n"

        yield from self._edit(path, edit)
        return f"The file {path} has been edited."

    def delete(self, path: Any) -> Steps[str]:
        """Delete a file or a directory, and return the sentence that the tool's specification prescribes.

        Raises:
            ToolError: the path does not exist, or is the root.
        """
        path = _path(path)
        if path == ROOT:
            raise ToolError(f"Cannot delete the {ROOT} directory itself")
        if not (yield from self._files.delete(path)):
            raise ToolError(f"The path {path} does not exist")
        return f"Successfully deleted {path}"

    def rename(self, path: Any, to: Any) -> Steps[str]:
        """Move a file or a folder to a path that is free."""
        path, to = _path(path), _file(to)
        if path == ROOT:
            raise ToolError(f"Cannot rename the {ROOT} directory itself")
        if (yield from self._files.is_taken(to)):
            raise ToolError(f"The destination {to} already exists")
        if to.startswith(f"{path}/"):
            raise ToolError(f"The destination {to} is within {path}")
        yield from self._folders_of(to)
        if not (yield from self._files.move(path, to)):
            raise ToolError(f"The path {path} does not exist")
        return f"Successfully renamed {path} to {to}"

    def clear(self) -> Steps[str]:
        yield from self._files.delete(ROOT)
        return "All memory cleared"

    def _edit(self, path: str, edit: Any) -> Steps[str]:
        """Change a file by `edit`, and return its new text.

        Raises:
            ToolError: the path is a folder, or does not exist.
        """
        try:
            return (yield from self._files.rewrite(path, edit))
        except RecordNotFound as error:
            if path == ROOT or (yield from self._files.below(path)):
                raise ToolError(f"The path {path} is not a file.") from error
            raise ToolError(f"The path {path} does not exist. Please provide a valid path.") from error

    def _folders_of(self, path: str) -> Steps[None]:
        """Check that no file stands where a path needs a folder.

        Raises:
            ToolError: the file already exists.
        """
        above = yield from self._files.file_above(path)
        if above is not None:
            raise ToolError(f"{above} is a file, not a directory")


def _with_errors_for_model(steps: Steps[str]) -> Steps[str]:
    """Turn errors about the model's arguments into errors that the model sees; the caller gets all other errors."""
    try:
        return (yield from steps)
    except (InvalidArgument, LimitExceeded) as error:
        raise ToolError(error.message) from error


def _path(value: Any) -> str:
    """Return a path below the root in its normal form, without empty or `.` segments.

    Raises:
        ToolError: it is no path, leads out of the root, or has characters that are not allowed.
    """
    path = _text("path", value)
    segments = [item for item in path.split("/") if item not in ("", ".")]
    if not path.startswith("/") or segments[:1] != [ROOT[1:]]:
        raise ToolError(f"Path must start with {ROOT}, got: {path}")
    if ".." in segments:
        raise ToolError(f"Path {path} would escape {ROOT} directory")
    if len(path) > _PATH_CHARS_MAX or "\\" in path or any(unicodedata.category(item) == "Cc" for item in path):
        raise ToolError(
            f"A path has up to {_PATH_CHARS_MAX} characters, none of them a backslash or a control character"
        )
    return "/" + "/".join(segments)


def _file(item: Any) -> str:
    """Return the path of a file.

    Raises:
        ToolError: the path is not valid, or is the root directory.
    """
    path = _path(item)
    if path == ROOT:
        raise ToolError(f"{ROOT} is a directory")
    return path


def _text(field: str, item: Any) -> str:
    """Return an argument that must be a text.

    Raises:
        ToolError: the argument is missing, has another type, or is not valid Unicode.
    """
    if not isinstance(item, str):
        raise ToolError(f"`{field}` is missing, or no text")
    try:
        item.encode()
    except UnicodeEncodeError as error:
        raise ToolError(f"`{field}` is not valid Unicode") from error
    return item


def _only(path: str, text: str, old: str) -> int:
    """Return the position of the only occurrence of `old` in a text.

    Raises:
        ToolError: `old` is empty, does not occur, or occurs more than once.
    """
    if not old:
        raise ToolError("`old_str` is empty")
    places = list(_places(text, old))
    if not places:
        raise ToolError(f"No replacement was performed, old_str `{old}` did not appear verbatim in {path}.")
    if len(places) > 1:
        lines = ", ".join(str(text.count("\n", 0, place) + 1) for place in places[:_OCCURRENCES_SHOWN])
        raise ToolError(
            f"No replacement was performed. Multiple occurrences of old_str `{old}` in lines: {lines}."
            " Please ensure it is unique"
        )
    return places[0]


def _places(text: str, old: str) -> Iterator[int]:
    """Yield each position of a text in another, without overlaps."""
    place = text.find(old)
    while place >= 0:
        yield place
        place = text.find(old, place + len(old))


def _number_lines(path: str, text: str, view_range: Any) -> str:
    """Return the lines of a file in a range, with their numbers; `view_range` is `[first, last]`, and -1 is the end.

    Raises:
        ToolError: the file has too many lines.
    """
    lines, first = text.split("\n"), 1
    if len(lines) > _LINES_MAX:
        raise ToolError(f"File {path} exceeds maximum line limit of {_LINES_MAX:,} lines.")
    match view_range:
        case [int(from_line), int(to_line)]:
            first = max(1, from_line)
            lines = lines[first - 1 : None if to_line == -1 else max(0, to_line)]
    return f"Here's the content of {path} with line numbers:\n" + "\n".join(_numbers(lines, first))


def _numbers(lines: list[str], first: int) -> list[str]:
    return [f"{number:>{_NUMBER_WIDTH}}\t{line}" for number, line in enumerate(lines, first)]


def _entries(folder: str, below: list[Record]) -> Iterator[str]:
    """Yield the files and folders within two levels, each folder with the size of its contents."""
    sizes: dict[str, int] = {}
    for record in below:
        segments = record.name.removeprefix(f"{folder}/").split("/")
        for level in range(1, min(len(segments), _LEVELS_SHOWN) + 1):
            if segments[level - 1].startswith("."):
                break
            shown = "/".join(segments[:level]) + ("/" if level < len(segments) else "")
            sizes[shown] = sizes.get(shown, 0) + record.size_bytes
    for shown, size_bytes in sizes.items():
        yield f"{_size(size_bytes)}\t{folder}/{shown}"


def _size(size_bytes: int) -> str:
    """Return a number of bytes as `du -h` prints it, such as `1.5K`."""
    size, units = float(size_bytes), iter("BKMG")
    unit = next(units)
    while size >= 1024 and (larger := next(units, "")):
        size, unit = size / 1024, larger
    return f"{size:.0f}{unit}" if size == int(size) else f"{size:.1f}{unit}"
