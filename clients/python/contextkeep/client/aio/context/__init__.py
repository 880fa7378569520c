"""The client of the Context Service. Each RPC is a method of a noun, in the module of that noun."""

from __future__ import annotations

from contextkeep.client import _aio_io as io
from contextkeep.client import _base as base
from contextkeep.client.aio._gen.agent_templates import AgentTemplates
from contextkeep.client.aio._gen.agents import Agents
from contextkeep.client.aio._gen.compiled_pages import CompiledPages
from contextkeep.client.aio._gen.context_settings import ContextSettings
from contextkeep.client.aio._gen.definitions import Definitions
from contextkeep.client.aio._gen.erasures import Erasures
from contextkeep.client.aio._gen.holds import Holds
from contextkeep.client.aio._gen.jobs import Jobs
from contextkeep.client.aio._gen.keys import Keys
from contextkeep.client.aio._gen.mappings import Mappings
from contextkeep.client.aio._gen.mcp_servers import McpServers
from contextkeep.client.aio._gen.pages import Pages
from contextkeep.client.aio._gen.profiles import Profiles
from contextkeep.client.aio._gen.specialists import Specialists
from contextkeep.client.aio._gen.tools import Tools
from contextkeep.client.aio.client import AsyncClient, NounOf
from contextkeep.client.aio.context.archives import Archives
from contextkeep.client.aio.context.artifacts import Artifacts
from contextkeep.client.aio.context.blobs import Blobs
from contextkeep.client.aio.context.contexts import Contexts
from contextkeep.client.aio.context.history import History
from contextkeep.client.aio.context.knowledge_bases import KnowledgeBases
from contextkeep.client.aio.context.memories import Memories
from contextkeep.client.aio.context.operations import Operations
from contextkeep.client.aio.context.query import Query
from contextkeep.client.aio.context.records import Records
from contextkeep.client.aio.context.source_tests import SourceTests
from contextkeep.client.aio.context.tasks import Tasks
from contextkeep.client.aio.context.uploads import Uploads
from contextkeep.client.aio.context.windows import Windows
from contextkeep.context.v1.administration_pb2_grpc import AdministrationStub
from contextkeep.context.v1.agent_templates_pb2_grpc import AgentTemplatesStub
from contextkeep.context.v1.agents_pb2_grpc import AgentsStub
from contextkeep.context.v1.artifacts_pb2_grpc import ArtifactsStub
from contextkeep.context.v1.chat_history_pb2_grpc import ChatHistoryStub
from contextkeep.context.v1.compiled_pages_pb2_grpc import CompiledPagesStub
from contextkeep.context.v1.context_query_pb2_grpc import ContextQueryStub
from contextkeep.context.v1.context_settings_pb2_grpc import ContextSettingsStub
from contextkeep.context.v1.context_windows_pb2_grpc import (
    CheckpointsStub,
    CompressionProfilesStub,
    FoldingStub,
    ForksStub,
    PackingStub,
    UsageStub,
    WindowsStub,
)
from contextkeep.context.v1.contexts_pb2_grpc import ContextsStub
from contextkeep.context.v1.definitions_pb2_grpc import DefinitionsStub
from contextkeep.context.v1.erasures_pb2_grpc import ErasuresStub
from contextkeep.context.v1.knowledge_bases_pb2_grpc import KnowledgeBasesStub
from contextkeep.context.v1.mcp_servers_pb2_grpc import McpServersStub
from contextkeep.context.v1.memories_pb2_grpc import MemoriesStub
from contextkeep.context.v1.observing_pb2_grpc import ObservingStub
from contextkeep.context.v1.pages_pb2_grpc import PagesStub
from contextkeep.context.v1.source_tests_pb2_grpc import SourceTestsStub
from contextkeep.context.v1.specialists_pb2_grpc import SpecialistsStub
from contextkeep.context.v1.summaries_pb2_grpc import SummariesStub
from contextkeep.context.v1.tasks_pb2_grpc import TasksStub
from contextkeep.context.v1.tools_pb2_grpc import ToolsStub
from contextkeep.context.v1.transfer_pb2_grpc import TransferStub
from contextkeep.context.v1.working_memory_pb2_grpc import WorkingMemoryStub


class AsyncContextClient(AsyncClient):
    """Working memory, contexts and chat history: a noun for each kind of thing, `client.windows.pack(window_id)`.

    The channel is opened by the first call and closed by `close` or the `with` block. An async client belongs to one
    event loop; a sync client may be shared by threads. Neither survives a fork: make clients in the child.

    Args:
        address: `host:port`, `http://host:port` or `https://host[:port]`. Default: `CONTEXT_SERVICE_ADDRESS`, or
            127.0.0.1:50051.
        api_key: None: `CONTEXT_SERVICE_API_KEY`, else the key of a stack that `make run` runs there. Empty: send no
            key.
        app_id: The app to write records for and to look up mappings in. Default: `CONTEXT_SERVICE_APP_ID`.
        timeout_s: Deadline of a unary call, its retries included.
        idle_timeout_s: Seconds after which a stream fails if no data arrive.
        retries: Attempts after the first, for calls that failed with `Unavailable` and may be repeated. 0 means none.
        root_certificates: PEM of the authorities to trust for `https://`. Default: grpc's own list.
        client_certificate: Certificate chain and private key, PEM, for servers that ask for one.

    Raises:
        InvalidArgument: the address, the key or a number is malformed.
    """

    records = NounOf(Records)
    blobs = NounOf(Blobs)
    uploads = NounOf(Uploads)
    contexts = NounOf(Contexts)
    tasks = NounOf(Tasks)
    artifacts = NounOf(Artifacts)
    windows = NounOf(Windows)
    profiles = NounOf(Profiles)
    memories = NounOf(Memories)
    pages = NounOf(Pages)
    agents = NounOf(Agents)
    agent_templates = NounOf(AgentTemplates)
    knowledge_bases = NounOf(KnowledgeBases)
    mcp_servers = NounOf(McpServers)
    context_settings = NounOf(ContextSettings)
    specialists = NounOf(Specialists)
    definitions = NounOf(Definitions)
    compiled_pages = NounOf(CompiledPages)
    query = NounOf(Query)
    source_tests = NounOf(SourceTests)
    history = NounOf(History)
    mappings = NounOf(Mappings)
    tools = NounOf(Tools)
    keys = NounOf(Keys)
    operations = NounOf(Operations)
    jobs = NounOf(Jobs)
    archives = NounOf(Archives)
    erasures = NounOf(Erasures)
    holds = NounOf(Holds)

    def __init__(
        self,
        address: str | None = None,
        *,
        api_key: str | None = None,
        app_id: str | None = None,
        timeout_s: float = base.TIMEOUT_S,
        idle_timeout_s: float = base.IDLE_TIMEOUT_S,
        retries: int = base.RETRIES,
        root_certificates: bytes | None = None,
        client_certificate: tuple[bytes, bytes] | None = None,
    ) -> None:
        result = base.address_of(address, variable=base.CONTEXT_ADDRESS_VARIABLE, default=base.CONTEXT_ADDRESS_DEFAULT)
        result, credential = base.credential_of(api_key, result)
        connection = io.Connection(
            result,
            service="context-service",
            stubs=[
                WorkingMemoryStub,
                ChatHistoryStub,
                ContextsStub,
                CheckpointsStub,
                CompressionProfilesStub,
                FoldingStub,
                ForksStub,
                PackingStub,
                UsageStub,
                WindowsStub,
                TasksStub,
                ArtifactsStub,
                MemoriesStub,
                SummariesStub,
                PagesStub,
                AgentsStub,
                AgentTemplatesStub,
                KnowledgeBasesStub,
                McpServersStub,
                ContextSettingsStub,
                SpecialistsStub,
                DefinitionsStub,
                CompiledPagesStub,
                ContextQueryStub,
                SourceTestsStub,
                ToolsStub,
                AdministrationStub,
                TransferStub,
                ErasuresStub,
                ObservingStub,
            ],
            root_certificates=root_certificates,
            client_certificate=client_certificate,
        )
        options = base.options_of(
            credential=credential, app_id=app_id, timeout_s=timeout_s, idle_timeout_s=idle_timeout_s, retries=retries
        )
        super().__init__(connection, options)
