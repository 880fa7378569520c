"""A generated log of agents at work: tool calls, results, errors, paths, decisions, and what users say, with questions.

The same seed gives the same log. Each planted fact has others of its form about other components, so that a search
must find the right one and not the right form; questions use other words than the log where people would.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from bench.quality.conversations import Asked, Conversation, Turn
from context_service.kernel.parts import Part, ToolCall, ToolResult
from context_service.retrieval.pure.part_texts import part_text

_COMPONENTS = """
billing importer, invoice scheduler, login page, session cache, search indexer, thumbnail worker,
audit exporter, webhook relay, rate limiter, tenant migrator, feature flags, report builder,
mail dispatcher, currency converter, permission checker, upload gateway, metrics collector,
backup rotator, license validator, notification queue, graph loader, token refresher, address parser,
inventory sync, shipping estimator, coupon engine, profile editor, chat bridge, video transcoder,
tax table
"""
COMPONENTS = [name.strip() for name in _COMPONENTS.split(",")]
ERRORS = (
    ("KeyError", "KeyError: 'customer_id'"),
    ("TimeoutError", "TimeoutError: upstream did not answer within 30 s"),
    ("OperationalError", "psycopg.OperationalError: the connection is closed"),
    ("UnicodeDecodeError", "UnicodeDecodeError: 'utf-8' codec can't decode byte 0xff in position 0"),
    ("AssertionError", "AssertionError: expected 3 rows, got 2"),
    ("MemoryError", "MemoryError: cannot allocate 2147483648 bytes"),
    ("PermissionError", "PermissionError: [Errno 13] Permission denied: '/var/lib/data'"),
)
FIXES = (
    "a retry with jitter around the upstream call",
    "closing the cursor before the pool gives the connection back",
    "a default for rows that lack the column",
    "reading the file in chunks of 64 KiB",
    "a lock around the rename",
    "pinning the parser to version 2.4",
    "dropping the stale index before the import",
)
CHOICES = (
    ("keyset pages", "offsets", "an offset reads all rows before it"),
    ("Redis streams", "a polling table", "polling kept one core busy"),
    ("protobuf", "JSON", "the payload was four times as large"),
    ("a blue and green deployment", "a rolling restart", "old workers cannot read the new schema"),
    ("argon2", "bcrypt", "the auditors asked for it"),
    ("a nightly batch", "triggers", "triggers slowed each write by half"),
    ("feature branches", "one trunk", "two teams change the same files"),
)
RULES = (
    ("never deploy the {0} on a Friday", "On which weekday may the {0} not be released?", "friday"),
    ("always ask me before you change the schema of the {0}", "When must I ask before touching the {0}?", ""),
    ("keep the {0} compatible with Python 3.9", "Which Python does the {0} have to support?", ""),
    ("do not log any names of customers in the {0}", "What must not be written to the logs by the {0}?", ""),
)
NOISE = (
    "Reading the next file.",
    "All tests pass now.",
    "Let me look at how it is called.",
    "I will run the linter, then the tests.",
    "The diff is small; committing.",
    "That did not change anything. Trying the other branch.",
    "Looks good so far, moving on.",
    "Checking the configuration once more.",
)
WANTS = (
    "Please have a look at the {0}, it is slow again.",
    "Can you add a test for the {0}?",
    "The {0} needs a new release this week.",
    "Clean up the {0} a little, please.",
    "Someone reported a problem with the {0}.",
)


class _Log:
    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self.turns: list[Turn] = []
        self.asked: list[Asked] = []
        self._now = datetime(2026, 3, 2, 9, tzinfo=UTC)
        self._session = 0

    def fill(self, tasks: int, steps: int) -> None:
        """Do a number of tasks of a number of steps each.

        One of two facts in each belongs to the subject of the task.
        """
        facts = {kind: self._random.sample(COMPONENTS, len(COMPONENTS)) for kind in _FACTS}
        for number in range(tasks):
            self._session, self._now = number, self._now + timedelta(hours=self._random.randrange(5, 40))
            kinds = self._random.sample([kind for kind in _FACTS if facts[kind]], 2)
            component, other = facts[kinds[0]].pop(), facts[kinds[1]].pop()
            self._say("user", self._random.choice(WANTS).format(component))
            first, second = sorted(self._random.sample(range(steps), 2))
            for step in range(steps):
                if step in (first, second):
                    kind, whose = (kinds[0], component) if step == first else (kinds[1], other)
                    _FACTS[kind](self, whose)
                else:
                    self._noise(component)
            self._say("assistant", f"Done with the {component}: {self._random.choice(NOISE).lower()}")

    def _error(self, component: str) -> None:
        path, line = f"{_folder(component)}/{self._random.choice(('reader', 'store', 'main', 'jobs'))}.py", self._line()
        name, message = self._random.choice(ERRORS)
        self._call("run_tests", {"path": f"tests/{_slug(component)}"})
        seen = self._result({"exit_code": 1, "stderr": f'File "{path}", line {line}, in run\n{message}'}, is_error=True)
        fix = self._random.choice(FIXES)
        why = self._say("assistant", f"The {component} fails with {name} in {path}. I fixed it by {fix}.")
        self._ask("error", f"In which file did the {component} raise a {name}?", seen, why)
        self._ask("error", f"How did we get rid of the {name} of the {component}?", why)

    def _choice(self, component: str) -> None:
        taken, instead, reason = self._random.choice(CHOICES)
        self._say("assistant", f"For the {component} there are two ways: {taken}, or {instead}. Which one?")
        said = self._say(
            "user", f"Decision for the {component}: we take {taken} instead of {instead}, because {reason}."
        )
        self._ask("decision", f"Why did we choose {taken} for the {component}?", said)
        self._ask("decision", f"What was decided against for the {component}?", said)

    def _value(self, component: str) -> None:
        port, size = self._random.randrange(5000, 9000), self._random.randrange(4, 64)
        self._call("read_file", {"path": f"{_folder(component)}/settings.yaml"})
        seen = self._result({"listen_port": port, "pool_size": size, "log_level": "info"})
        said = self._say("assistant", f"The {component} listens on port {port} with a pool of {size} connections.")
        self._ask("value", f"Which port does the {component} listen on?", said, seen)
        self._ask("value", f"How many connections does the {component} have in its pool?", said, seen)

    def _rule(self, component: str) -> None:
        rule, question, _ = self._random.choice(RULES)
        said = self._say("user", f"From now on, {rule.format(component)}.")
        self._say("assistant", "Understood, I will keep to that.")
        self._ask("rule", question.format(component), said)

    def _path(self, component: str) -> None:
        about = self._random.choice(("handoff", "runbook", "postmortem", "schema"))
        name = f"{about}-{self._random.randrange(100, 999)}.md"
        called = self._call("write_file", {"path": f"docs/{_slug(component)}/{name}", "text": "See the notes above."})
        self._result({"written": True})
        said = self._say("assistant", f"I wrote what we learned of the {component} to docs/{_slug(component)}/{name}.")
        self._ask("path", f"Where are the notes about the {component}?", called, said)

    def _noise(self, component: str) -> None:
        """Add one or two messages that answer no question: small talk, a search, a file, or a test run."""
        match self._random.randrange(4):
            case 0:
                self._say("assistant", self._random.choice(NOISE))
            case 1:
                other = self._random.choice(COMPONENTS)
                self._call(
                    "grep", {"pattern": self._random.choice(("def run", "import", other)), "path": _folder(component)}
                )
                self._result("\n".join(self._lines(self._random.choice((component, other)))))
            case 2:
                self._call("read_file", {"path": f"{_folder(component)}/{self._random.choice(('api', 'util'))}.py"})
                self._result("\n".join(self._lines(component)))
            case _:
                self._call("run_tests", {"path": f"tests/{_slug(component)}"})
                self._result({"exit_code": 0, "stdout": f"{self._line()} passed in {self._random.random() * 9:.2f}s"})

    def _lines(self, component: str) -> list[str]:
        words = f"def run self config return value {component} connection port pool error file path test data".split()
        return [
            f"{self._line()}: {' '.join(self._random.choices(words, k=self._random.randrange(4, 9)))}"
            for _ in range(self._random.randrange(4, 14))
        ]

    def _line(self) -> int:
        return self._random.randrange(10, 900)

    def _ask(self, kind: str, text: str, *evidence: str) -> None:
        self.asked.append(Asked(text=text, kind=kind, evidence=frozenset(evidence)))

    def _say(self, role: str, text: str) -> str:
        return self._add(role, Part(text=text))

    def _call(self, name: str, arguments: dict[str, object]) -> str:
        call = ToolCall(id=str(len(self.turns)), name=name, arguments_json=json.dumps(arguments))
        return self._add("assistant", Part(tool_call=call))

    def _result(self, content: object, *, is_error: bool = False) -> str:
        result = ToolResult(tool_call_id=self.turns[-1].id, content_json=json.dumps(content), is_error=is_error)
        return self._add("tool", Part(tool_result=result))

    def _add(self, role: str, part: Part) -> str:
        """Append a part as a message, some seconds after the last one, and return its id."""
        said = part_text(part)
        assert said
        self._now += timedelta(seconds=self._random.randrange(2, 90))
        turn = Turn(
            id=str(len(self.turns)),
            text=said.text,
            session=self._session,
            said_at=self._now,
            role=role,
            kind=said.kind,
            part=None if part.text else part,
        )
        self.turns.append(turn)
        return turn.id


_FACTS: dict[str, Callable[[_Log, str], None]] = {
    "error": _Log._error,
    "decision": _Log._choice,
    "value": _Log._value,
    "rule": _Log._rule,
    "path": _Log._path,
}


def agent_log(*, seed: int = 1, tasks: int = 60, steps: int = 20) -> Conversation:
    """Return a log of about 1.7 messages a step, with two facts a task."""
    log = _Log(seed)
    log.fill(tasks, steps)
    return Conversation(name=f"agent log {seed}", turns=log.turns, asked=log.asked)


def _slug(component: str) -> str:
    return component.replace(" ", "_")


def _folder(component: str) -> str:
    return f"/srv/app/{_slug(component)}"
