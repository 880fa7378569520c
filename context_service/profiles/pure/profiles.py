"""Compression profiles: data that says which lines of a log are worth keeping, as YAML files in this folder.

A fold is one compaction of a window; a mask is a step of which a fold cleared the tool results. A profile says which
lines a fold keeps (`high_importance`), which lines it never keeps (`low_importance`), which lines a mask shows whole
(`preserve_verbatim`), how much of a tool's result a mask shows (`tool_output_trim`), which results and arguments
folds clear (`tool_clearing`), how many pictures of tools they keep (`images_keep_last`), with which tools the
assistant plans (`planning_tools`), and which sentences become entries of the state (`state`). A profile that
`extends` another adds rules to it; its own rules come first. `words` are parts of patterns: `{start}` in a pattern of
`state` stands for the part with that name. All patterns have the syntax of RE2, whose time is linear in the length of
the text.

Tenants can register profiles of their own. These must be plain YAML, without anchors, tags and deep nesting. The size
of all patterns of such a profile has a limit, because the time is also linear in the size of the patterns.
"""

from __future__ import annotations

import logging
import re
import reprlib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

import re2
import yaml

from context_service.kernel.extensions import installed, installed_names

DEFAULT = "general"
ROLES = ("user", "assistant", "tool", "system")
SECTIONS = (
    "goal",
    "constraint",
    "lifted",
    "value",
    "decision",
    "question",
    "answer",
    "error",
    "resolution",
    "progress",
    "next",
)

_FOLDER = Path(__file__).parent
_OWN_NAME = re.compile(r"[a-z][a-z0-9_-]{0,63}")  # the form of the name of a profile that an operator installed
_log = logging.getLogger("profiles")
_KEYS = (
    *("extends", "high_importance", "low_importance", "preserve_verbatim"),
    *("tool_output_trim", "tool_clearing", "planning_tools", "images_keep_last", "words", "state"),
)
_OF_PEOPLE = {"constraint", "lifted"}  # sections that only users and system prompts may set; no profile can change this
_RULES_MAX = 100  # the most rules or patterns in a list
_PATTERN_CHARS_MAX = 20_000
_PATTERN_BYTES_MAX = 4 * 1024 * 1024  # the most memory of a compiled pattern
TRIM_CHARS_MAX = 100_000
KEEP_LAST_MAX = 100
IMAGES_KEEP_LAST, IMAGES_KEEP_LAST_MAX = 20, 1_000  # pictures in results of tools
_OWN_PATTERN_BYTES_MAX = 256 * 1024  # the most memory of a compiled pattern in a tenant's profile
OWN_SIZE_MAX = 20_000  # the most instructions of all patterns of a tenant's profile together
OWN_PATTERNS_MAX = 400
_EVENTS_MAX = 20_000  # the most events of the YAML parser: a scalar is one event, a list or a mapping is two
_NESTING_MAX = 6
_LEFT_OUT = "…".encode()
_WORD = re.compile(r"\{([a-z_]+)\}")
_NAMED_GROUP = re.compile(r"\(\?P?<\w")


class BadProfile(ValueError):
    """Raised when a profile is malformed. The text begins with the place of the fault in the profile."""


class Pattern:
    """A compiled RE2 pattern over UTF-8. Safe to share between threads.

    Args:
        text: The pattern, in RE2 syntax.
        any_case: Match upper and lower case alike, except within `(?-i:…)`.
        bytes_max: The most memory that the compiled pattern may take.

    Raises:
        ValueError: the text is not a pattern, or too large.
    """

    __slots__ = ("_compiled", "_names")

    def __init__(self, text: str, *, any_case: bool = False, bytes_max: int = _PATTERN_BYTES_MAX) -> None:
        if len(text) > _PATTERN_CHARS_MAX:
            raise ValueError(f"it has more than {_PATTERN_CHARS_MAX:,} characters")
        options = re2.Options()
        options.max_mem = bytes_max
        options.log_errors = False
        options.case_sensitive = not any_case
        # RE2 finds the ends of a match about twice as fast if it need not find groups, too.
        options.never_capture = not _NAMED_GROUP.search(text)
        try:
            self._compiled: Any = re2.compile(text.encode(), options)
        except (re2.error, UnicodeEncodeError) as error:
            reason = error.args[0] if error.args else "not valid"
            raise ValueError(reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason)) from None
        self._names = {name.decode(): number for name, number in self._compiled.groupindex.items()}

    @property
    def size(self) -> int:
        """The number of instructions of the compiled pattern."""
        size: int = self._compiled.programsize
        return size

    def is_in(self, data: bytes) -> bool:
        """Say whether the pattern matches anywhere in a UTF-8 text."""
        return self._compiled.search(data) is not None

    def spans(self, data: bytes, *, count_max: int) -> list[tuple[int, int]]:
        """Return the positions of the first matches in a UTF-8 text."""
        return [match.span() for match in islice(self._compiled.finditer(data), count_max)]

    def without(self, data: bytes) -> bytes:
        """Return a UTF-8 text with each match replaced by `…`."""
        rest: bytes = self._compiled.sub(_LEFT_OUT, data)
        return rest

    def groups(self, data: bytes, *, count_max: int) -> list[dict[str, str]]:
        """Return for each match the named groups that are set, as text.

        Digits at the end of a group's name are dropped: RE2 requires different names, so alternatives of a pattern
        number their groups. The next match may begin where the last group of the earlier match ends.
        """
        groups: list[dict[str, str]] = []
        at = 0
        while len(groups) < count_max and (match := self._compiled.search(data, at)):
            numbers_by_name = {name: number for name, number in self._names.items() if match[number]}
            groups.append(
                {
                    name.rstrip("0123456789"): match[number].decode(errors="replace")
                    for name, number in numbers_by_name.items()
                }
            )
            at = max([match.start() + 1, *(match.end(number) for number in numbers_by_name.values() or [0])])
        return groups


@dataclass(frozen=True, slots=True, kw_only=True)
class LineRule:
    """A rule that says which lines of which roles are of a kind.

    Attributes:
        kind: The name of the kind, such as `error` or `path`.
        roles: The roles whose lines the rule reads.
        line: The pattern that a line must have.
        lines: The same pattern, made to match whole lines of a text.
        weight: How much lines of the kind matter in a fold, from 0 to 1.
    """

    kind: str
    roles: frozenset[str]
    line: Pattern
    lines: Pattern
    weight: float


@dataclass(frozen=True, slots=True, kw_only=True)
class StateRule:
    """A rule that says which sentences of which roles are state.

    Attributes:
        section: The section of the state, one of `SECTIONS`.
        roles: The roles whose sentences the rule reads.
        sentence: The pattern of the sentence. Its groups give `key` and `value`, or the lifted rule (`what` or `duty`).
        apart_from: A pattern of parts that do not count, such as idioms, or None.
        unless: A pattern that the sentence must not have, or None.
        under: A pattern of the line above the list that has the sentence, or None if it needs no list.
    """

    section: str
    roles: frozenset[str]
    sentence: Pattern
    apart_from: Pattern | None
    unless: Pattern | None
    under: Pattern | None

    def found_in(self, sentence: bytes, *, count_max: int) -> list[dict[str, str]]:
        """Return the named groups of each match of the rule in a sentence; empty if the sentence does not match."""
        own = sentence
        if self.apart_from and self.apart_from.is_in(sentence):
            own = self.apart_from.without(sentence)
        groups = self.sentence.groups(own, count_max=count_max)
        # `unless` comes last: few sentences match, so most are never searched for it.
        return [] if groups and self.unless and self.unless.is_in(sentence) else groups


@dataclass(frozen=True, slots=True, kw_only=True)
class Clearing:
    """The parts of a tool's calls that folds clear.

    Attributes:
        keep_last: The number of newest calls whose steps stay as they are, if there is room.
        never_clear: Results stay whole, and their steps are not merged into a summary, if there is room.
        clear_inputs: Long texts in the arguments of the calls are also cut.
    """

    keep_last: int = 0
    never_clear: bool = False
    clear_inputs: bool = False


ORDINARY = Clearing()  # for tools that no rule names


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """A compression profile: which lines of a log matter, what is state, and how much of results is kept.

    Attributes:
        high: Rules for lines that matter (`high_importance`); the profile's own rules come first.
        low: Rules for lines that never matter, even if `high` matches them (`low_importance`).
        verbatim: Rules for lines that a mask keeps whole if they have room (`preserve_verbatim`).
        trim: The characters of a result that a mask keeps, by a pattern of the tool's name; the first match counts.
        trim_default: The characters that are kept for any other tool.
        clearing: The parts that folds clear, by a pattern of the tool's name; the first match counts.
        planning_tools: The names of the tools with which the assistant writes its plan. Folds keep the newest call.
        state: The rules that find entries of the state.
        images_keep_last: The pictures in results of tools that folds keep, the newest.
        own_size: The instructions of the patterns that a tenant wrote; 0 if the profile comes with the service.
        base: For a learned profile, the name of the profile that it was learned from; else empty.
    """

    name: str
    high: tuple[LineRule, ...]
    low: tuple[LineRule, ...]
    verbatim: tuple[LineRule, ...]
    trim: tuple[tuple[Pattern, int], ...]
    trim_default: int
    state: tuple[StateRule, ...]
    clearing: tuple[tuple[Pattern, Clearing], ...] = ()
    planning_tools: frozenset[str] = frozenset()
    images_keep_last: int = IMAGES_KEEP_LAST
    own_size: int = 0
    base: str = ""

    def trim_of(self, tool: str) -> int:
        """Return how many characters of a tool's result a mask keeps."""
        number = self.trim_rule_of(tool)
        return self.trim_default if number is None else self.trim[number][1]

    def clearing_of(self, tool: str) -> Clearing:
        """Return the rule that says which parts of a tool's calls folds clear."""
        data = tool.encode(errors="replace")
        return next((clearing for pattern, clearing in self.clearing if pattern.is_in(data)), ORDINARY)

    def trim_rule_of(self, tool: str) -> int | None:
        """Return the number of the rule in `trim` that applies to a tool; None if the default applies."""
        data = tool.encode(errors="replace")
        return next((number for number, (pattern, _) in enumerate(self.trim) if pattern.is_in(data)), None)


@cache
def profile(name: str) -> Profile:
    """Return a profile that comes with the service.

    Raises:
        KeyError: no such profile comes with the service.
        BadProfile: the profile's file is malformed.
    """
    return parse_profile(name, text_of(name))


@cache
def profile_names() -> tuple[str, ...]:
    """Return the names of the profiles that come with the service or that its operator installed."""
    return tuple(sorted({*_built_in_names(), *_installed_texts()}))


@cache
def _built_in_names() -> tuple[str, ...]:
    """Return the names of the profiles that come with the service: those of the YAML files in this folder."""
    return tuple(path.stem for path in _FOLDER.glob("*.yaml"))


@cache
def _installed_texts() -> dict[str, str]:
    """Return the texts of installed profiles by name. Entries that are not profiles are skipped with a warning."""
    texts: dict[str, str] = {}
    for name in installed_names("compression_profile"):
        own = installed(f"compression_profile.{name}")
        try:
            text = own() if own else ""
            if name in _built_in_names() or not _OWN_NAME.fullmatch(name):
                raise BadProfile("the name is malformed, or that of a profile that comes with the service")
            parse_profile(name, text)
        except Exception as error:
            _log.warning("profile skipped: it is not valid", extra={"profile": name, "why": str(error)})
        else:
            texts[name] = text
    return texts


def text_of(name: str) -> str:
    """Return the YAML of a profile that comes with the service.

    Raises:
        KeyError: no such profile comes with the service.
    """
    if name not in profile_names():
        raise KeyError(name)
    if name in _installed_texts():
        return _installed_texts()[name]
    return (_FOLDER / f"{name}.yaml").read_text("utf-8")


def parse_profile(name: str, text: str, *, is_own: bool = False) -> Profile:
    """Parse the YAML of a profile.

    Args:
        name: The name of the profile. The texts of errors begin with it.
        text: The YAML text, which may also be JSON.
        is_own: A tenant wrote the profile, so that stricter limits apply.

    Raises:
        BadProfile: the text is malformed, or too large.
    """
    try:
        _check_plain(name, text)
        document = yaml.load(text, _Loader)  # noqa: S506 - a safe one
    except (yaml.YAMLError, ValueError) as error:
        if isinstance(error, BadProfile):
            raise
        raise BadProfile(f"{name} is not valid YAML: {error}") from None
    if not isinstance(document, dict) or not document.keys() <= set(_KEYS):
        raise BadProfile(f"{name}: a profile may have only {', '.join(_KEYS)}")
    base = document.get("extends")
    if base is not None and (base == name or base not in profile_names()):
        raise BadProfile(
            f"{name}.extends must name another profile, one of: {', '.join(profile_names())} (got {reprlib.repr(base)})"
        )
    return _Reading(name, document, profile(base) if base else None, is_own=is_own).profile()


class _Loader(yaml.CSafeLoader):
    """Loads YAML whose scalars are texts or short numbers: no times, no base-60 numbers, and no very long numbers."""

    yaml_implicit_resolvers = {}  # noqa: RUF012 - PyYAML changes a copy


for _kind, _form, _first in (
    ("int", r"^-?(?:0|[1-9][0-9]{0,8})$", "-0123456789"),
    ("float", r"^-?[0-9]{0,9}\.[0-9]{1,9}$", "-.0123456789"),
    ("bool", r"^(?:true|false)$", "tf"),
):
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_kind}", re.compile(_form), list(_first))


def _check_plain(name: str, text: str) -> None:
    """Refuse YAML that expands to more than its text, before any object is built from it."""
    depth = 0
    for count, event in enumerate(yaml.parse(text, yaml.CSafeLoader)):
        if isinstance(event, yaml.NodeEvent) and event.anchor is not None:
            raise BadProfile(f"{name} must have no anchors or aliases")
        if getattr(event, "tag", None) is not None:
            raise BadProfile(f"{name} must have no tags")
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > _NESTING_MAX:
            raise BadProfile(f"{name} must not nest more than {_NESTING_MAX} deep")
        if count > _EVENTS_MAX:
            raise BadProfile(f"{name} must have at most {_EVENTS_MAX:,} texts, lists and mappings")


class _Reading:
    """A profile while its YAML is read; every error names the place in it."""

    def __init__(self, name: str, fields: dict[str, Any], base: Profile | None, *, is_own: bool) -> None:
        self._name, self._said, self._base, self._is_own = name, fields, base, is_own
        self._patterns, self._size = 0, 0
        self._words: dict[str, str] = {}
        for word, text in self._mapping("words").items():
            self._words[word] = self._with_words(f"words.{word}", text)  # a word may use the words above it

    def profile(self) -> Profile:
        """Return the profile that was read.

        Raises:
            BadProfile: the file is malformed.
        """
        base = self._base
        high = self._lines("high_importance", weight_default=0.5)
        own = {rule.kind for rule in high}
        trim = self._mapping("tool_output_trim")
        for tools, chars in trim.items():
            if isinstance(chars, bool) or not isinstance(chars, int) or not 0 <= chars <= TRIM_CHARS_MAX:
                raise BadProfile(
                    f"{self._name}.tool_output_trim.{tools} must be between 0 and {TRIM_CHARS_MAX:,} "
                    f"(got {reprlib.repr(chars)})"
                )
        trim_default = trim.pop("default", base.trim_default if base else 300)
        trims = tuple((self._pattern(f"tool_output_trim.{tools}", tools), chars) for tools, chars in trim.items())
        state = tuple(self._state(f"state[{number}]", item) for number, item in enumerate(self._list("state")))
        return Profile(
            name=self._name,
            # The rules of a profile for a kind replace those of its base.
            high=high + tuple(rule for rule in (base.high if base else ()) if rule.kind not in own),
            low=self._lines("low_importance") + (base.low if base else ()),
            verbatim=self._lines("preserve_verbatim") + (base.verbatim if base else ()),
            trim=trims + (base.trim if base else ()),
            trim_default=trim_default,
            clearing=self._clearing() + (base.clearing if base else ()),
            planning_tools=self._names("planning_tools") | (base.planning_tools if base else frozenset()),
            images_keep_last=self._images_keep_last(base),
            state=state + (base.state if base else ()),
            own_size=self._size if self._is_own else 0,
        )

    def _images_keep_last(self, base: Profile | None) -> int:
        """Read `images_keep_last`; a profile without it has that of its base.

        Raises:
            BadProfile: it is not a number from 0 to `IMAGES_KEEP_LAST_MAX`.
        """
        number = self._said.get("images_keep_last", base.images_keep_last if base else IMAGES_KEEP_LAST)
        if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number <= IMAGES_KEEP_LAST_MAX:
            raise BadProfile(
                f"{self._name}.images_keep_last must be between 0 and {IMAGES_KEEP_LAST_MAX:,} "
                f"(got {reprlib.repr(number)})"
            )
        return number

    def _clearing(self) -> tuple[tuple[Pattern, Clearing], ...]:
        """Read the rules of `tool_clearing`.

        Raises:
            BadProfile: a rule is malformed; the text names its place.
        """
        rules = []
        for tools, setting in self._mapping("tool_clearing").items():
            place = f"tool_clearing.{tools}"
            self._check(place, setting, set(), {field.name for field in fields(Clearing)})
            for name in ("never_clear", "clear_inputs"):
                if not isinstance(setting.get(name, False), bool):
                    raise BadProfile(f"{self._name}.{place}.{name} must be true or false")
            keep_last = setting.get("keep_last", 0)
            if isinstance(keep_last, bool) or not isinstance(keep_last, int) or not 0 <= keep_last <= KEEP_LAST_MAX:
                raise BadProfile(
                    f"{self._name}.{place}.keep_last must be between 0 and {KEEP_LAST_MAX} "
                    f"(got {reprlib.repr(keep_last)})"
                )
            rules.append((self._pattern(place, tools), Clearing(**setting)))
        return tuple(rules)

    def _lines(self, key: str, *, weight_default: float | None = None) -> tuple[LineRule, ...]:
        """Read the list of line rules at `key`.

        If `weight_default` is given, an entry may name a weight; without it, an entry may not.

        Raises:
            BadProfile: an entry is malformed; the text names its place.
        """
        rules = []
        for number, definition in enumerate(self._list(key)):
            place = f"{key}[{number}]"
            self._check(place, definition, {"kind", "of", "line"}, set() if weight_default is None else {"weight"})
            weight = definition.get("weight", weight_default or 0)
            if isinstance(weight, bool) or not isinstance(weight, int | float) or not 0 <= weight <= 1:
                raise BadProfile(f"{self._name}.{place}.weight must be between 0 and 1 (got {reprlib.repr(weight)})")
            line = self._text(f"{place}.line", definition["line"])
            rules.append(
                LineRule(
                    kind=self._text(f"{place}.kind", definition["kind"]),
                    roles=self._roles(place, definition["of"]),
                    line=self._pattern(f"{place}.line", line),
                    lines=self._pattern(f"{place}.line", rf"(?m)^[^\n]*?(?:{line})[^\n]*$"),
                    weight=float(weight),
                )
            )
        return tuple(rules)

    def _state(self, place: str, value: Any) -> StateRule:
        """Read one rule of the state at `place`.

        Raises:
            BadProfile: the rule is malformed, or lets other roles than user and system make a section that only these
                may.
        """
        self._check(place, value, {"section", "of", "sentence"}, {"apart_from", "unless", "under"})
        section, roles = value["section"], self._roles(place, value["of"])
        if section not in SECTIONS:
            raise BadProfile(
                f"{self._name}.{place}.section must be one of {', '.join(SECTIONS)} (got {reprlib.repr(section)})"
            )
        if section in _OF_PEOPLE and not roles <= {"user", "system"}:
            raise BadProfile(
                f"{self._name}.{place}.of must be user, system or both: only they make the section {section}"
            )
        return StateRule(
            section=section,
            roles=roles,
            sentence=self._any_of(f"{place}.sentence", value["sentence"]),
            apart_from=self._if_said(place, value, "apart_from"),
            unless=self._if_said(place, value, "unless"),
            under=self._if_said(place, value, "under"),
        )

    def _if_said(self, place: str, fields: dict[str, Any], key: str) -> Pattern | None:
        """Return the pattern of a rule at `key`, or None if the rule does not have it."""
        return self._any_of(f"{place}.{key}", fields[key]) if key in fields else None

    def _any_of(self, place: str, value: Any) -> Pattern:
        """Return one pattern made of a text or a list of texts, for letters of any case, with `{words}` filled in."""
        several = value if isinstance(value, list) else [value]
        if not several or len(several) > _RULES_MAX:
            raise BadProfile(f"{self._name}.{place} must be a pattern, or a list of 1 to {_RULES_MAX} patterns")
        pieces = []
        for number, item in enumerate(several):
            at = f"{place}[{number}]" if isinstance(value, list) else place
            piece = self._with_words(at, item)
            self._pattern(at, piece)  # compile each pattern by itself, so that an error names the pattern
            pieces.append(f"(?:{piece})")
        return self._pattern(place, "|".join(pieces), any_case=True)

    def _with_words(self, place: str, value: Any) -> str:
        """Return a pattern with each `{word}` replaced by the pattern that the word stands for."""
        chars = 0

        def piece(match: re.Match[str]) -> str:
            nonlocal chars
            if match[1] not in self._words:
                raise BadProfile(f"{self._name}.{place} names {match[0]}, which is not in `words`")
            chars += len(self._words[match[1]])
            if chars > _PATTERN_CHARS_MAX:  # words within words can make a pattern very long
                raise BadProfile(
                    f"{self._name}.{place} must have at most {_PATTERN_CHARS_MAX:,} characters, its words included"
                )
            return f"(?:{self._words[match[1]]})"

        return _WORD.sub(piece, self._text(place, value))

    def _pattern(self, place: str, text: str, *, any_case: bool = False) -> Pattern:
        """Compile a pattern, and add its size to the size of the profile.

        Raises:
            BadProfile: the pattern is malformed or too large, or the profile has too many or too large patterns.
        """
        bytes_max = _OWN_PATTERN_BYTES_MAX if self._is_own else _PATTERN_BYTES_MAX
        try:
            pattern = Pattern(text, any_case=any_case, bytes_max=bytes_max)
        except ValueError as error:
            raise BadProfile(f"{self._name}.{place} is not a valid RE2 pattern: {error}") from None
        self._patterns += 1
        self._size += pattern.size
        if self._is_own and (self._patterns > OWN_PATTERNS_MAX or self._size > OWN_SIZE_MAX):
            raise BadProfile(
                f"{self._name}.{place}: a profile may have {OWN_PATTERNS_MAX:,} patterns of {OWN_SIZE_MAX:,} "
                f"instructions together (with this pattern it has {self._patterns:,} of {self._size:,})"
            )
        return pattern

    def _list(self, key: str) -> list[Any]:
        """Return the list at a key of the profile; it is empty if the profile does not have the key.

        Raises:
            BadProfile: the value is not a list, or too long.
        """
        value = self._said.get(key, [])
        if not isinstance(value, list) or len(value) > _RULES_MAX:
            raise BadProfile(f"{self._name}.{key} must be a list of up to {_RULES_MAX} rules")
        return value

    def _names(self, key: str) -> frozenset[str]:
        """Return the list of names at a key of the profile; it is empty if the profile does not have the key.

        Raises:
            BadProfile: the value is not a list, or too long, or has something else than names.
        """
        return frozenset(self._text(f"{key}[{number}]", name) for number, name in enumerate(self._list(key)))

    def _mapping(self, key: str) -> dict[str, Any]:
        """Return the mapping at a key of the profile; it is empty if the profile does not have the key.

        Raises:
            BadProfile: the value is not a mapping with texts as keys, or too large.
        """
        value = self._said.get(key, {})
        if (
            not isinstance(value, Mapping)
            or len(value) > _RULES_MAX
            or not all(isinstance(statement, str) for statement in value)
        ):
            raise BadProfile(f"{self._name}.{key} must be a mapping with up to {_RULES_MAX} keys, all of them texts")
        return dict(value)

    def _check(self, place: str, value: Any, needed: set[str], others: set[str]) -> None:
        """Check that a rule is a mapping with all of the needed keys, and with no keys but these and the others.

        Raises:
            BadProfile: the rule has another form.
        """
        if not isinstance(value, dict) or not needed <= value.keys() <= needed | others:
            must = f"must have {', '.join(sorted(needed))}" if needed else ""
            may = f"may have {', '.join(sorted(others))}" if others else ""
            got = reprlib.repr(sorted(map(str, value)) if isinstance(value, dict) else value)
            raise BadProfile(f"{self._name}.{place}: a rule {', and '.join(filter(None, [must, may]))} (got {got})")

    def _roles(self, place: str, value: Any) -> frozenset[str]:
        """Return the roles of a rule, which are the words of a text.

        Raises:
            BadProfile: the value is not a text, or a word is not a role.
        """
        roles = value.split() if isinstance(value, str) else []
        if not roles or not set(roles) <= set(ROLES):
            raise BadProfile(f"{self._name}.{place}.of must name only {', '.join(ROLES)} (got {reprlib.repr(value)})")
        return frozenset(roles)

    def _text(self, place: str, value: Any) -> str:
        """Return a value that must be a text.

        Raises:
            BadProfile: the value is not a text, or is empty.
        """
        if not isinstance(value, str) or not value:
            raise BadProfile(f"{self._name}.{place} must be a text that is not empty (got {reprlib.repr(value)})")
        return value
