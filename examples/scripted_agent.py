"""An agent without a model: it reads, greps, edits, tests and runs commands in the Python library's own files.

What it does next is the seed's; what its tools answer is real. It edits copies in memory, and writes nothing.
"""

from __future__ import annotations

import difflib
import random
import re
import sysconfig
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from contextkeep import MessageInput, PartInput, ToolCallInput, ToolResultInput

GOAL = "Go through the library module by module, and put a comment where one would have helped you."
CONSTRAINT = "Never touch antigravity.py: it must stay as it is."
VALUE = "line length limit"
VALUES = (f"Set the {VALUE} to 88.", f"The {VALUE} is now 100.", f"Please change the {VALUE} to 120.")
OUTPUT_BYTES_MAX = 100_000

_ELSEWHERE = {"__pycache__", "idlelib", "lib2to3", "site-packages", "test", "tests"}
_LARGE_EVERY, _WISH_EVERY = 200, 40  # steps
_SAYS = ("", "", "Let me see.", "One after the other.", "That is where it is used.", "I check it at once.")


@dataclass(frozen=True, slots=True)
class Step:
    """Messages that are appended to a log together: a text, or a call with its result."""

    messages: Sequence[MessageInput]
    kind: str  # "user", or the tool's name
    names: frozenset[str]  # what it is about
    file: Path | None = None  # whose bytes the result is, from the first to the last


class ScriptedAgent:
    """Works for some steps; the same number is the same work.

    Args:
        step_count: Of the whole run, at least 100.
        seed: Of what it chooses.
    """

    def __init__(self, step_count: int, *, seed: int = 1) -> None:
        self.step_count = step_count
        self.constraint_step = 3
        self.error_step = min(700, step_count * 7 // 20)
        self.value_steps = (20, self.error_step + 20, self.error_step * 2 + 20)
        self._random = random.Random(seed)  # noqa: S311 - made up, and the same each time
        self._root = Path(sysconfig.get_paths()["stdlib"])
        paths = (path.relative_to(self._root) for path in sorted(self._root.rglob("*.py")))
        self._sizes = {
            path: (self._root / path).stat().st_size for path in paths if not _ELSEWHERE.intersection(path.parts)
        }
        self._sources: dict[Path, str] = {}
        self._broken: Path | None = None
        self._call = 0
        self._wish()

    def steps(self) -> Iterator[Step]:
        """Yield the steps, the first with number 1."""
        values = dict(zip(self.value_steps, VALUES, strict=True)) | {1: GOAL, self.constraint_step: CONSTRAINT}
        special = {
            self.error_step - 1: self._break,
            self.error_step: self._fail,
            self.error_step + 1: self._mend,
        }
        for number in range(1, self.step_count + 1):
            if number in values:
                yield self._user(values[number])
            elif number in special:
                yield special[number]()
            elif number % _WISH_EVERY == 0:
                yield self._user(self._wish())
            elif number % _LARGE_EVERY == 50:
                yield self._read(self._chosen(lambda size: 0.7 * OUTPUT_BYTES_MAX < size < OUTPUT_BYTES_MAX))
            else:
                tools = (self._read_some, self._grep, self._edit, self._test, self._list)
                yield self._random.choices(tools, (30, 22, 16, 22, 10))[0]()

    def _wish(self) -> str:
        """Choose the module that the next steps are about, and return how the user asks for it."""
        self._path = self._chosen(lambda size: 5_000 < size < 60_000)
        self._names = re.findall(r"^ *(?:def|class) (\w+)", self._source(self._path), re.MULTILINE) or ["import"]
        return f"Look at {self._path} now: what does {self._name()} do, and which code needs it?"

    def _read_some(self) -> Step:
        lines = self._source(self._path).splitlines(keepends=True)
        if self._random.random() < 0.25:
            return self._read(self._chosen(lambda size: 0 < size < 5_000))
        start = self._random.randrange(len(lines))
        end = min(start + int(self._random.lognormvariate(3.6, 0.7)), len(lines))
        arguments = {"path": str(self._path), "from": start + 1, "to": end}
        return self._called("read", arguments, "".join(lines[start:end]))

    def _read(self, path: Path) -> Step:
        """Read a file as it is on disk."""
        text = (self._root / path).read_bytes().decode()
        return self._called("read", {"path": str(path)}, text, file=self._root / path)

    def _grep(self) -> Step:
        name, folder = self._name(), self._path.parent
        items = [
            f"{path}:{number}:{line}"
            for path in self._sizes
            if path.parent == folder and name in (source := self._source(path))
            for number, line in enumerate(source.splitlines(), 1)
            if name in line
        ]
        return self._called("grep", {"pattern": name, "path": str(folder)}, "\n".join(items[:60]) or "nothing found")

    def _edit(self) -> Step:
        before = self._source(self._path)
        name = self._name()
        comment = f"# {name}: {self._random.choice(('see its callers', 'called once', 'what it returns is kept'))}."
        after = re.sub(rf"^( *)((?:def|class) {name}\b)", rf"\1{comment}\n\1\2", before, count=1, flags=re.MULTILINE)
        return self._changed(self._path, before, after)

    def _test(self) -> Step:
        """Compile the module, and name what it has."""
        return self._called("test", {"path": str(self._path)}, *self._tested(self._path))

    def _list(self) -> Step:
        if self._random.random() < 0.5:
            rows = [f"{len(self._source(path)):>8} {path}" for path in self._sizes if path.parent == self._path.parent]
            return self._called("shell", {"command": f"wc -c {self._path.parent}/*.py"}, "\n".join(rows[:100]))
        words = Counter(re.findall(r"[a-z_]{4,}", self._source(self._path))).most_common(30)
        command = f"grep -oE '[a-z_]{{4,}}' {self._path} | sort | uniq -c | sort -rn | head -30"
        return self._called("shell", {"command": command}, "\n".join(f"{count:>6} {word}" for word, count in words))

    def _break(self) -> Step:
        """Take a colon away, as one does."""
        self._broken = Path("textwrap.py")
        before = self._source(self._broken)
        return self._changed(self._broken, before, re.sub(r"^(def dedent\(.*\)):", r"\1", before, flags=re.MULTILINE))

    def _fail(self) -> Step:
        assert self._broken
        return self._called("test", {"path": str(self._broken)}, *self._tested(self._broken))

    def _mend(self) -> Step:
        assert self._broken
        before = self._source(self._broken)
        mended = (self._root / self._broken).read_bytes().decode()
        return self._changed(self._broken, before, mended, says="The colon after dedent is missing: I put it back.")

    def _tested(self, path: Path) -> tuple[str, bool]:
        source = self._source(path)
        try:
            compile(source, str(path), "exec", dont_inherit=True)
        except SyntaxError as error:
            return f'  File "{path}", line {error.lineno}\n    {error.text}{type(error).__name__}: {error.msg}', True
        names = re.findall(r"^(?:def|class) (\w+)", source, re.MULTILINE)
        return "\n".join([*(f"{path}::{name} compiles" for name in names[:40]), f"{len(names)} passed"]), False

    def _changed(self, path: Path, before: str, after: str, *, says: str = "") -> Step:
        self._sources[path] = after
        diff = difflib.unified_diff(before.splitlines(), after.splitlines(), str(path), str(path), lineterm="", n=2)
        return self._called("edit", {"path": str(path)}, "\n".join(diff) or "nothing to change", says=says)

    def _called(
        self,
        tool: str,
        arguments: dict[str, Any],
        output: str,
        is_error: bool = False,
        *,
        says: str = "",
        file: Path | None = None,
    ) -> Step:
        self._call += 1
        call = ToolCallInput(id=f"call_{self._call}", name=tool, arguments=arguments)
        result = ToolResultInput(tool_call_id=call.id, content=output, is_error=is_error)
        messages = [
            MessageInput(says or self._random.choice(_SAYS), role="assistant", parts=[PartInput(tool_call=call)]),
            MessageInput(role="tool", parts=[PartInput(tool_result=result)]),
        ]
        return Step(messages, "error" if is_error else tool, frozenset(map(str, arguments.values())), file)

    def _user(self, text: str) -> Step:
        return Step([MessageInput(text)], "user", frozenset({str(self._path)}))

    def _name(self) -> str:
        return self._random.choice(self._names)

    def _chosen(self, fits: Callable[[int], bool]) -> Path:
        """Return a file by its size; antigravity.py is left alone."""
        return self._random.choice(
            [path for path, size in self._sizes.items() if path.stem != "antigravity" and fits(size)]
        )

    def _source(self, path: Path) -> str:
        if path not in self._sources:
            self._sources[path] = (self._root / path).read_bytes().decode()
        return self._sources[path]
