"""Sessions of Strands Agents, and tools: what agents say is contexts, what they keep is working memory.

client = ContextClient()
agent = Agent(
session_manager=ContextSessionManager("session-1", client),
tools=tools(client, entity_node_id=entity_node_id),
)
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, Unpack
from uuid import UUID, uuid5

from strands.session.repository_session_manager import RepositorySessionManager
from strands.session.session_repository import SessionRepository
from strands.tools.tools import PythonAgentTool
from strands.types.exceptions import SessionException
from strands.types.session import Session, SessionAgent, SessionMessage, SessionType

from contextkeep.adapters._files import entity_of
from contextkeep.adapters._media import Contents, read_contents
from contextkeep.adapters._originals import restored_json, stored_json
from contextkeep.adapters._pieces import NOT_FOUND, Block, Pieces, compact, foreign_texts, is_redacted
from contextkeep.adapters._threads import joined
from contextkeep.adapters.functions import Bound, Function, functions
from contextkeep.client.sync.context import ContextClient
from contextkeep.errors import ContextNotFound, RecordExists, RecordNotFound
from contextkeep.ids import new_id
from contextkeep.inputs import ContextInput, ExternalId, PartInput, ToolCallInput, ToolResultInput
from contextkeep.memory_types import MemoryType
from contextkeep.values import ChatMessage, Part, Reasoning

if TYPE_CHECKING:
    from strands.multiagent import MultiAgentBase

SYSTEM = "strands"  # the system of the external id of an agent's messages: session and agent, with a slash between them
SESSION_SYSTEM = "strands-session"  # that all contexts of a session carry
_KEY = "strands"  # in metadata: what our words do not say
_PAGE = 500


class ContextSessionManager(RepositorySessionManager, SessionRepository):
    """A session that is kept here: the messages of each agent are a context, its state is a record."""

    def __init__(self, session_id: str, client: ContextClient) -> None:
        """Name a session, and begin it if it is new.

        Args:
            session_id: The caller's own.
            client: Client of the Context Service; the caller closes it.
        """
        self._client = client
        self._contexts: dict[tuple[str, str], str] = {}
        super().__init__(session_id=session_id, session_repository=self)

    def context_id(self, agent_id: str) -> str | None:
        """Return the id of an agent's context, for recall, windows and the console; None if it has no message."""
        return self._context_id(self.session_id, agent_id)

    def create_session(self, session: Session, **kwargs: Any) -> Session:
        """Begin a session; see Strands.

        Raises:
            SessionException: it already exists.
        """
        result = session.to_dict() | {"session_type": SessionType(session.session_type).value}
        try:
            self._insert(session.session_id, "session", result)
        except RecordExists as error:
            raise SessionException(f"Session {session.session_id} already exists") from error
        return session

    def read_session(self, session_id: str, **kwargs: Any) -> Session | None:
        """Return a session, or None."""
        result = self._fetched(session_id, "session")
        return None if result is None else Session.from_dict(result)

    def delete_session(self, session_id: str, **kwargs: Any) -> None:
        """Delete a session with the messages and states of its agents.

        Raises:
            SessionException: the session, agent or message does not exist.
        """
        if self._fetched(session_id, "session") is None:
            raise SessionException(f"Session {session_id} does not exist")
        for context in list(self._client.contexts.get_by_external_id(ExternalId(SESSION_SYSTEM, session_id))):
            self._client.contexts.delete(context.context_id, now=True)
        for record in list(self._client.records.list_by_entity(_entity(session_id))):
            self._client.records.delete(record.working_memory_id, purge=True)
        self._contexts.clear()

    def create_agent(self, session_id: str, session_agent: SessionAgent, **kwargs: Any) -> None:
        """Write the state of an agent."""
        self._put(session_id, f"agent/{session_agent.agent_id}", session_agent.to_dict())

    def read_agent(self, session_id: str, agent_id: str, **kwargs: Any) -> SessionAgent | None:
        """Return the state of an agent, or None."""
        result = self._fetched(session_id, f"agent/{agent_id}")
        return None if result is None else SessionAgent.from_dict(result)

    def update_agent(self, session_id: str, session_agent: SessionAgent, **kwargs: Any) -> None:
        """Replace the stored state of an agent.

        Raises:
            SessionException: the session, agent or message does not exist.
        """
        before = self.read_agent(session_id, session_agent.agent_id)
        if before is None:
            raise SessionException(f"Agent {session_agent.agent_id} in session {session_id} does not exist")
        session_agent.created_at = before.created_at
        self._put(session_id, f"agent/{session_agent.agent_id}", session_agent.to_dict())

    def create_message(self, session_id: str, agent_id: str, session_message: SessionMessage, **kwargs: Any) -> None:
        """Append a message; the same one again is written once."""
        self._append(session_id, agent_id, session_message, message_id=str(session_message.message_id))

    def read_message(self, session_id: str, agent_id: str, message_id: int, **kwargs: Any) -> SessionMessage | None:
        """Return a message, or None."""
        result = self._find(session_id, agent_id, message_id)
        return None if result is None else self._message_of(result)

    def update_message(self, session_id: str, agent_id: str, session_message: SessionMessage, **kwargs: Any) -> None:
        """Replace a message, as a guardrail does; the old message is no longer read or found.

        Raises:
            SessionException: the session, agent or message does not exist.
        """
        before = self._find(session_id, agent_id, session_message.message_id)
        context_id = self._context_id(session_id, agent_id)
        if before is None or context_id is None:
            raise SessionException(f"Message {session_message.message_id} does not exist")
        session_message.created_at = self._message_of(before).created_at
        # In this order: if the call breaks off in between, there are two, and the newer one is read.
        self._append(session_id, agent_id, session_message, message_id=f"{session_message.message_id}/{new_id()}")
        self._client.contexts.retract_messages(context_id, [before.message_id])

    def list_messages(
        self, session_id: str, agent_id: str, limit: int | None = None, offset: int = 0, **kwargs: Any
    ) -> list[SessionMessage]:
        """Return the messages of an agent in their order, from a place on."""
        context_id = self._context_id(session_id, agent_id)
        if context_id is None:
            if self.read_agent(session_id, agent_id) is None:
                raise SessionException(f"There is no agent {agent_id} in session {session_id}")
            return []
        try:
            messages = list(self._client.contexts.list_messages(context_id, seq_from=offset + 1, page_size=_PAGE))
        except ContextNotFound:
            self._contexts.clear()
            return []
        newest = {_place_of(item): item.seq for item in messages if _WORDS.rest(item) is not None}
        items = [
            self._message_of(message)
            for message in sorted(messages, key=lambda row: (_place_of(row), row.seq))
            if _place_of(message) >= offset
            and (_WORDS.rest(message) is None or newest[_place_of(message)] == message.seq)
        ]
        return items if limit is None else items[:limit]

    def _message_of(self, message: ChatMessage) -> SessionMessage:
        """Return the message of a session with the bytes of its files."""
        return _message_of(message, read_contents(self._client, message))

    def create_multi_agent(self, session_id: str, multi_agent: MultiAgentBase, **kwargs: Any) -> None:
        """Write the state of a graph or swarm."""
        self._put(session_id, f"multi-agent/{multi_agent.id}", multi_agent.serialize_state())

    def read_multi_agent(self, session_id: str, multi_agent_id: str, **kwargs: Any) -> dict[str, Any] | None:
        """Return the state of a graph or swarm, or None."""
        return self._fetched(session_id, f"multi-agent/{multi_agent_id}")

    def update_multi_agent(self, session_id: str, multi_agent: MultiAgentBase, **kwargs: Any) -> None:
        """Replace the stored state of a graph or swarm.

        Raises:
            SessionException: the session, agent or message does not exist.
        """
        if self.read_multi_agent(session_id, multi_agent.id) is None:
            raise SessionException(f"MultiAgent state {multi_agent.id} in session {session_id} does not exist")
        self._put(session_id, f"multi-agent/{multi_agent.id}", multi_agent.serialize_state())

    def _append(self, session_id: str, agent_id: str, item: SessionMessage, *, message_id: str) -> None:
        """Append a message of an agent to its context, and begin the context if there is none."""
        rest = item.to_dict()
        if rest.get("redact_message"):
            rest |= {"message": rest["redact_message"], "redact_message": None}
        message = rest["message"]
        receipt = self._client.contexts.send(
            _WORDS.message(
                rest, message.pop("content"), role=_role_of(message, item), message_id=message_id, agent_id=agent_id
            ),
            get_or_create=_name(session_id, agent_id),
            context=ContextInput(external_ids=[ExternalId(SESSION_SYSTEM, session_id)]),
            recall=False,
        )
        self._contexts[session_id, agent_id] = receipt.context_id

    def _find(self, session_id: str, agent_id: str, message_id: int) -> ChatMessage | None:
        """Return the newest version of a message, or None. An updated message is appended again with the same id."""
        context_id = self._context_id(session_id, agent_id)
        if context_id is None:
            return None
        newest = None
        for message in self._client.contexts.list_messages(context_id, seq_from=message_id + 1):
            rest = _WORDS.rest(message)
            if rest is not None and rest["message_id"] == message_id:
                newest = message
        return newest

    def _context_id(self, session_id: str, agent_id: str) -> str | None:
        """Return the context of an agent in a session, or None. A context that belongs to no user comes first."""
        if (session_id, agent_id) not in self._contexts:
            items = list(self._client.contexts.get_by_external_id(_name(session_id, agent_id)))
            if not items:
                return None
            self._contexts[session_id, agent_id] = min(items, key=lambda row: not row.owner_user_id).context_id
        return self._contexts[session_id, agent_id]

    def _fetched(self, session_id: str, name: str) -> dict[str, Any] | None:
        """Return the values of a stored JSON record, or None if there is none."""
        try:
            values: dict[str, Any] = restored_json(self._client.records.get(_record_id(session_id, name)).content)
        except RecordNotFound:
            return None
        return values

    def _put(self, session_id: str, name: str, values: Mapping[str, Any]) -> None:
        """Replace the values of a JSON record, or insert it if there is none."""
        try:
            self._client.records.update(_record_id(session_id, name), content=stored_json(values))
        except RecordNotFound:
            self._insert(session_id, name, values)

    def _insert(self, session_id: str, name: str, values: Mapping[str, Any]) -> None:
        """Insert a JSON record below the node that stands for the session."""
        self._client.records.insert(
            MemoryType.JSON,
            name,
            content=stored_json(values),
            working_memory_id=_record_id(session_id, name),
            entity_node_id=_entity(session_id),
        )


def tools(client: ContextClient, *, read_only: bool = False, **bound: Unpack[Bound]) -> list[PythonAgentTool]:
    """Return the functions of `contextkeep.adapters.functions` as tools for an agent of Strands.

    Args:
        client: Client of the Context Service; the caller closes it.
        read_only: Leave out those that write.
        **bound: What no model chooses: the fields of `Bound`.
    """
    return [_tool(function) for function in functions(client, read_only=read_only, **bound)]


def _tool(function: Function) -> PythonAgentTool:
    """Return a function as a tool of Strands, which reports an error as a result with the status `error`."""

    def run(tool_use: Any, **_: Any) -> Any:
        answer = function(**(tool_use["input"] or {}))
        status = "error" if "error" in answer else "success"
        return {"toolUseId": tool_use["toolUseId"], "status": status, "content": [{"json": answer}]}

    spec = {
        "name": function.name,
        "description": function.description,
        "inputSchema": {"json": function.parameters},
    }
    return PythonAgentTool(function.name, spec, run)


def _message_of(message: ChatMessage, contents: Contents) -> SessionMessage:
    """Return the message of a session, as it was; of one that others wrote, what Strands says for it."""
    rest = _WORDS.rest(message, contents)
    if rest is not None:
        return SessionMessage.from_dict(
            rest | {"message": rest["message"] | {"content": _WORDS.blocks(message, contents)}}
        )
    role = "assistant" if message.role == "assistant" else "user"
    said_at = (message.said_at or message.created_at).isoformat()
    return SessionMessage(
        message={"role": role, "content": [{"text": foreign_texts(message)}]},
        message_id=message.seq - 1,
        created_at=said_at,
        updated_at=said_at,
    )


def _place_of(message: ChatMessage) -> int:
    """Return which message of its agent it is, from 0."""
    rest = _WORDS.rest(message)
    return message.seq - 1 if rest is None else int(rest["message_id"])


def _role_of(message: Mapping[str, Any], item: SessionMessage) -> Literal["user", "assistant", "tool"]:
    if message["role"] == "assistant":
        return "assistant"
    return "tool" if any("toolResult" in block for block in item.to_message()["content"]) else "user"


def _piece(block: Block) -> tuple[PartInput, Block]:
    """Return our part for a block of content, and the rest of it."""
    match block:
        case {"text": str(text)} if text:
            del block["text"]
            return PartInput(text=text), block
        case {"toolUse": {"toolUseId": str(call_id), "name": str(name), "input": dict(arguments)} as use}:
            left = {key: value for key, value in use.items() if key not in ("toolUseId", "name", "input")}
            call = ToolCallInput(id=call_id, name=name, arguments=compact(arguments))
            return PartInput(tool_call=call), {"toolUse": left}
        case {"toolResult": {"toolUseId": str(call_id), "content": list(content)} as result}:
            left = {key: value for key, value in result.items() if key not in ("toolUseId", "content")}
            item = ToolResultInput(
                tool_call_id=call_id, content=_plain(content), is_error=result.get("status") == "error"
            )
            return PartInput(tool_result=item), {"toolResult": left}
        case {"reasoningContent": dict(reasoning)}:
            text = (reasoning.get("reasoningText") or {}).get("text") or ""
            return PartInput(reasoning=Reasoning(provider="strands", data_json=compact(block), text=text)), {}
    return PartInput(data=block, metadata=NOT_FOUND), {}


def _plain(content: list[Any]) -> Any:
    """Return a text alone as a text, so that it reads as one."""
    match content:
        case [{"text": str(text)}] if len(content[0]) == 1:
            return text
    return content


def _block(part: Part, left: Block) -> Block:
    """Return the block of content of a part that `_piece` made."""
    if part.tool_call is not None:
        call = part.tool_call
        use = {"toolUseId": call.id, "name": call.name, "input": call.arguments or {}}
        return {"toolUse": left["toolUse"] | use}
    if part.tool_result is not None:
        content = part.tool_result.content
        blocks = [{"text": content}] if isinstance(content, str) else content
        return {"toolResult": left["toolResult"] | {"toolUseId": part.tool_result.tool_call_id, "content": blocks}}
    if part.kind == "text":
        return {**left, "text": part.text}
    if part.reasoning is not None:
        thought: Block = json.loads(part.reasoning.data_json)
        return thought
    return {"text": "[redacted]"} if is_redacted(part) else part.data


_WORDS = Pieces(_KEY, part_of=_piece, block_of=_block, has_files=True)


def _entity(session_id: str) -> str:
    return entity_of(session_id, system=SESSION_SYSTEM)


def _record_id(session_id: str, name: str) -> UUID:
    """Return the id of a record, so that of two who write the first one there is one."""
    return uuid5(UUID(_entity(session_id)), name)


def _name(session_id: str, agent_id: str) -> ExternalId:
    return ExternalId(SYSTEM, joined(session_id, agent_id))
