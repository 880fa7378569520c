"""Composes the room history: opens its own parts, and returns its servicer and the parts that other rooms use."""

from __future__ import annotations

from collections.abc import Collection
from functools import partial

from context_service.entity_history.graph import GraphEvents
from context_service.entity_history.rules import EntityHistory
from context_service.history.api import ChatHistoryServicer
from context_service.history.pure.limits import HistoryLimits
from context_service.history.rules.assemble_context import AssembledNode, AssemblyQuestion, ContextAssembly
from context_service.history.rules.chat_history import ChatHistories
from context_service.history.rules.compile_pool import CompilePool
from context_service.history.rules.format_history import Formatting
from context_service.history.rules.trial import MappingTrials
from context_service.kernel.cel import ExpressionLimits
from context_service.kernel.dependencies import Dependencies, Room
from context_service.kernel.parts import File
from context_service.settings import Settings
from context_service.working_memory.room import FileContents
from contextkeep.context.v1.chat_history_pb2_grpc import add_ChatHistoryServicer_to_server
from service_runtime.grpc_server.server import Service
from service_runtime.rpc.principal import Principal

# What other rooms use.
__all__ = [
    "AssembledNode",
    "AssemblyQuestion",
    "CompilePool",
    "ContextAssembly",
    "chat_history_of",
    "history_limits_of",
]


def history_limits_of(settings: Settings) -> HistoryLimits:
    """Return the limits of mappings and of reading by them, from the settings."""
    return HistoryLimits(
        name_chars_max=settings.type_chars_max,
        mapping_bytes_max=settings.mapping_bytes_max,
        rules_max=settings.mapping_rules_max,
        mappings_max=settings.app_mappings_max,
        depth_max=settings.traverse_depth_max,
        sample_bytes_max=settings.node_data_bytes_max,
        sample_nesting_max=settings.json_nesting_max,
        sample_chars_max=settings.name_chars_max,
        expression=ExpressionLimits(
            length_max=settings.expression_chars_max, nesting_max=settings.expression_nesting_max
        ),
        symbols_max=settings.mapping_symbols_max,
        evaluation_steps_max=settings.evaluation_steps_max,
        evaluation_bytes_max=settings.evaluation_bytes_max,
        call_steps_max=settings.call_steps_max,
    )


def chat_history_of(deps: Dependencies) -> Room[ChatHistoryServicer]:
    """Return the servicer of histories; it needs no connections of its own."""
    limits = history_limits_of(deps.settings)
    contents = FileContents(deps.records, deps.storage)

    async def files_of(record_ids: Collection[str], principal: Principal) -> dict[str, File]:
        stored = await contents.files_of(record_ids, principal=principal)
        return {record_id: stored_file.file for record_id, stored_file in stored.items()}

    servicer = ChatHistoryServicer(
        ChatHistories(deps.graph, deps.mappings, limits, files_of=files_of),
        deps.assembly,
        MappingTrials(deps.graph, deps.mappings, limits),
        EntityHistory(GraphEvents(deps.graph), deps.actions),
        deps.mappings,
        deps.names,
        Formatting(contents),
    )
    service = Service(
        full_name="contextkeep.context.v1.ChatHistory",
        add=partial(add_ChatHistoryServicer_to_server, servicer),
        checks=[deps.schema_ready, deps.entity_ready],
    )
    return Room(servicer, service)
