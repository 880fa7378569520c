"""Values of compiled pages and facets, and the checks of added facets."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple
from uuid import UUID, uuid5

import orjson

from context_service.compiled_pages.pure.definition import TRUST, FacetKind, check_heading, check_slug
from context_service.kernel.graph_values import WholeNode
from contextkeep.errors import InvalidArgument
from service_runtime.auth import Principal
from service_runtime.checks import check_between, check_long_text, check_text, utf8_bytes

FACET_BYTES_MAX = 64 * 1024
PROBLEMS_MAX = 20  # that are reported for a page
_ERROR_CHARS_MAX = 500
_SOURCE_BYTES = 120  # of a line's source, or of a node that a page depends on

PUT_MAX = 32  # facets that are put on a page
LABEL_CHARS_MAX, URI_CHARS_MAX = 500, 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Audience:
    """Who compiles: keys with the same bounds."""

    id: UUID
    is_unbound: bool

    @classmethod
    def of(cls, principal: Principal) -> Audience:
        """Return the audience of a principal."""
        return cls(id=uuid5(principal.tenant_id, f"audience {principal.bounds}"), is_unbound=not principal.bounds)

    def page_id(self, definition_name: str, node_id: str) -> UUID:
        """Return the id of a page: there is one for each definition, node and audience."""
        return uuid5(self.id, json.dumps([definition_name, node_id]))


@dataclass(frozen=True, slots=True, kw_only=True)
class Compiled:
    """What a compile found of a node.

    Attributes:
        page: None: there is none, or it is not known.
        trouble: Why it is not known; empty: it is.
    """

    definition_name: str
    definition_version: int
    app_id: str
    node_id: str
    page: CompiledPage | None
    trouble: str = ""


@dataclass(slots=True, kw_only=True)
class Counts:
    """What a compile did so far."""

    compile_id: UUID
    nodes_read: int = 0
    changes_read: int = 0
    written: int = 0
    unchanged: int = 0
    removed: int = 0
    failed: int = 0
    definition_name: str = ""  # that is compiled of all nodes now
    problems: Sequence[Problem] = ()  # since the last report
    is_done: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedSource:
    """What a facet is from that was put."""

    label: str = ""
    uri: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class FacetInput:
    """A facet to add to a page. An empty text deletes it."""

    slug: str
    heading: str
    kind: FacetKind | None
    text: str
    confidence: float
    as_of: datetime | None
    fresh_until: datetime | None
    source: NamedSource

    def check(self) -> None:
        """Check the fields of a facet.

        Raises:
            InvalidArgument, LimitExceeded: the field is named.
        """
        check_slug("facet.slug", self.slug)
        if not self.text:
            return
        check_heading("facet.heading", self.heading)
        if self.kind is None:
            raise InvalidArgument("facet.kind is required", field="facet.kind")
        check_long_text("facet.text", self.text, size_bytes_max=FACET_BYTES_MAX)
        if not self.text.strip():
            raise InvalidArgument("facet.text must not be blank", field="facet.text")
        check_between("facet.confidence", self.confidence, 0, 1)
        check_text("facet.source_label", self.source.label, chars_max=LABEL_CHARS_MAX)
        check_text("facet.source_uri", self.source.uri, chars_max=URI_CHARS_MAX)
        if not (self.source.label or self.source.uri):
            raise InvalidArgument("give facet.source_label, facet.source_uri or both", field="facet.source_label")


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptFacet:
    """A facet of a page, as the caller may see it."""

    slug: str
    heading: str
    kind: FacetKind
    text: str
    is_cut: bool
    confidence: float
    as_of: datetime
    fresh_until: datetime | None
    stale: Sequence[str]  # why it is out of date
    sources: Sequence[FacetNode | NamedSource]
    bundles: Sequence[str]
    is_declassified: bool
    definition_version: int
    compile_id: UUID | None  # None if it was added by PutFacet
    put_by: str
    written_at: datetime

    @property
    def trust(self) -> int:
        """How far it is trusted."""
        return TRUST[self.kind]


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptPage:
    """A page, as the caller may see it."""

    page_id: UUID
    definition_name: str
    definition_version: int
    node_id: UUID
    node_type: str
    title: str
    aliases: Sequence[str]
    stale: Sequence[str]  # why it is out of date
    graph_name: str
    agent_bundle_id: str
    app_id: str
    compile_id: UUID
    compiled_at: datetime
    created_at: datetime
    facets: Sequence[KeptFacet] = field(default_factory=tuple)  # none in lists


class FacetNode(NamedTuple):
    """A node that has a line in a facet, and the edge that the walk reached it by."""

    node_id: str
    node_version: int
    edge_id: str  # empty: the node is the page's own
    edge_version: int


class Problem(NamedTuple):
    """A rule that failed on a node, or a walk that came too far."""

    rule: str
    node_id: str
    error: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PageFacet:
    """A part of a page, as it is now."""

    slug: str
    heading: str
    kind: FacetKind
    text: str
    is_cut: bool
    confidence: float
    as_of: datetime
    fresh_until: datetime | None
    sources: Sequence[FacetNode]
    bundles: Sequence[str]  # of all that was read, sorted
    is_declassified: bool

    @property
    def trust(self) -> int:
        """How far it is trusted."""
        return TRUST[self.kind]


@dataclass(frozen=True, slots=True, kw_only=True)
class CompiledPage:
    """A page, as it is now."""

    node: WholeNode
    title: str
    aliases: Sequence[str]
    facets: Sequence[PageFacet]
    depends_on: dict[str, int]  # nodes, and for what of them
    owners: dict[str, str]  # of those of them that are a user's

    @property
    def size_bytes(self) -> int:
        """Return about what it takes to write it."""
        of_facets = sum(utf8_bytes(facet.text) + _SOURCE_BYTES * len(facet.sources) for facet in self.facets)
        return of_facets + _SOURCE_BYTES * len(self.depends_on)

    @property
    def sha256(self) -> bytes:
        """What it is known by: the same again is written no second time."""
        node = self.node
        named = (node.graph_name, node.agent_bundle_id, node.entity["type"], self.title, self.aliases)
        said = (named, self.facets, sorted(self.depends_on.items()), sorted(self.owners.items()))
        return hashlib.sha256(orjson.dumps(said, default=list)).digest()


@dataclass(slots=True)
class CompiledNode:
    """What came of a node.

    Attributes:
        page: None: it has none, or it `failed`.
        failed: A rule of the page itself failed: nothing is known of the page.
        problems: The first of them.
        problems_left_out: How many more there are.
    """

    page: CompiledPage | None = None
    failed: bool = False
    problems: list[Problem] = field(default_factory=list)
    problems_left_out: int = 0

    def note(self, rule: str, node_id: str, error: object) -> None:
        """Add a problem."""
        if len(self.problems) == PROBLEMS_MAX:
            self.problems_left_out += 1
        else:
            self.problems.append(Problem(rule, node_id, stored(str(error))[:_ERROR_CHARS_MAX]))


def stored(text: str) -> str:
    """Return a text as Postgres can store it."""
    return text.replace("\0", "").encode(errors="replace").decode()


@dataclass(frozen=True, slots=True, kw_only=True)
class CompileRequest:
    """The pages to compile: all of a definition, or those of some nodes. With neither: the pages that changed."""

    definition_name: str = ""
    node_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SaidByFacet:
    """What a facet says to a question."""

    page_id: UUID
    definition_name: str
    definition_version: int
    node_id: UUID
    node_type: str
    title: str
    slug: str
    heading: str
    kind: FacetKind
    confidence: float
    as_of: datetime
    fresh_until: datetime | None
    compiled_at: datetime
    stale: Sequence[str]  # why it is out of date
    is_put: bool
    compile_id: UUID | None
    put_by: str
    ordinal: int
    text: str
    score: float
    cosine: float | None  # cosine similarity to the question; None if either has no embedding

    @property
    def trust(self) -> int:
        """How far it is trusted."""
        return TRUST[self.kind]


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundFacets:
    """The matching facets, best first."""

    facets: Sequence[SaidByFacet]
    by_meaning: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeFacet:
    """All that a facet says."""

    title: str
    heading: str
    text: str
    is_cut: bool
    as_of: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class PageCounts:
    """How many pages were written, were as they are, went, and could not be made."""

    written: int
    unchanged: int
    removed: int
    failed: int


class Unseen(NamedTuple):
    """A page whose node a compile of all nodes did not come by."""

    page_id: UUID
    node_id: UUID
    audience_id: UUID


class MentioningPage(NamedTuple):
    """A page that says something of a user's nodes, or may."""

    page_id: UUID
    is_own: bool  # it is the page of such a node
    may_be_own: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Walls:
    """What policies read."""

    graph_name: str
    agent_bundle_id: str
    app_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CompileProgress:
    """How far compiling is.

    Attributes:
        place: Behind which changes are not compiled yet; empty: it is not known.
        definitions: The version of each definition, by name, that was compiled for all nodes.
    """

    place: str
    definitions: Mapping[str, int]
