"""The proto service `Knowledge`: one class of each noun, in a module of its own, makes one servicer.

To add a noun: a class of its RPCs like `MemoriesServicer`, which is a base here, and an argument that it reads.
"""

from __future__ import annotations

from context_service.knowledge.agents import Agents
from context_service.knowledge.compiled_pages import CompiledPages
from context_service.knowledge.compiling import Compiling
from context_service.knowledge.consolidating import Consolidating
from context_service.knowledge.definitions import Definitions
from context_service.knowledge.knowledge_bases import KnowledgeBases
from context_service.knowledge.mcp_servers import McpServers
from context_service.knowledge.memories import Memories
from context_service.knowledge.pages import Pages
from context_service.knowledge.recalling import MemoryRecalling
from context_service.knowledge.specialists import Specialists
from context_service.servicers.agents import AgentsServicer
from context_service.servicers.compiled_pages import CompiledPagesServicer
from context_service.servicers.definitions import DefinitionsServicer
from context_service.servicers.knowledge_bases import KnowledgeBasesServicer
from context_service.servicers.mcp_servers import McpServersServicer
from context_service.servicers.memories import MemoriesServicer
from context_service.servicers.node_names import NodeNames
from context_service.servicers.pages import PagesServicer
from context_service.servicers.specialists import SpecialistsServicer


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
