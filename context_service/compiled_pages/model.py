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
from service_runtime.rpc.principal import Principal
from service_runtime.values.checks import check_between, check_long_text, check_text, utf8_bytes

FACET_BYTES_MAX = 64 * 1024
PROBLEMS_MAX = 20  # problems that are reported for a page
_ERROR_CHARS_MAX = 500
_SOURCE_BYTES = 120  # estimated size of a line's source, or of a dependency of a page

PUT_MAX = 32  # facets that are put on a page
LABEL_CHARS_MAX, URI_CHARS_MAX = 500, 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Audience:
    """The bounds of the keys that compile a page: keys with the same bounds share pages."""

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
    """The result of compiling the page of one node.

    Attributes:
        page: The page; None if the node has none, or if compiling failed.
        trouble: Why compiling failed; empty if it did not.
    """

    definition_name: str
    definition_version: int
    app_id: str
    node_id: str
    page: CompiledPage | None
    trouble: str = ""


@dataclass(slots=True, kw_only=True)
class Counts:
    """What a compile has done so far, as numbers."""

    compile_id: UUID
    nodes_read: int = 0
    changes_read: int = 0
    written: int = 0
    unchanged: int = 0
    removed: int = 0
    failed: int = 0
    definition_name: str = ""  # the definition that is being compiled for all nodes
    problems: Sequence[Problem] = ()  # since the last report
    is_done: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedSource:
    """The source that the author of an added facet names."""

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
            InvalidArgument: a field is malformed.
            LimitExceeded: a field is too long or too large.
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
    compile_id: UUID | None  # None if the facet was added by PutFacet
    put_by: str
    written_at: datetime

    @property
    def trust(self) -> int:
        """Return how far the facet is trusted, as a number that search ranks by."""
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
    edge_id: str  # empty for the page's own node
    edge_version: int


class Problem(NamedTuple):
    """A rule that failed on a node, or a walk that reached a limit."""

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
    bundles: Sequence[str]  # the agent bundles of all nodes that were read, sorted
    is_declassified: bool

    @property
    def trust(self) -> int:
        """Return how far the facet is trusted, as a number that search ranks by."""
        return TRUST[self.kind]


@dataclass(frozen=True, slots=True, kw_only=True)
class CompiledPage:
    """A page, as it is now."""

    node: WholeNode
    title: str
    aliases: Sequence[str]
    facets: Sequence[PageFacet]
    depends_on: dict[str, int]  # by node: bits for the parts of it that the page depends on
    owners: dict[str, str]  # by node: the user that owns it; nodes without an owner are left out

    @property
    def size_bytes(self) -> int:
        """Return about how many bytes it takes to write the page."""
        of_facets = sum(utf8_bytes(facet.text) + _SOURCE_BYTES * len(facet.sources) for facet in self.facets)
        return of_facets + _SOURCE_BYTES * len(self.depends_on)

    @property
    def sha256(self) -> bytes:
        """Return a hash of the page: a page with the same hash as the stored one is not written again."""
        node = self.node
        named = (node.graph_name, node.agent_bundle_id, node.entity["type"], self.title, self.aliases)
        hashed = (named, self.facets, sorted(self.depends_on.items()), sorted(self.owners.items()))
        return hashlib.sha256(orjson.dumps(hashed, default=list)).digest()


@dataclass(slots=True)
class CompiledNode:
    """The page that the rules made of a node, and the problems that they had.

    Attributes:
        page: The page; None if the node has none, or if `failed`.
        failed: Whether a rule of the page itself failed, so that it is not known whether the node has a page.
        problems: The first problems, up to a limit.
        problems_left_out: The number of problems after the limit.
    """

    page: CompiledPage | None = None
    failed: bool = False
    problems: list[Problem] = field(default_factory=list)
    problems_left_out: int = 0

    def note(self, rule: str, node_id: str, error: object) -> None:
        """Add a problem; after the limit, only count it."""
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
class FacetPassage:
    """A passage of a facet that a search found."""

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
    aliases: Sequence[str] = ()  # the other names of the page

    @property
    def trust(self) -> int:
        """Return how far the facet is trusted, as a number that search ranks by."""
        return TRUST[self.kind]


@dataclass(frozen=True, slots=True, kw_only=True)
class FacetResults:
    """The matching facets, best first."""

    facets: Sequence[FacetPassage]
    by_meaning: bool
    error: str = ""  # why embeddings were not compared, although an embedder is configured


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeFacet:
    """A facet with its whole text."""

    title: str
    heading: str
    text: str
    is_cut: bool
    as_of: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class PageCounts:
    """The numbers of pages that were written, unchanged, removed, and could not be made."""

    written: int
    unchanged: int
    removed: int
    failed: int


class Unseen(NamedTuple):
    """A page whose node was not among the nodes of a compile of all nodes."""

    page_id: UUID
    node_id: UUID
    audience_id: UUID


class MentioningPage(NamedTuple):
    """A page that has, or may have, text from a user's nodes."""

    page_id: UUID
    is_own: bool  # it is the page of such a node
    may_be_own: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Walls:
    """The columns that row-level security compares with the bounds of a caller."""

    graph_name: str
    agent_bundle_id: str
    app_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CompileProgress:
    """How far a compile has come.

    Attributes:
        place: The position in the list of changes up to which all is compiled; empty if it is not known.
        definitions: The version of each definition, by name, that was compiled for all nodes.
    """

    place: str
    definitions: Mapping[str, int]


class LastCompile(NamedTuple):
    """The last compile of keys with the same bounds: how far it came in the list of changes, and when."""

    place: str
    compiled_at: datetime


class Freshness(NamedTuple):
    """How new the compiled pages are: the time of the last compile, and why they may be older than the graph."""

    as_of: datetime | None
    reason: str
