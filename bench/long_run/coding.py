"""A coding agent: it reads, greps, edits, tests and runs commands, in a platform of some thirty components."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from bench.long_run.workload import Log

_COMPONENTS = [
    "billing importer",
    "invoice scheduler",
    "login page",
    "session cache",
    "search indexer",
    "thumbnail worker",
    "audit exporter",
    "webhook relay",
    "rate limiter",
    "tenant migrator",
    "feature flags",
    "report builder",
    "mail dispatcher",
    "currency converter",
    "permission checker",
    "upload gateway",
    "metrics collector",
    "backup rotator",
    "license validator",
    "notification queue",
    "graph loader",
    "token refresher",
    "address parser",
    "inventory sync",
    "shipping estimator",
    "coupon engine",
    "profile editor",
    "chat bridge",
    "video transcoder",
    "tax table",
]
_ASPECTS = [
    "batch size",
    "retry limit",
    "page size",
    "pool size",
    "queue depth",
    "cache lifetime",
    "buffer size",
    "chunk length",
    "worker count",
    "poll interval",
    "row limit",
    "idle timeout",
]
_RULES = (
    "Never commit to the {t} without running its {a} tests.",
    "From now on, run the {t} tests with --strict before you touch its {a}.",
    "Always ask me before you change the {a} schema of the {t}.",
    "Do not log the names of customers where the {t} computes its {a}.",
    "Whenever you touch the {a} of the {t}, update its page in the handbook, too.",
    "Please only use parameterised queries for the {a} of the {t}.",
    "Keep in mind that the {a} code of the {t} has to run on Python 3.9.",
    "I prefer one commit for each change of the {t} {a}.",
    "The {t} must not import anything of the {a} module.",
    "Under no circumstances delete rows of the {t} {a} table.",
    "Make sure that the {a} of the {t} works without a network.",
    "Avoid new dependencies for the {a} of the {t}.",
    "You are not allowed to touch the {a} file of the {t} without a review.",
    "As a rule, the {t} gets a changelog line for each change of its {a}.",
    "All functions around the {a} of the {t} must have type hints.",
    "Stick to the standard library for the {t} {a}.",
    "Remember that the {a} of the {t} is read by two teams: rename nothing there.",
    "Tests of the {t} {a} should never sleep.",
    "Changes of the {a} in the {t} may only be merged after QA signed them off.",
    "Don't use global state for the {a} of the {t}.",
    "We never release the {a} of the {t} on a Friday.",
    "I want you to always show me the diff of the {t} before its {a} is merged.",
    "It is forbidden to print secrets in the {a} logs of the {t}.",
    "In every case the {a} of the {t} needs a migration that can be undone.",
    "Leave the vendored {a} code of the {t} alone.",
    "No merges to the {a} branch of the {t} while I am away.",
)
_CHOICES = (
    ("keyset pages", "offsets", "an offset reads all rows before it"),
    ("a stream", "a polling table", "polling kept one core busy"),
    ("protobuf", "JSON", "the payload was four times as large"),
    ("an advisory lock", "a lock file", "two hosts share no disk"),
    ("argon2", "bcrypt", "the auditors asked for it"),
    ("a nightly batch", "triggers", "triggers slowed each write by half"),
    ("a bounded queue", "an open one", "memory grew until the kernel killed it"),
    ("integers of cents", "floats", "sums were off by a cent"),
)
_DECISIONS = (
    "Decision: for the {a} of the {t} we use {x} instead of {y}, because {why}.",
    "We decided to go with {x} rather than {y} for the {a} of the {t}, because {why}.",
    "I chose {x} over {y} for the {a} of the {t}: {why}.",
    "We will use {x} for the {a} of the {t}, not {y}, since {why}.",
    "Settled on {x} for the {a} of the {t}; {y} is out because {why}.",
    "For the {a} of the {t} we are going with {x} and drop {y}: {why}.",
)
_ERRORS = (
    ("KeyError", "KeyError: '{slug}_id'"),
    ("TimeoutError", "TimeoutError: the {t} did not answer within 30 s"),
    ("OperationalError", "psycopg.OperationalError: the connection of the {t} is closed"),
    ("UnicodeDecodeError", "UnicodeDecodeError: 'utf-8' codec can't decode byte 0xff in position 0"),
    ("AssertionError", "AssertionError: expected 3 rows of {slug}, got 2"),
    ("MemoryError", "MemoryError: cannot allocate 2147483648 bytes for {slug}"),
    ("PermissionError", "PermissionError: [Errno 13] Permission denied: '/var/lib/{slug}'"),
)
_FIXES = (
    "a retry with a jitter of {n} ms around the upstream call",
    "closing the cursor behind row {n}",
    "a default for the {n} rows that lack the column",
    "reading the file in chunks of {n} KiB",
    "a lock around the rename in line {n}",
    "pinning the parser to build {n}",
    "dropping the stale index {slug}_{n} before the import",
)
_HELPED = (
    "Fixed the {error} in the {a} of the {t} by {fix}.",
    "The {error} in the {a} of the {t} is solved with {fix}.",
    "Root cause of the {error} in the {a} of the {t} found; resolved by {fix}.",
    "The cause was a race: the {error} in the {a} of the {t} went away with {fix}.",
    "That helped: {fix} makes the {error} in the {a} of the {t} disappear.",
)
_QUESTIONS = (
    ("Open question: does the {a} of the {t} count archived rows, ticket {n}?", "Does it count archived rows?"),
    ("It is still unclear why the {a} of the {t} doubles at midnight, ticket {n}.", "What happens at midnight?"),
    ("We need to find out whether the {a} of the {t} is shared between tenants, ticket {n}.", "Is it shared?"),
    ("TODO: check whether the {a} of the {t} survives a restart, ticket {n}.", "Does it survive a restart?"),
    ("Not sure whether the {a} of the {t} is used by anybody, ticket {n}; to find out.", "Is it used?"),
)
_ANSWERS = (
    "The question of ticket {n} about the {a} of the {t} is answered: it does.",
    "It is clear now, ticket {n}: the {a} of the {t} does not.",
    "Ticket {n} about the {a} of the {t}: question closed, it never did.",
)
_FILES = ("handoff", "runbook", "postmortem", "schema", "checklist", "benchmark")
_WISHES = (
    "Please have a look at the {t}, it is slow again.",
    "Can you add a test for the {t}? The {a} is never tested.",
    "The {t} needs a new release this week. What is missing?",
    "Clean up the {a} of the {t} a little, please.",
    "Someone reported a problem with the {t}. It always happens on Mondays, they said.",
    "How far are you? I have to report at noon.",
    "I don't think that we must hurry. Take the {t} next.",
    "It was always wrong in the old {t}, so compare with the new one.",
    "What did you change in the {t} yesterday?",
    "ok, go on with the {t}",
)
_SAYS = (
    "Reading the next file.",
    "Let me look at how it is called.",
    "I will run the linter, then the tests.",
    "The diff is small; committing.",
    "That did not change anything. Trying the other branch.",
    "Looks good so far, moving on.",
    "Checking the configuration once more.",
    "",
    "",
)
_NOUNS = [
    "row",
    "batch",
    "customer",
    "invoice",
    "token",
    "page",
    "cursor",
    "worker",
    "job",
    "event",
    "address",
    "order",
    "line",
    "price",
    "rate",
    "key",
]
_VERBS = [
    "load",
    "store",
    "parse",
    "check",
    "send",
    "merge",
    "split",
    "count",
    "retry",
    "close",
    "open",
    "find",
    "build",
    "drain",
]
_ALWAYS = (  # output of tools is never a rule
    "# NOTE: always call close() before the {noun} is freed",
    "# never use this {noun} from two threads",
    "WARNING: you must not run this as root",
    "    # from now on the {noun} is owned by the caller",
)


class Coding(Log):
    """A log in the words of a coding agent: components, code, tests and tools."""

    name = "coding"
    profile = "coding"
    pause_s = 30
    system_prompt = (
        "You are an engineer who works in a repository with tools. Read before you edit; test what you change; say "
        "what you decide and why."
    )
    goal = "Bring the order platform to its next release: every component on the new storage layer, all tests green."

    def __init__(self, *, seed: int, steps: int) -> None:
        super().__init__(seed=seed, steps=steps)
        self._code = [self._code_line() for _ in range(6_000)]

    def subjects(self) -> tuple[Sequence[str], Sequence[str]]:
        return _COMPONENTS, _ASPECTS

    def wish(self) -> str:
        return self._form(self.random.choice(_WISHES), *self._subject())

    def constraint(self, thing: str, aspect: str) -> tuple[str, str]:
        rule = self._form(self.random.choice(_RULES), thing, aspect)
        return rule, f"Which rule is there about the {aspect} of the {thing}?"

    def value(self, thing: str, aspect: str, number: int) -> tuple[Sequence[str], str, str]:
        forms = (
            f"Set the {thing} {aspect} to {number}.",
            f"The {thing} {aspect} is {number}.",
            f"The {thing} {aspect} is now {number}.",
            f"Please change the {thing} {aspect} to {number}.",
            f"Update: the {thing} {aspect} is {number}.",
            f"I moved the {thing} {aspect} to {number}, as agreed.",
        )
        return forms, f"{thing} {aspect}", f"What is the {thing} {aspect} set to now?"

    def decision(self, thing: str, aspect: str) -> tuple[str, tuple[str, ...], str]:
        x, y, why = self.random.choice(_CHOICES)
        said = self.random.choice(_DECISIONS).format(t=thing, a=aspect, x=x, y=y, why=why)
        return said, (f"{aspect} of the {thing}", x, why), f"Why {x} for the {aspect} of the {thing}?"

    def error(self, thing: str, aspect: str) -> tuple[Callable[[], None], str, tuple[str, ...], str]:
        """Return a failing test, a later statement of the remedy, its needle, and a question."""
        name, message = self.random.choice(_ERRORS)
        fix = self._form(self.random.choice(_FIXES), thing, aspect)
        helped = self.random.choice(_HELPED).format(error=name, t=thing, a=aspect, fix=fix)

        def fail() -> None:
            path = f"src/{_slug(thing)}/{_slug(aspect)}.py"
            frames = [
                f'  File "{path}", line {self._number()}, '
                f"in {self.random.choice(_VERBS)}_{self.random.choice(_NOUNS)}\n"
                f"    {self.random.choice(self._code).strip()}"
                for _ in range(self.random.randrange(2, 9))
            ]
            output = "\n".join(["Traceback (most recent call last):", *frames, self._form(message, thing, aspect)])
            self.run("run_tests", {"path": f"tests/{_slug(thing)}"}, output, is_error=True)

        return (
            fail,
            helped,
            (f"{aspect} of the {thing}", fix),
            f"What helped against the {name} in the {aspect} of the {thing}?",
        )

    def noise(self, thing: str, aspect: str) -> tuple[str, tuple[str, ...], str]:
        slug, digits = f"{_slug(thing)}.{_slug(aspect)}", f"{self.random.getrandbits(48):012x}"
        migration = self.random.randrange(1_000, 10_000)
        line = f"{self.now:%Y-%m-%dT%H:%M:%S}Z INFO {slug} migration {migration} applied, checksum {digits}"
        return line, (slug, digits), f"Which checksum did migration {migration} of {slug} have?"

    def question(self, thing: str, aspect: str) -> tuple[str, str, tuple[str, ...], str]:
        said, _ = self.random.choice(_QUESTIONS)
        number = self.random.randrange(10_000, 99_999)
        return (
            said.format(t=thing, a=aspect, n=number),
            self.random.choice(_ANSWERS).format(t=thing, a=aspect, n=number),
            (f"{aspect} of the {thing}", f"ticket {number}"),
            f"What is not known yet of the {aspect} of the {thing}, by which ticket?",
        )

    def artifact(self, thing: str, aspect: str) -> tuple[Callable[[], None], tuple[str, ...], str]:
        path = f"docs/{_slug(thing)}/{self.random.choice(_FILES)}-{_slug(aspect)}-{self._number()}.md"

        def make() -> None:
            text = "\n".join(self.random.choices(self._code, k=20))
            said = self.random.choice(("", "", f"I wrote what we learned of the {aspect} of the {thing} to {path}."))
            self.run("write_file", {"path": path, "text": text}, f"{len(text)} bytes written", said=said)

        return make, (path,), f"In which file did you write notes about the {aspect} of the {thing}?"

    def work(self) -> None:
        """Do one step of work: read, search, edit, test, or run a command, with random output."""
        said = self.random.choice(_SAYS)
        thing, _ = self._subject()
        match self.random.choices(range(7), (30, 22, 18, 14, 10, 5, 0.6))[0]:
            case 0:
                path = self._path(thing)
                lines = self.random.choices(self._code, k=int(self.random.lognormvariate(4.25, 0.7)))
                self.run(
                    "read_file",
                    {"path": path},
                    "\n".join(f"{n:>5}  {line}" for n, line in enumerate(lines, 1)),
                    said=said,
                )
            case 1:
                lines = [
                    f"{self._path(thing)}:{self._number()}:{self.random.choice(self._code)}"
                    for _ in range(int(self.random.lognormvariate(2.8, 0.8)) + 1)
                ]
                pattern = f"{self.random.choice(_VERBS)}_{self.random.choice(_NOUNS)}"
                self.run("grep", {"pattern": pattern, "path": f"src/{_slug(thing)}"}, "\n".join(lines), said=said)
            case 2:
                old, new = (
                    "\n".join(self.random.choices(self._code, k=self.random.randrange(1, 12))) for _ in range(2)
                )
                path = self._path(thing)
                self.run("edit_file", {"path": path, "old": old, "new": new}, f"{path} was changed.", said=said)
            case 3:
                self.run("run_tests", {"path": f"tests/{_slug(thing)}"}, self._tested(thing), said=said)
            case 4:
                self.run(
                    "shell",
                    {"command": self.random.choice(("git log --oneline", "ls -la src", "git diff --stat"))},
                    self._listed(thing),
                    said=said,
                )
            case 5:
                count = int(self.random.lognormvariate(4.6, 0.6)) + 20
                self.run(
                    "shell",
                    {"command": f"make migrate TARGET={_slug(thing)}"},
                    self.long(self._logged(count)),
                    said=said,
                )
            case _:
                count = self.random.randrange(400, 1_500)
                self.run("shell", {"command": "make all"}, self.long(self._logged(count))[:100_000], said=said)

    def _tested(self, thing: str) -> str:
        count = int(self.random.lognormvariate(2.8, 0.8)) + 2
        failed = self.random.randrange(3) if self.random.random() < 0.2 else 0
        lines = [
            f"tests/{_slug(thing)}/test_{self.random.choice(_NOUNS)}.py::test_{self.random.choice(_VERBS)}_"
            f"{self.random.choice(_NOUNS)} {'FAILED' if item < failed else 'PASSED'} [{item * 100 // count:>3}%]"
            for item in range(count)
        ]
        summary = f"{failed} failed, " if failed else ""
        return "\n".join([*lines, f"=== {summary}{count - failed} passed in {self.random.random() * 30:.2f}s ==="])

    def _listed(self, thing: str) -> str:
        return "\n".join(
            f"{self.random.getrandbits(28):07x} {self.random.choice(_VERBS)} "
            f"the {self.random.choice(_NOUNS)} of the {thing}"
            for _ in range(int(self.random.lognormvariate(2.7, 0.6)))
        )

    def _logged(self, count: int) -> list[str]:
        """Return a number of lines of a build log or a service's log."""
        lines = []
        for at, _ in zip(self.clock(), range(count), strict=False):
            thing, aspect = self._subject()
            slug = f"{_slug(thing)}.{_slug(aspect)}"
            match self.random.randrange(6):
                case 0:
                    lines.append(
                        f"{at} INFO {slug} worker {self._number()} finished {self._number()} rows "
                        f"in {self._number()} ms"
                    )
                case 1:
                    lines.append(
                        f"Requirement already satisfied: {_slug(thing)}>={self.random.randrange(9)}"
                        f".{self.random.randrange(40)}"
                    )
                case 2:
                    lines.append(f"{at} DEBUG {self.random.choice(self._code).strip()}")
                case 3:
                    lines.append(
                        f"gcc -c build/{_slug(thing)}/{self.random.choice(_NOUNS)}.c -o build/{self._number()}.o"
                    )
                case 4:
                    migration, digits = self.random.randrange(1_000, 10_000), f"{self.random.getrandbits(48):012x}"
                    lines.append(f"{at} INFO {slug} migration {migration} was there, checksum {digits}")
                case _:
                    lines.append(
                        f"{at} INFO {slug} block {self._number()} read, checksum {self.random.getrandbits(48):012x}"
                    )
        return lines

    def _code_line(self) -> str:
        """Return a line of random code."""
        noun, other, verb = self.random.choice(_NOUNS), self.random.choice(_NOUNS), self.random.choice(_VERBS)
        match self.random.randrange(12):
            case 0:
                arguments = f"{other}: {other.title()}, *, count: int = {self._number()}"
                return f"    def {verb}_{noun}(self, {arguments}) -> {noun.title()}:"
            case 1:
                return f"        {noun} = self._{other}s.{verb}({noun}, limit={self._number()})"
            case 2:
                return f"        if {noun} is None or {noun}.{other} > {self._number()}:"
            case 3:
                return f'            raise ValueError(f"no {noun} for {{{other}}}")'
            case 4:
                return f"        return {noun}.{verb}({other}_{self._number()})"
            case 5:
                return f"        for {noun} in await self._{verb}_{other}s({noun}_id):"
            case 6:
                return f"        # {verb.title()} the {noun} first: the {other} may be gone by then."
            case 7:
                return f"from platform_{other}.{noun}s import {verb}_{noun}, {other.title()}{noun.title()}"
            case 8:
                return f'        log.debug("{verb} {noun}", extra={{"{other}": {other}}})'
            case 9:
                return "" if self.random.random() < 0.9 else self.random.choice(_ALWAYS).format(noun=noun)
            case 10:
                return f"        assert {noun}.{other}s == {self._number()}"
            case _:
                return f"class {verb.title()}{noun.title()}({other.title()}Base):"

    def _path(self, thing: str) -> str:
        return f"src/{_slug(thing)}/{self.random.choice(_VERBS)}_{self.random.choice(_NOUNS)}.py"

    def _subject(self) -> tuple[str, str]:
        return self.random.choice(_COMPONENTS), self.random.choice(_ASPECTS)

    def _number(self) -> int:
        return self.random.randrange(10, 1_000)

    def _form(self, form: str, thing: str, aspect: str) -> str:
        return form.format(t=thing, a=aspect, slug=_slug(thing), n=self.random.randrange(1_000, 10_000))


def _slug(words: str) -> str:
    return words.replace(" ", "_")
