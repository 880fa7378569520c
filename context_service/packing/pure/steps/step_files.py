"""The files of a step, as a model gets them: each with its tokens, and a line of text for each that the model refuses.

One step may use half of the vendor's limits, and a part of the room of tokens. The oldest pictures of tools give way
first, as in a whole request (`kernel.files.limits`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from context_service.kernel.files.facts import FileFacts
from context_service.kernel.files.limits import FileUse, Sendable, drop, files_left_out, use_of
from context_service.kernel.files.models import MediaModel
from context_service.kernel.files.tokens import tokens_of_file
from context_service.kernel.parts import File, Part
from context_service.kernel.rendering import Call, Result, Turn
from context_service.kernel.rendering.files import file_of
from context_service.kernel.rendering.turns import inline_file, line_of
from context_service.packing.pure.steps.step import Step

STEP_SHARE = 0.5  # of the vendor's limits, for the files of one step


def with_files_of(step: Step, model: MediaModel, *, tokens_max: int) -> Step:
    """Return a step whose files have their tokens, with lines in the place of files that the model does not get.

    Args:
        step: The step, as the log has it.
        model: The model that gets the step.
        tokens_max: The most tokens of all files of the step.
    """
    files = list(_files_in(step.turn))
    if not files:
        return step
    left_out = files_left_out([_sendable(file, is_of_tool) for file, is_of_tool in files], model, share=STEP_SHARE)
    counted = [
        replace(file, tokens=_tokens(file, model), follows_result=is_of_tool and not model.in_results)
        for file, is_of_tool in files
    ]
    oldest_first = sorted(range(len(files)), key=lambda number: (not files[number][1], number))
    drop(oldest_first, left_out, lambda number: counted[number].tokens, max(tokens_max, 1))
    numbers = iter(range(len(files)))

    def shown(file: File) -> File | str:
        number = next(numbers)
        return line_of(file) if number in left_out else counted[number]

    return replace(step, turn=_with_files(step.turn, shown))


def use_of_turn(turn: Turn, model: MediaModel) -> FileUse:
    """Return what the files of a turn use of the vendor's limits."""
    return use_of((_sendable(file, is_of_tool) for file, is_of_tool in _files_in(turn)), model)


def tokens_of_files(turn: Turn) -> int:
    """Return the tokens of the files of a turn, which `with_files_of` has counted."""
    return sum(file.tokens for file, _ in _files_in(turn))


def cleared_of_files(result: Result) -> Result:
    """Return a result with a line in the place of each of its files; its words stay."""
    if not result.files:
        return result
    return Result("\n".join(filter(None, [result.text, *map(line_of, result.files)])), result.is_error)


def _files_in(turn: Turn) -> Iterator[tuple[File, bool]]:
    """Yield the files of a turn in their order, each with whether a tool brought it."""
    for part in turn.parts:
        if file := file_of(part):
            yield file, False
    for call in turn.calls:
        for file in call.result.files if call.result else ():
            yield file, True


def _with_files(turn: Turn, shown: Callable[[File], File | str]) -> Turn:
    """Return a turn with other files, or with lines of text in their place, in the order of `_files_in`."""
    parts = [_part(part, shown(file)) if (file := file_of(part)) else part for part in turn.parts]
    calls = []
    for call in turn.calls:
        calls.append(replace(call, result=_result(call, shown)) if call.result and call.result.files else call)
    return Turn(turn.role, turn.name, parts, calls)


def _part(part: Part, file: File | str) -> Part:
    """Return a part with its file counted, or with a line. The address of a file elsewhere is such a line."""
    if isinstance(file, File):
        return Part(file=file)
    return Part(text=part.url if part.url and inline_file(part.url) is None else file)


def _result(call: Call, shown: Callable[[File], File | str]) -> Result:
    """Return the result of a call, with a line of text for each file that is not shown."""
    assert call.result is not None
    files = [shown(file) for file in call.result.files]
    lines = [line for line in files if isinstance(line, str)]
    text = "\n".join(filter(None, [call.result.text, *lines]))
    return Result(text, call.result.is_error, tuple(file for file in files if isinstance(file, File)))


def _sendable(file: File, is_of_tool: bool) -> Sendable:
    return Sendable(facts=_facts(file), size_bytes=file.size_bytes, is_of_tool=is_of_tool)


def _tokens(file: File, model: MediaModel) -> int:
    return tokens_of_file(_facts(file), model, size_bytes=file.size_bytes)


def _facts(file: File) -> FileFacts:
    """Return the facts of a file that its tokens depend on."""
    return FileFacts(
        media_type=file.media_type,
        width=file.width,
        height=file.height,
        page_count=file.page_count,
        text_chars=file.text_chars,
        duration_seconds=file.duration_seconds,
    )
