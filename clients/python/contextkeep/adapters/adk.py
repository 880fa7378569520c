"""Sessions, artifacts and memory of Google's ADK: contexts, files of working memory, and recall.

    client = AsyncContextClient()
    runner = Runner(
        app_name="shop",
        agent=agent,
        session_service=ContextSessionService(client),
        artifact_service=ContextArtifactService(client),
        memory_service=ContextMemoryService(client),
    )

An event becomes one of our messages (texts, calls, responses, thoughts). Other fields of ADK are stored as metadata, so
that they come back unchanged. The state of a session follows from its events: it is a view of the log.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Literal
from uuid import UUID, uuid5

from google.adk.artifacts import BaseArtifactService
from google.adk.artifacts.artifact_util import is_artifact_ref, parse_artifact_uri
from google.adk.artifacts.base_artifact_service import ArtifactVersion
from google.adk.errors.already_exists_error import AlreadyExistsError
from google.adk.errors.input_validation_error import InputValidationError
from google.adk.errors.session_not_found_error import SessionNotFoundError
from google.adk.events import Event
from google.adk.memory import BaseMemoryService
from google.adk.memory.base_memory_service import SearchMemoryResponse
from google.adk.memory.memory_entry import MemoryEntry
from google.adk.sessions import BaseSessionService, Session
from google.adk.sessions.base_session_service import GetSessionConfig, ListSessionsResponse
from google.genai.types import Blob, Content, Part
from pydantic_core import to_jsonable_python

from contextkeep.adapters._files import entity_of
from contextkeep.adapters._media import NO_CONTENTS, Contents, FileCache
from contextkeep.adapters._originals import (
    has_original,
    message_with_original,
    original_of,
    restored_json,
    stored_json,
)
from contextkeep.adapters._pieces import BLANK, NOT_FOUND, Block, Pieces, compact, is_redacted
from contextkeep.adapters._threads import Thread, joined
from contextkeep.client.aio.context import AsyncContextClient
from contextkeep.errors import (
    ContextNotFound,
    MessageExists,
    MessageNotFound,
    RecordExists,
    RecordNotFound,
    VersionConflict,
)
from contextkeep.ids import new_id
from contextkeep.inputs import ContextInput, ExternalId, MessageInput, PartInput, ToolCallInput, ToolResultInput
from contextkeep.memory_types import MemoryType
from contextkeep.values import ChatMessage, Context, Reasoning, Record
from contextkeep.values import Part as OurPart

SYSTEM = "google-adk"  # the system of the external id of a session: app, user and session, with slashes between them
USER_SYSTEM = "google-adk-user"  # the system of an external id that all sessions of a user have
APP_SYSTEM = "google-adk-app"  # the system of an external id that all sessions of an app have
MEMORY_SYSTEM = "google-adk-memory"  # the system of the external id of the context with the memory of a user
_KEY = "google_adk"  # key in the metadata, for fields of ADK that our messages do not have
_BEGUN = "begun"  # the key of the first state of a session in the metadata of the message that begins it
_KEPT_BYTES_MAX = 48 * 1024  # bytes of a state in the metadata, which may have 64 KiB
_PAGE = 500
_LAG_MAX = 50  # messages after the last stored state, before the state is stored again
_ATTEMPTS = 200  # attempts to change a record; each failed one means that another change of it was written
_REFERENCES_MAX = 5  # length of a chain of artifacts that refer to artifacts
_MEMORIES_MAX = 10


class ContextSessionService(BaseSessionService):
    """A session service of ADK that keeps each session as a context, which searches find by words and by meaning."""

    def __init__(self, client: AsyncContextClient, *, as_users: bool = False) -> None:
        """Take a client. Makes no call.

        Args:
            client: Client of the Context Service; the caller closes it.
            as_users: Call for the user of each session, who then owns its context. This needs the scope `delegate`, or
                a key of that user. If False, the contexts have no owner, and the user's name is a part of their names.
        """
        self._client = client
        self._as_users = as_users
        self._threads: dict[tuple[str, str, str], Thread] = {}
        self._files: dict[str, FileCache] = {}

    async def create_session(
        self,
        *,
        app_name: str,
        user_id: str,
        state: dict[str, Any] | None = None,
        session_id: str | None = None,
    ) -> Session:
        """Create a session; see ADK.

        Raises:
            AlreadyExistsError: the session exists.
        """
        session_id = (session_id or "").strip() or new_id()
        scopes = _scopes(to_jsonable_python(state or {}, serialize_unknown=True))
        begun = datetime.now(UTC)
        first = _beginning(scopes["session"], begun)
        about = {"app_name": app_name, "user_id": user_id, "session_id": session_id}
        try:
            receipt = await self._client.contexts.send(
                first,
                get_or_create=_session_name(app_name, user_id, session_id),
                context=ContextInput(
                    external_ids=[_user_name(app_name, user_id), ExternalId(APP_SYSTEM, app_name)],
                    metadata={_KEY: about},
                ),
                recall=False,
                subject_user_id=self._subject(user_id),
            )
        except MessageExists:
            receipt = None
        if receipt is None or not receipt.created:
            raise AlreadyExistsError(f"Session with id {session_id} already exists.")
        await self._set_scopes(app_name, user_id, scopes)
        shared = await self._shared(app_name, user_id)
        return Session(
            app_name=app_name,
            user_id=user_id,
            id=session_id,
            state=scopes["session"] | shared[user_id],
            last_update_time=begun.timestamp(),
        )

    async def get_session(
        self, *, app_name: str, user_id: str, session_id: str, config: GetSessionConfig | None = None
    ) -> Session | None:
        """Return a session with its events, or with those that `config` wants; None if there is no such session."""
        session_id = session_id.strip()
        result, shared = await asyncio.gather(
            self._thread(app_name, user_id, session_id).context(), self._shared(app_name, user_id)
        )
        if result is None:
            return None
        try:
            messages = await self._read(result, user_id, config)
            state, updated = await self._state(result, user_id, messages)
        except ContextNotFound:
            return None
        contents = await self._files_of(user_id).contents_of(messages)
        events = [
            event_of(message, app_name=app_name, contents=contents) for message in messages if not _is_begun(message)
        ]
        return Session(
            app_name=app_name,
            user_id=user_id,
            id=session_id,
            events=events,
            state=state | shared[user_id],
            last_update_time=updated,
        )

    async def list_sessions(self, *, app_name: str, user_id: str | None = None) -> ListSessionsResponse:
        """Return the sessions of a user or of all users without their events, the one that was used last at the end."""
        if user_id is None and self._as_users:
            raise InputValidationError("sessions that are their users' are listed for one of them")
        name = ExternalId(APP_SYSTEM, app_name) if user_id is None else _user_name(app_name, user_id)
        subject = self._subject(user_id or "")
        contexts = self._client.contexts.get_by_external_id(name, subject_user_id=subject, page_size=_PAGE)
        items = [item async for item in contexts]
        shared = await self._shared(app_name, user_id)
        sessions = []
        for context in items:
            about = context.metadata.get(_KEY)
            if not isinstance(about, dict) or "session_id" not in about:
                continue
            try:
                state, updated = await self._state(context, about["user_id"], [])
            except ContextNotFound:
                continue  # deleted meanwhile
            sessions.append(
                Session(
                    app_name=app_name,
                    user_id=about["user_id"],
                    id=about["session_id"],
                    state=state | shared.get(about["user_id"], shared[""]),
                    last_update_time=updated,
                )
            )
        sessions.sort(key=lambda row: (row.last_update_time, row.user_id, row.id))
        return ListSessionsResponse(sessions=sessions)

    async def delete_session(self, *, app_name: str, user_id: str, session_id: str) -> None:
        """Delete the context of a session; the states of the user and the app stay."""
        await self._thread(app_name, user_id, session_id.strip()).delete()

    async def get_user_state(self, *, app_name: str, user_id: str) -> dict[str, Any]:
        """Return the state of a user; the names are without the prefix `user:`."""
        shared = await self._shared(app_name, user_id)
        return {key.removeprefix("user:"): value for key, value in shared[user_id].items() if key.startswith("user:")}

    async def append_event(self, session: Session, event: Event) -> Event:
        """Write an event, and return it; a repeat with the same event writes nothing.

        Raises:
            SessionNotFoundError: the session was deleted.
        """
        if event.partial:
            return event
        result = _dumped(event)
        await self._append(session, event, message_of(event))
        await self._set_scopes(session.app_name, session.user_id, _scopes(result["actions"].get("state_delta", {})))
        if any(item is event for item in session.events):
            return event
        appended = await super().append_event(session, event)
        session.last_update_time = event.timestamp
        return appended

    async def _append(self, session: Session, event: Event, message: MessageInput) -> None:
        """Write the message of an event to the context of its session.

        Raises:
            SessionNotFoundError: the session has no context.
        """
        thread = self._thread(session.app_name, session.user_id, session.id)
        for _ in range(2):  # a context that was deleted meanwhile is looked for once more
            context_id = await thread.context_id()
            if context_id is None:
                break
            try:
                await self._client.contexts.send(
                    message, context_id, recall=False, subject_user_id=self._subject(session.user_id)
                )
            except ContextNotFound:
                thread.forget()
            else:
                return
        raise SessionNotFoundError(f"Session {session.id} not found.")

    async def _read(self, context: Context, user_id: str, config: GetSessionConfig | None) -> list[ChatMessage]:
        """Return the requested messages, oldest first."""
        newest = config.num_recent_events if config else None
        after = config.after_timestamp if config else None
        messages: list[ChatMessage] = []
        if newest == 0:
            return messages
        is_all = newest is None and after is None
        listed = self._client.contexts.list_messages(
            context.context_id,
            newest_first=not is_all,
            page_size=min(newest or _PAGE, _PAGE),
            subject_user_id=self._subject(user_id),
        )
        async for message in listed:
            if after is not None and _time_of(message) < after:
                break
            messages.append(message)
            if len(messages) == newest:
                break
        await listed.aclose()
        return messages if is_all else messages[::-1]

    async def _state(
        self, context: Context, user_id: str, newest: Sequence[ChatMessage]
    ) -> tuple[dict[str, Any], float]:
        """Return the state of a session, and the time when it was used last.

        The state of an earlier message is stored in the context's metadata, unless it is too large. The changes of all
        later messages are applied to it.

        Args:
            context: The context of the session.
            user_id: The user of the session.
            newest: The newest messages, if some were read already, the oldest first.
        """
        about = context.metadata.get(_KEY, {})
        kept = about.get("kept", {"seq": 0, "state": {}, "time": context.created_at.timestamp()})
        seq, state, updated = kept["seq"], dict(restored_json(kept["state"])), kept["time"]
        before = newest[0].seq - 1 if newest else context.last_seq
        behind: list[ChatMessage] = []
        if seq < before:
            messages = self._client.contexts.list_messages(
                context.context_id,
                seq_from=seq + 1,
                seq_to=before,
                page_size=_PAGE,
                subject_user_id=self._subject(user_id),
            )
            behind = [message async for message in messages]
        last_seq = seq
        later = [message for message in [*behind, *newest] if message.seq > seq]
        contents = await self._files_of(user_id).contents_of(filter(has_original, later))
        for message in later:
            state |= _delta_of(message, contents)
            updated, last_seq = _time_of(message), message.seq
        if last_seq - seq > _LAG_MAX:
            kept = {"seq": last_seq, "state": stored_json(state), "time": updated}
            await self._keep(context, user_id, about | {"kept": kept})
        return state, updated

    async def _keep(self, context: Context, user_id: str, about: dict[str, Any]) -> None:
        """Store a state in the context's metadata, unless it is too large; then each reader reads the events again."""
        if len(compact(about)) <= _KEPT_BYTES_MAX:
            await self._client.contexts.update(
                context.context_id,
                metadata=context.metadata | {_KEY: about},
                subject_user_id=self._subject(user_id),
            )

    async def _shared(self, app_name: str, user_id: str | None) -> dict[str, dict[str, Any]]:
        """Return the states of an app and its users, by user: each has the state of the app and that of the user.

        The state of the app alone is at the empty name.

        Args:
            app_name: Name of the app.
            user_id: The user; None for all users.
        """
        names = [] if user_id is None else ["state", f"state/{user_id}"]
        records = self._client.records.list_by_entity(
            entity_of(app_name, system=APP_SYSTEM), names=names, name_prefix="state", with_content=True
        )
        by_name = {record.name: restored_json(record.content) async for record in records}
        of_app = {f"app:{key}": value for key, value in by_name.pop("state", {}).items()}
        values = {
            name.removeprefix("state/"): of_app | {f"user:{key}": value for key, value in state.items()}
            for name, state in by_name.items()
        }
        return {"": of_app} | ({user_id: of_app} if user_id is not None else {}) | values

    async def _set_scopes(self, app_name: str, user_id: str, scopes: Mapping[str, Mapping[str, Any]]) -> None:
        for name, delta in (("state", scopes["app"]), (f"state/{user_id}", scopes["user"])):
            if delta:
                await self._merge(entity_of(app_name, system=APP_SYSTEM), name, delta)

    async def _merge(self, entity_node_id: str, name: str, delta: Mapping[str, Any]) -> None:
        """Change some keys of a JSON record, and create it if it is missing; concurrent changes are not lost.

        Raises:
            VersionConflict: other callers changed the record during each attempt.
        """
        record_id = uuid5(UUID(entity_node_id), name)
        for _ in range(_ATTEMPTS):
            try:
                record = await self._client.records.get(record_id)
                await self._client.records.update(
                    record_id,
                    content=stored_json(restored_json(record.content) | delta),
                    expected_version=record.version,
                )
            except RecordNotFound:
                try:
                    await self._client.records.insert(
                        MemoryType.JSON,
                        name,
                        content=stored_json(dict(delta)),
                        working_memory_id=record_id,
                        entity_node_id=entity_node_id,
                    )
                except RecordExists:
                    continue
                return
            except VersionConflict:
                continue
            else:
                return
        raise VersionConflict(f"others changed {name} {_ATTEMPTS} times")

    def _thread(self, app_name: str, user_id: str, session_id: str) -> Thread:
        """Return the thread of a session. Threads are cached, because each finds its context once."""
        key = (app_name, user_id, session_id)
        if key not in self._threads:
            if len(self._threads) >= 10_000:  # only ids: they are found again
                self._threads.clear()
            self._threads[key] = Thread(self._client, _session_name(*key), subject_user_id=self._subject(user_id))
        return self._threads[key]

    def _subject(self, user_id: str) -> str:
        return user_id if self._as_users else ""

    def _files_of(self, user_id: str) -> FileCache:
        """Return the cache of files: one for all users, or one for each that the service calls for."""
        subject = self._subject(user_id)
        if subject not in self._files:
            self._files = {subject: FileCache(self._client, subject_user_id=subject)}
        return self._files[subject]


class ContextArtifactService(BaseArtifactService):
    """An artifact service of ADK that keeps each version of an artifact as a file of working memory."""

    def __init__(self, client: AsyncContextClient) -> None:
        """Take a client. Makes no call.

        Args:
            client: Client of the Context Service; the caller closes it.
        """
        self._client = client

    async def save_artifact(
        self,
        *,
        app_name: str,
        user_id: str,
        filename: str,
        artifact: Part | dict[str, Any],
        session_id: str | None = None,
        custom_metadata: dict[str, Any] | None = None,
    ) -> int:
        """Write the next version of an artifact, and return its number, from 0."""
        part = Part.model_validate(artifact) if isinstance(artifact, dict) else artifact
        entity = _entity(app_name, user_id, filename, session_id)
        about: dict[str, Any] = {"custom_metadata": custom_metadata or {}}
        if part.inline_data is not None:
            content, media_type = part.inline_data.data or b"", part.inline_data.mime_type
            about |= {"kind": "inline_data", "display_name": part.inline_data.display_name, "mime_type": media_type}
        elif part.text is not None:
            content, media_type = part.text.encode(), "text/plain"
            about |= {"kind": "text", "mime_type": media_type}
        elif part.file_data is not None:
            if is_artifact_ref(part):
                _uri_of(part, app_name, user_id, session_id)
            content, media_type = part.file_data.model_dump_json(exclude_none=True).encode(), "application/json"
            about |= {"kind": "file_data", "mime_type": None if is_artifact_ref(part) else part.file_data.mime_type}
        else:
            raise InputValidationError("Not supported artifact type.")
        records = await self._versions(entity, filename, newest=1)
        version = _about(records[0])["version"] + 1 if records else 0
        while True:
            try:
                await self._client.blobs.upload(
                    content,
                    name=filename,
                    working_memory_id=_version_id(entity, filename, version),
                    entity_node_id=entity,
                    semantic_purpose="artifact",
                    content_type=media_type or "application/octet-stream",
                    metadata={_KEY: about | {"version": version}},
                )
            except RecordExists:  # another caller saved one first
                version += 1
            else:
                return version

    async def load_artifact(
        self,
        *,
        app_name: str,
        user_id: str,
        filename: str,
        session_id: str | None = None,
        version: int | None = None,
    ) -> Part | None:
        """Return a version of an artifact, or its newest; None if there is none."""
        for _ in range(_REFERENCES_MAX + 1):
            part = await self._load_version(_entity(app_name, user_id, filename, session_id), filename, version)
            if part is None or not is_artifact_ref(part):
                return part
            uri = _uri_of(part, app_name, user_id, session_id)
            filename, session_id, version = uri.filename, uri.session_id, uri.version
        raise InputValidationError(f"{filename} refers to an artifact that refers to another, too often")

    async def _load_version(self, entity: str, filename: str, version: int | None) -> Part | None:
        """Return a stored version of an artifact, or the newest; None if there is none. References are not followed."""
        record_id: str | UUID
        if version is None:
            newest = await self._versions(entity, filename, newest=1)
            if not newest:
                return None
            record_id = newest[0].working_memory_id
        else:
            record_id = _version_id(entity, filename, version)
        try:
            reader = await self._client.blobs.get(record_id)
        except RecordNotFound:
            return None
        async with reader:
            content = b"".join([chunk async for chunk in reader])
        about = _about(reader.record)
        if about["kind"] == "text":
            return Part(text=content.decode())
        if about["kind"] == "file_data":
            return Part.model_validate({"file_data": json.loads(content)})
        media_type = about["mime_type"]
        if not content and media_type == "application/octet-stream" and not about["display_name"]:
            return None  # ADK saves such an empty version to remove an artifact when it rewinds a session
        return Part(inline_data=Blob(data=content, mime_type=media_type, display_name=about["display_name"]))

    async def list_artifact_keys(self, *, app_name: str, user_id: str, session_id: str | None = None) -> list[str]:
        """Return the names of the artifacts of a user, and of a session."""
        entities = [_user_entity(app_name, user_id)]
        if session_id is not None:
            entities.append(_session_entity(app_name, user_id, session_id))
        names = set()
        for entity in entities:
            async for record in self._client.records.list_by_entity(
                entity, semantic_purposes=["artifact"], page_size=1_000
            ):
                names.add(record.name)
        return sorted(names)

    async def delete_artifact(
        self, *, app_name: str, user_id: str, filename: str, session_id: str | None = None
    ) -> None:
        """Remove all versions of an artifact for good."""
        for record in await self._versions(_entity(app_name, user_id, filename, session_id), filename):
            await self._client.records.delete(record.working_memory_id, purge=True)

    async def list_versions(
        self, *, app_name: str, user_id: str, filename: str, session_id: str | None = None
    ) -> list[int]:
        """Return the numbers of the versions of an artifact."""
        records = await self._versions(_entity(app_name, user_id, filename, session_id), filename)
        return sorted(_about(record)["version"] for record in records)

    async def list_artifact_versions(
        self, *, app_name: str, user_id: str, filename: str, session_id: str | None = None
    ) -> list[ArtifactVersion]:
        """Return the metadata of each version of an artifact."""
        records = await self._versions(_entity(app_name, user_id, filename, session_id), filename)
        return sorted(map(_artifact_version, records), key=lambda row: row.version)

    async def get_artifact_version(
        self,
        *,
        app_name: str,
        user_id: str,
        filename: str,
        session_id: str | None = None,
        version: int | None = None,
    ) -> ArtifactVersion | None:
        """Return the metadata of a version of an artifact, or of its newest; None if there is none."""
        entity = _entity(app_name, user_id, filename, session_id)
        if version is None:
            newest = await self._versions(entity, filename, newest=1)
            return _artifact_version(newest[0]) if newest else None
        try:
            record = await self._client.records.get(_version_id(entity, filename, version))
        except RecordNotFound:
            return None
        return _artifact_version(record)

    async def _versions(self, entity: str, filename: str, *, newest: int = 0) -> list[Record]:
        """Return the records of an artifact's versions, newest first: as many as `newest` says, or all if it is 0."""
        records: list[Record] = []
        listed = self._client.records.list_by_entity(
            entity, names=[filename], semantic_purposes=["artifact"], page_size=newest or 1_000
        )
        async for record in listed:
            records.append(record)
            if len(records) == newest:
                break
        await listed.aclose()
        return records


class ContextMemoryService(BaseMemoryService):
    """The memory of a user: a context with the messages of sessions that were added, searched by recall."""

    def __init__(self, client: AsyncContextClient, *, as_users: bool = False) -> None:
        """See `ContextSessionService`."""
        self._client = client
        self._as_users = as_users

    async def add_session_to_memory(self, session: Session) -> None:
        """Add the events of a session that are not there yet."""
        await self.add_events_to_memory(
            app_name=session.app_name, user_id=session.user_id, events=session.events, session_id=session.id
        )

    async def add_events_to_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        events: Sequence[Event],
        session_id: str | None = None,
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Add events that were not added before; events without content are left out."""
        items = [
            message_of(event, session=session_id or "") for event in events if event.content and event.content.parts
        ]
        await self._thread(app_name, user_id).append(items)

    async def add_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        memories: Sequence[MemoryEntry],
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Add facts about a user. An entry without an id is added again each time."""
        items = []
        for memory in memories:
            event = Event(author=memory.author or "user", content=memory.content, id=memory.id or "")
            if memory.timestamp:
                event.timestamp = datetime.fromisoformat(memory.timestamp).timestamp()
            items.append(message_of(event))
        await self._thread(app_name, user_id).append(items)

    async def search_memory(self, *, app_name: str, user_id: str, query: str) -> SearchMemoryResponse:
        """Return the passages that matter to a question, the most relevant first."""
        thread = self._thread(app_name, user_id)
        context_id = await thread.context_id()
        if context_id is None or not query.strip():
            return SearchMemoryResponse()
        recalled = await self._client.contexts.recall(
            context_id, query, items_max=_MEMORIES_MAX, subject_user_id=thread.subject_user_id
        )
        memories = [
            MemoryEntry(
                id=item.message_id,
                author=item.name or item.role,
                timestamp=item.said_at.isoformat(),
                content=Content(role="user" if item.role == "user" else "model", parts=[Part(text=item.text)]),
            )
            for item in recalled.items
        ]
        return SearchMemoryResponse(memories=memories)

    async def delete_memory(self, *, app_name: str, user_id: str, memory_id: str | None = None) -> None:
        """Hide an event for good: it is not found, and not added again."""
        thread = self._thread(app_name, user_id)
        context_id = await thread.context_id()
        if context_id is None or not memory_id:
            return
        try:
            await self._client.contexts.retract_messages(
                context_id, [memory_id], subject_user_id=thread.subject_user_id
            )
        except MessageNotFound:
            return

    def _thread(self, app_name: str, user_id: str) -> Thread:
        name = ExternalId(MEMORY_SYSTEM, joined(app_name, user_id))
        return Thread(self._client, name, title="Memory", subject_user_id=user_id if self._as_users else "")


def message_of(event: Event, *, session: str = "") -> MessageInput:
    """Return the message of an event; `event_of` makes it the same event again.

    Args:
        event: The event. Its temporary state (names that begin with `temp:`) is not stored.
        session: Name of the session in the message.
    """
    result = _dumped(event)
    return _WORDS.message(
        result,
        result["content"].pop("parts") if (result.get("content") or {}).get("parts") else [],
        role=_role_of(event),
        message_id=event.id,
        name=event.author,
        said_at=datetime.fromtimestamp(event.timestamp, UTC),
        session=session,
    )


def event_of(message: ChatMessage, *, app_name: str, contents: Contents = NO_CONTENTS) -> Event:
    """Return the event that a message was written for; for a message of another program, an event with its content.

    Args:
        message: A message of a context.
        app_name: The author of the event, if the message is an assistant's without a name.
        contents: The bytes of the files of the message, by the ids of their records.
    """
    result = _WORDS.rest(message, contents)
    if result is None:
        return Event(
            id=message.message_id,
            invocation_id=message.message_id,
            author="user" if message.role == "user" else message.name or app_name,
            timestamp=_time_of(message),
            content=Content(
                role="user" if message.role in ("user", "tool") else "model",
                parts=[Part.model_validate(block) for block in _in_their_words(message)],
            ),
        )
    if blocks := _WORDS.blocks(message, contents):
        result["content"]["parts"] = blocks
    return Event.model_validate(result)


def _dumped(event: Event) -> dict[str, Any]:
    """Return an event as JSON, without the temporary state that ADK does not store."""
    values: dict[str, Any] = event.model_dump(mode="json", exclude_none=True)
    delta = values.get("actions", {}).get("state_delta")
    if delta:
        values["actions"]["state_delta"] = {key: value for key, value in delta.items() if not key.startswith("temp:")}
    return values


def _role_of(event: Event) -> Literal["user", "assistant", "tool"]:
    if event.content and any(part.function_response for part in event.content.parts or ()):
        return "tool"
    return "user" if event.author == "user" else "assistant"


def _piece(block: Block) -> tuple[PartInput, Block]:
    """Return our part for a piece of content, and the rest of it."""
    match block:
        case {"text": str(text), "thought": True}:
            return PartInput(reasoning=Reasoning(provider="google", data_json=compact(block), text=text)), {}
        case {"text": str(text)} if text:
            del block["text"]
            return PartInput(text=text), block
        case {"function_call": {"id": str(call_id), "name": str(name), "args": dict(arguments)} as call} if call_id:
            item = ToolCallInput(id=call_id, name=name, arguments=compact(arguments))
            left = {key: value for key, value in call.items() if key not in ("id", "name", "args")}
            return PartInput(tool_call=item), block | {"function_call": left}
        case {"function_response": {"id": str(call_id), "response": dict(answer)} as response} if call_id:
            left = {key: value for key, value in response.items() if key not in ("id", "response")}
            result = ToolResultInput(tool_call_id=call_id, content=answer, is_error="error" in answer)
            return PartInput(tool_result=result), block | {"function_response": left}
    return PartInput(data=block, metadata=NOT_FOUND if "inline_data" in block else None), {}


def _block(part: OurPart, left: Block) -> Block:
    """Return the piece of content of a part that `_piece` made."""
    if part.tool_call is not None:
        call = part.tool_call
        values = {"id": call.id, "name": call.name, "args": call.arguments or {}}
        return {**left, "function_call": {**left.get("function_call", {}), **values}}
    if part.tool_result is not None:
        result = part.tool_result
        answered = {"id": result.tool_call_id, "response": result.content}
        return {**left, "function_response": {**left.get("function_response", {}), **answered}}
    if part.reasoning is not None:
        thought: dict[str, Any] = json.loads(part.reasoning.data_json)
        return thought
    if part.kind == "text":
        return {**left, "text": part.text}
    return {"text": "[redacted]"} if is_redacted(part) else part.data


_WORDS = Pieces(_KEY, part_of=_piece, block_of=_block, has_files=True)


def _in_their_words(message: ChatMessage) -> list[dict[str, Any]]:
    """Return the content of a message that another program wrote, as pieces of ADK's content."""
    blocks: list[dict[str, Any]] = [{"text": message.content}] if message.content else []
    for part in message.parts:
        if part.tool_call is not None:
            blocks.append(_block(part, {}))
        elif part.tool_result is not None:
            answer = part.tool_result.content
            response = answer if isinstance(answer, dict) else {"result": answer}
            values = {"id": part.tool_result.tool_call_id, "name": "", "response": response}
            blocks.append({"function_response": values})
        elif text := part.text or part.data_json or part.url:
            blocks.append({"text": text})
    return blocks


def _beginning(state: dict[str, Any], begun: datetime) -> MessageInput:
    """Return the message that begins a session. It is blank, so that no model reads the state, unless that is large."""

    def converted(copy: dict[str, Any]) -> MessageInput:
        kept = {_BEGUN: copy}
        if len(compact(kept)) <= _KEPT_BYTES_MAX:
            fields: dict[str, Any] = {"content": BLANK, "metadata": {_KEY: kept}}
        else:
            fields = {"parts": [PartInput(data=copy, metadata=NOT_FOUND)], "metadata": {_KEY: {_BEGUN: None}}}
        return MessageInput(role="system", message_id=f"{SYSTEM}-begun", said_at=begun, **fields)

    return message_with_original(state, converted)


def _is_begun(message: ChatMessage) -> bool:
    return _BEGUN in message.metadata.get(_KEY, {})


def _delta_of(message: ChatMessage, contents: Contents) -> Mapping[str, Any]:
    """Return the changes that a message makes in the state of its session."""
    if _is_begun(message):
        state: dict[str, Any] | None = original_of(message, contents)
        if state is None:
            state = message.parts[0].data if message.parts else message.metadata[_KEY][_BEGUN]
        return state or {}
    return _scopes(((_WORDS.rest(message, contents) or {}).get("actions") or {}).get("state_delta") or {})["session"]


def _scopes(delta: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the changes of a state by scope ("app", "user" and "session"), without prefixes; `temp:` is left out."""
    scopes: dict[str, dict[str, Any]] = {"app": {}, "user": {}, "session": {}}
    for key, value in delta.items():
        scope, colon, name = key.partition(":")
        if colon and scope in ("app", "user"):
            scopes[scope][name] = value
        elif not key.startswith("temp:"):
            scopes["session"][key] = value
    return scopes


def _time_of(message: ChatMessage) -> float:
    rest = _WORDS.rest(message)
    said_at = message.said_at or message.created_at
    return float(rest["timestamp"]) if rest and "timestamp" in rest else said_at.timestamp()


def _uri_of(part: Any, app_name: str, user_id: str, session_id: str | None) -> Any:
    """Return the parsed URI of the artifact that an artifact refers to.

    Raises:
        InputValidationError: the URI is malformed, or names an artifact of another app, user or session.
    """
    uri = parse_artifact_uri(part.file_data.file_uri)
    if not uri:
        raise InputValidationError(f"Invalid artifact reference URI: {part.file_data.file_uri}")
    if (uri.app_name, uri.user_id) != (app_name, user_id) or uri.session_id not in (None, session_id):
        raise InputValidationError("Artifact references must stay within the same app, user and session.")
    return uri


def _entity(app_name: str, user_id: str, filename: str, session_id: str | None) -> str:
    """Return the id of the entity that has an artifact: the user if its name begins with `user:`, else the session.

    Raises:
        InputValidationError: the artifact belongs to a session, and none is given.
    """
    if filename.startswith("user:"):
        return _user_entity(app_name, user_id)
    if session_id is None:
        raise InputValidationError("Session ID must be provided for session-scoped artifacts.")
    return _session_entity(app_name, user_id, session_id)


def _user_entity(app_name: str, user_id: str) -> str:
    return entity_of(joined(app_name, user_id), system=USER_SYSTEM)


def _session_entity(app_name: str, user_id: str, session_id: str) -> str:
    return entity_of(joined(app_name, user_id, session_id), system=SYSTEM)


def _version_id(entity: str, filename: str, version: int) -> UUID:
    """Return the id of a version's record. It is fixed, so that only one of two concurrent writers gets a number."""
    return uuid5(UUID(entity), f"{version}/{filename}")


def _about(record: Record) -> dict[str, Any]:
    about: dict[str, Any] = record.metadata[_KEY]
    return about


def _artifact_version(record: Record) -> ArtifactVersion:
    """Return the version of an artifact as ADK describes it, from the record that stores it."""
    about = _about(record)
    return ArtifactVersion(
        version=about["version"],
        canonical_uri=f"working-memory://{record.working_memory_id}",
        custom_metadata=about["custom_metadata"],
        create_time=record.created_at.timestamp(),
        mime_type=about["mime_type"],
    )


def _session_name(app_name: str, user_id: str, session_id: str) -> ExternalId:
    return ExternalId(SYSTEM, joined(app_name, user_id, session_id))


def _user_name(app_name: str, user_id: str) -> ExternalId:
    return ExternalId(USER_SYSTEM, joined(app_name, user_id))
