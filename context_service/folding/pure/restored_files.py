"""The files that the assistant edited last: their newest full content, which a fold may show again.

After a fold (one compaction of a window) the content of files is cleared, and an agent that goes on editing would have
to read them again. With `restore_files_share`, packs show it after the state, quoted as text of a tool. A content is
the text that a call wrote as a whole, or the result of a call that read the whole file. Later edits in parts are named,
because the content does not have them. Values in, values out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from context_service.contexts.model import Message
from context_service.folding.pure.folds import FoldableBlock
from context_service.folding.pure.last_words import FILE, Utterance
from context_service.folding.pure.summaries import Scored
from context_service.kernel.parts import ToolCall, ToolResult
from context_service.kernel.rendering.turns import result_text
from context_service.packing.pure.state.task_state import PATH_ARGUMENTS, Entry, call_arguments, files_in, is_edited
from context_service.packing.pure.texts.quotation import speaker_of
from context_service.packing.pure.texts.units import Unit
from context_service.retrieval.pure.budget import quoted_lines
from context_service.windows.pure.refs import parse_ref, ref_of

FILES_MAX = 3
TITLE = "[The newest full content of the files that were edited last.]"
_CONTENT = ("content", "contents", "file_text", "new_content", "text", "code", "source", "data")
_WHOLE_READS = frozenset({"read", "view", "cat", "open", "get", "show"})
_WORD_OF_NAME = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
# Arguments of calls that change a file in parts.
_IN_PARTS = frozenset(
    {"old_string", "old_str", "old_text", "search", "diff", "patch", "insert_line", "start_line", "line"}
)


@dataclass(frozen=True, slots=True)
class FileContent:
    """The newest full content of a file.

    Attributes:
        text: The content.
        tool: The tool that wrote or read it.
        ref: The ref of the call that wrote it, or of the result that has it.
        is_result: The content is a result, which masks clear.
        edits: The refs of later edits in parts, the oldest first.
    """

    path: str
    text: str
    tool: str
    ref: str
    is_result: bool
    edits: tuple[str, ...] = ()


@dataclass(slots=True)
class FileSearch:
    """A search for the newest full content of files, in a log that is read from its end.

    Attributes:
        missing: The paths of which no content is found yet.
        contents: The contents that are found.
    """

    missing: set[str]
    contents: list[FileContent] = field(default_factory=list)
    _edits: dict[str, list[str]] = field(default_factory=dict)
    _results: dict[str, tuple[ToolResult, str]] = field(default_factory=dict)

    def look(self, messages: Iterable[Message]) -> None:
        """Look through messages, the newest first."""
        for message in messages:
            for number in range(len(message.parts), 0, -1):
                part = message.parts[number - 1]
                if part.tool_result:
                    self._results[part.tool_result.tool_call_id] = part.tool_result, ref_of(message.seq, number)
                elif part.tool_call:
                    self._look_at(part.tool_call, ref_of(message.seq, number))

    def _look_at(self, call: ToolCall, ref: str) -> None:
        """Take the content of a file from a call or its result, or note an edit in parts."""
        result, result_ref = self._results.pop(call.id, (None, ""))
        files = [(path, does) for path, does in files_in(call) if path in self.missing]
        if len(files) != 1 or (result and result.is_error):
            return
        (path, does), arguments = files[0], call_arguments(call)
        text, is_result = None, does != "edited"
        if is_result:
            is_whole = arguments.keys() <= {*PATH_ARGUMENTS, "command"} and call_reads_whole(call)
            text = result_text(result.content_json) if result and is_whole else None
        elif _IN_PARTS.isdisjoint(arguments):
            text = next((arguments[name] for name in _CONTENT if isinstance(arguments.get(name), str)), None)
        if text is not None:
            self.missing.remove(path)
            edits = tuple(reversed(self._edits.get(path, ())))
            self.contents.append(FileContent(path, text, call.name, result_ref if is_result else ref, is_result, edits))
        elif not is_result:
            self._edits.setdefault(path, []).append(ref)


def call_reads_whole(call: ToolCall) -> bool:
    """Return whether the name of a tool says that it reads a file, and not that it searches."""
    return any(word.lower() in _WHOLE_READS for word in _WORD_OF_NAME.findall(call.name))


def edited_last(entries: Sequence[Entry]) -> set[str]:
    """Return the paths of the files that were edited last, from the entries of the state."""
    edited = sorted((entry for entry in entries if is_edited(entry)), key=lambda entry: entry.seq)
    return {entry.key for entry in edited[-FILES_MAX:]}


def file_utterances(contents: Sequence[FileContent], blocks: Sequence[FoldableBlock]) -> list[Utterance]:
    """Return the contents of files as a fold shows them again, if no step shows them any more."""
    return [_utterance(content, blocks) for content in contents]


def _utterance(content: FileContent, blocks: Sequence[FoldableBlock]) -> Utterance:
    """Return the content of a file, quoted, below a line with its path and its refs."""
    place = parse_ref(content.ref)
    seq = place.seq if place else 0
    around = [block for block in blocks if not block.is_appended and block.seq_from <= seq <= block.seq_to]
    edits = f"; edited in parts since: {', '.join(content.edits)}" if content.edits else ""
    speaker = speaker_of("tool", content.tool)
    text = f"[{content.path}, as of {content.ref}{edits}]\n{speaker}:\n{quoted_lines(content.text)}"
    unit = Unit(kind=FILE, text=text, ref=content.ref, seq=seq, weight=0, speaker=speaker)
    block = around[-1] if around else None
    return Utterance(
        number=block.number if block else None,
        is_masked=block is None or block.is_masked,
        is_lost_in_mask=content.is_result,
        line=Scored(unit=unit, step=block.step if block else 0, is_error=False),
    )
