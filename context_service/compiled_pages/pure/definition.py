"""Definitions of pages: their rules, how they are checked and compiled, and the stored versions.

A definition is written as a mapping is: expressions over nodes, in the same language, within the same limits.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from enum import Enum
from typing import get_args

import orjson

from context_service.history.pure.limits import HistoryLimits
from context_service.history.pure.mappings import Rule, compile_rule
from context_service.kernel.cel import CompileBudget, ResultType
from context_service.kernel.graph_values import ENTITY_FIELDS, Direction
from contextkeep.errors import InvalidArgument
from service_runtime.values.checks import check_at_most, check_bytes, check_count, check_text, check_texts

DEFINITIONS_MAX = 200  # names of definitions in a tenant
VERSIONS_MAX = 50  # versions of a definition that are kept, besides the approved one
RULES_BYTES_MAX = 64 * 1024  # size of the rules as JSON
FACETS_MAX = 32
NAME_CHARS_MAX = 128  # length of a definition's name
SLUG_CHARS_MAX = 64
HEADING_CHARS_MAX = 200
WALL_CHARS_MAX = 512  # length of the names of graphs and apps
DEPTH_DEFAULT = 3
VERSION_MAX = 2**31 - 1

_SLUG = re.compile(r"[a-z0-9]+(?:[-_.][a-z0-9]+)*")

# The fields that expressions may read of a page's own node. Its input and output (`io`) are not among them, because
# they take another call for each node.
_PLAIN = ENTITY_FIELDS - {"io"}
_OF_PAGE = frozenset({"entity"})
_OF_FACET = frozenset({"entity", "edge", "root"})
_EDGE_FIELDS = frozenset({"type", "depth", "data"})


class FacetKind(Enum):
    """The kind of statement that a facet makes, such as a fact."""

    OPERATIONAL = "operational"
    RELATIONSHIP = "relationship"
    COMPILED = "compiled"
    ACTIVITY = "activity"
    KB = "kb"
    EXTERNAL = "external"


TRUST = {
    FacetKind.OPERATIONAL: 5,
    FacetKind.RELATIONSHIP: 4,
    FacetKind.COMPILED: 3,
    FacetKind.ACTIVITY: 2,
    FacetKind.KB: 2,
    FacetKind.EXTERNAL: 1,
}


class DefinitionState(Enum):
    """The state of a version of a definition."""

    DRAFT = "DRAFT"
    APPROVED = "APPROVED"
    RETIRED = "RETIRED"


@dataclass(frozen=True, slots=True, kw_only=True)
class FacetWalk:
    """Which nodes a facet reads; its fields have the same meaning as those of a mapping's rules."""

    edge_types: tuple[str, ...] = ()
    direction: Direction = "out"
    depth_max: int = DEPTH_DEFAULT
    entity_types: tuple[str, ...] = ()
    include_start: bool = False
    include_archived: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class FacetRules:
    """A part of a page, as its author writes it. The fields are CEL unless they say otherwise."""

    slug: str  # a fixed text, not a CEL expression, as are the next four fields
    heading: str
    kind: FacetKind
    walk: FacetWalk | None = None  # None reads only the page's own node
    declassify: bool = False
    when: str = ""
    text: str = ""
    confidence: str = ""
    as_of: str = ""
    time_to_live: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DefinitionRules:
    """A definition, as its author writes it."""

    node_type: str
    graph_name: str
    app_id: str = ""
    when: str = ""
    title: str = ""
    aliases: str = ""
    facets: tuple[FacetRules, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """A version of a definition, as it is stored."""

    name: str
    version: int
    state: DefinitionState
    rules: DefinitionRules
    created_by: str
    created_at: datetime
    approved_by: str = ""
    approved_at: datetime | None = None
    retired_at: datetime | None = None
    imported_json: str | None = None  # the import that wrote the row, and the authors that its archive names


@dataclass(frozen=True, slots=True, kw_only=True)
class CompiledFacet:
    """A facet's rules; None stands for an empty expression."""

    rules: FacetRules
    place: str  # "definition.facets[0]"
    when: Rule | None
    text: Rule
    confidence: Rule | None
    as_of: Rule | None
    time_to_live: Rule | None

    @property
    def read(self) -> frozenset[tuple[str, ...]]:
        """Return the paths that the expressions read: `(variable, field)`, or `(variable,)` for a whole variable."""
        rules = (self.when, self.text, self.confidence, self.as_of, self.time_to_live)
        # Paths into a field are cut after the field, because the graph returns whole fields of a node.
        return frozenset(path[:2] for rule in rules if rule is not None for path in rule.expression.paths)

    def reads(self, variable: str, field: str) -> bool:
        """Return whether an expression may read a field of a variable."""
        return (variable, field) in self.read or (variable,) in self.read


@dataclass(frozen=True, slots=True, kw_only=True)
class CompiledDefinition:
    """Compiled rules, ready to make pages."""

    rules: DefinitionRules
    when: Rule | None
    title: Rule
    aliases: Rule | None
    facets: tuple[CompiledFacet, ...]


def check_name(name: str) -> None:
    """Refuse a name that a definition cannot have.

    Raises:
        InvalidArgument: the name is blank.
        LimitExceeded: the name is too long.
    """
    check_text("name", name, chars_max=NAME_CHARS_MAX, required=True)
    if not name.strip():
        raise InvalidArgument("name must not be blank", field="name")


def check_rules(rules: DefinitionRules, limits: HistoryLimits) -> None:
    """Check the fields of a definition before compiling any of its rules.

    Raises:
        InvalidArgument: a field is malformed.
        LimitExceeded: a field is too long or too large.
    """
    check_count("definition.facets", len(rules.facets), FACETS_MAX)
    check_bytes("definition", len(orjson.dumps(rules)), RULES_BYTES_MAX)
    if any("\0" in text for text in _texts(rules)):
        raise InvalidArgument("definition must not have NUL characters", field="definition")
    check_text("definition.node_type", rules.node_type, chars_max=limits.name_chars_max, required=True)
    check_text("definition.graph_name", rules.graph_name, chars_max=WALL_CHARS_MAX)
    check_text("definition.app_id", rules.app_id, chars_max=WALL_CHARS_MAX)
    _check_required("definition.title", rules.title)
    if not rules.facets:
        raise InvalidArgument("definition.facets must have at least one facet", field="definition.facets")
    slugs: set[str] = set()
    for number, facet in enumerate(rules.facets):
        place = f"definition.facets[{number}]"
        check_slug(f"{place}.slug", facet.slug)
        if facet.slug in slugs:
            raise InvalidArgument(
                f"{place}.slug must differ from those of other facets (got {facet.slug[:100]!r} again)",
                field=f"{place}.slug",
            )
        slugs.add(facet.slug)
        check_heading(f"{place}.heading", facet.heading)
        _check_required(f"{place}.text", facet.text)
        if facet.walk:
            _check_walk(f"{place}.walk", facet.walk, limits)


def check_slug(field: str, slug: str) -> None:
    """Refuse a slug that a facet cannot have.

    Raises:
        InvalidArgument: the slug is malformed.
        LimitExceeded: the slug is too long.
    """
    check_text(field, slug, chars_max=SLUG_CHARS_MAX, required=True)
    if not _SLUG.fullmatch(slug):
        raise InvalidArgument(
            f"{field} must be lowercase letters and digits, with single marks (- _ .) between them, such as"
            f" renewal-date (got {slug[:100]!r})",
            field=field,
        )


def check_heading(field: str, heading: str) -> None:
    """Refuse a heading that a facet cannot have.

    Raises:
        InvalidArgument: the heading is malformed.
        LimitExceeded: the heading is too long.
    """
    check_text(field, heading, chars_max=HEADING_CHARS_MAX, required=True)
    if not heading.strip() or "\n" in heading:
        raise InvalidArgument(f"{field} must be one line of text that is not blank", field=field)


def compile_definition(rules: DefinitionRules, budget: CompileBudget) -> CompiledDefinition:
    """Compile checked rules. Call this off the event loop.

    Raises:
        CompileStopped: the budget was stopped.
        InvalidArgument: an expression is wrong; the violation names the field, the line and the column.
        LimitExceeded: an expression is too large, or all expressions together are.
    """
    entity = {"entity": _PLAIN}

    def of_page(name: str, source: str, result: ResultType) -> Rule | None:
        return compile_rule(f"definition.{name}", source, result, budget, variables=_OF_PAGE, fields=entity)

    title = of_page("title", rules.title, "string")
    assert title is not None, "check_rules requires a title"
    return CompiledDefinition(
        rules=rules,
        when=of_page("when", rules.when, "bool"),
        title=title,
        aliases=of_page("aliases", rules.aliases, "list"),
        facets=tuple(
            _compile_facet(f"definition.facets[{number}]", facet, budget) for number, facet in enumerate(rules.facets)
        ),
    )


def _compile_facet(place: str, facet: FacetRules, budget: CompileBudget) -> CompiledFacet:
    """Compile the expressions of a facet; an optional expression that is empty becomes None.

    Args:
        place: The path of the facet in the definition, for errors.
        facet: The checked rules of the facet.
        budget: The limits that all expressions of the definition share.
    """
    of_entity = ENTITY_FIELDS if facet.walk else _PLAIN
    known = {"entity": of_entity, "root": _PLAIN, "edge": _EDGE_FIELDS}

    def compiled(name: str, result: ResultType) -> Rule | None:
        source: str = getattr(facet, name)
        return compile_rule(f"{place}.{name}", source, result, budget, variables=_OF_FACET, fields=known)

    text = compiled("text", "string")
    assert text is not None, "check_rules requires a text"
    return CompiledFacet(
        rules=facet,
        place=place,
        when=compiled("when", "bool"),
        text=text,
        confidence=compiled("confidence", "any"),
        as_of=compiled("as_of", "any"),
        time_to_live=compiled("time_to_live", "any"),
    )


def _check_walk(place: str, walk: FacetWalk, limits: HistoryLimits) -> None:
    """Refuse a walk with an unknown direction, or with types or a depth beyond the limits.

    Raises:
        InvalidArgument: a field is malformed.
        LimitExceeded: the walk is too deep, or names too many types.
    """
    for name in ("edge_types", "entity_types"):
        types: Sequence[str] = getattr(walk, name)
        check_texts(f"{place}.{name}", types, count_max=limits.types_max, chars_max=limits.name_chars_max)
    if walk.direction not in get_args(Direction):
        raise InvalidArgument(
            f"{place}.direction must be one of {', '.join(get_args(Direction))} (got {walk.direction[:100]!r})",
            field=f"{place}.direction",
        )
    if walk.depth_max < 1:
        raise InvalidArgument(
            f"{place}.depth_max must be between 1 and {limits.depth_max} (got {walk.depth_max})",
            field=f"{place}.depth_max",
        )
    check_at_most(f"{place}.depth_max", walk.depth_max, limits.depth_max)


def _check_required(field: str, source: str) -> None:
    """Refuse an expression that is empty though the rules need it."""
    if not source:
        raise InvalidArgument(f"{field} is required", field=field)


def _texts(rules: DefinitionRules) -> Iterator[str]:
    """Yield all texts of the rules, with those of the facets and their walks."""
    values: list[DefinitionRules | FacetRules] = [rules, *rules.facets]
    for value in values:
        yield from (text for field in fields(value) if isinstance(text := getattr(value, field.name), str))
    for facet in rules.facets:
        if facet.walk:
            yield from (*facet.walk.edge_types, *facet.walk.entity_types)
