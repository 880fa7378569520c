"""The proto service `Knowledge`: one class of each noun, in a module of its own, makes one servicer.

To add a noun: a class of its RPCs like `MemoriesServicer`, which is a base here, and an argument that it reads.
"""

from __future__ import annotations

from context_service.agents.api import AgentsServicer
from context_service.agents.rules import Agents
from context_service.compiled_pages.api.definitions import DefinitionsServicer
from context_service.compiled_pages.api.pages import CompiledPagesServicer
from context_service.compiled_pages.rules.compile import Compiling
from context_service.compiled_pages.rules.definitions import Definitions
from context_service.compiled_pages.rules.pages import CompiledPages
from context_service.kernel.wire.node_names import NodeNames
from context_service.knowledge_bases.api import KnowledgeBasesServicer
from context_service.knowledge_bases.rules.bases import KnowledgeBases
from context_service.mcp_servers.api import McpServersServicer
from context_service.mcp_servers.rules import McpServers
from context_service.memories.api import MemoriesServicer
from context_service.memories.rules.consolidate import Consolidating
from context_service.memories.rules.memories import Memories
from context_service.memories.rules.recall import MemoryRecalling
from context_service.specialists.api import SpecialistsServicer
from context_service.specialists.rules import Specialists
from context_service.wiki.api import PagesServicer
from context_service.wiki.rules.pages import Pages


class KnowledgeServicer(
    MemoriesServicer,
    PagesServicer,
    AgentsServicer,
    KnowledgeBasesServicer,
    McpServersServicer,
    SpecialistsServicer,
    DefinitionsServicer,
    CompiledPagesServicer,
):
    """Answers the RPCs of `Knowledge`."""

    def __init__(
        self,
        memories: Memories,
        remembering: MemoryRecalling,
        consolidating: Consolidating,
        pages: Pages,
        agents: Agents,
        templates: Agents,
        bases: KnowledgeBases,
        mcp_servers: McpServers,
        specialists: Specialists,
        definitions: Definitions,
        compiling: Compiling,
        compiled: CompiledPages,
        names: NodeNames,
    ) -> None:
        self._memories = memories
        self._remembering = remembering
        self._consolidating = consolidating
        self._pages = pages
        self._agents = agents
        self._templates = templates
        self._bases = bases
        self._mcp_servers = mcp_servers
        self._specialists = specialists
        self._definitions = definitions
        self._compiling = compiling
        self._compiled = compiled
        self._names = names
