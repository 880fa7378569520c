"""Google's ADK on contexts: the same calls as on its own services, and its runner, with a scripted model."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.artifacts import InMemoryArtifactService
from google.adk.errors.already_exists_error import AlreadyExistsError
from google.adk.errors.input_validation_error import InputValidationError
from google.adk.errors.session_not_found_error import SessionNotFoundError
from google.adk.events import Event, EventActions
from google.adk.memory import BaseMemoryService, InMemoryMemoryService
from google.adk.memory.memory_entry import MemoryEntry
from google.adk.models import BaseLlm, LlmRequest, LlmResponse
from google.adk.runners import Runner
from google.adk.sessions import BaseSessionService, DatabaseSessionService, InMemorySessionService, Session
from google.adk.sessions.base_session_service import GetSessionConfig
from google.adk.tools import ToolContext, load_memory
from google.genai.types import Blob, Content, FileData, FunctionCall, FunctionResponse, Part

from contextkeep import AsyncContextClient, ExternalId, MessageInput
from contextkeep.adapters.adk import (
    APP_SYSTEM,
    ContextArtifactService,
    ContextMemoryService,
    ContextSessionService,
)
from tests.media import png

TEXT = Part(text="Where is order 4711?")
CALL = Part(function_call=FunctionCall(id="c1", name="find", args={"order": 4711, "ratio": 1.0}))
RESPONSE = Part(function_response=FunctionResponse(id="c1", name="find", response={"where": "At the harbour. ⚓"}))
EVENTS = [
    Event(id="e1", invocation_id="i1", author="user", timestamp=1.5, content=Content(role="user", parts=[TEXT])),
    Event(
        id="e2",
        invocation_id="i1",
        author="clerk",
        timestamp=2.25,
        content=Content(role="model", parts=[Part(text="Look it up.", thought=True), CALL]),
        actions=EventActions(state_delta={"asked": 1, "app:all": "a", "user:name": "Anna", "temp:now": "x"}),
    ),
    Event(
        id="e3",
        invocation_id="i1",
        author="clerk",
        timestamp=3.0,
        content=Content(role="user", parts=[RESPONSE]),
        actions=EventActions(state_delta={"asked": None, "found": {"order": 4711}}, artifact_delta={"a.txt": 0}),
    ),
    Event(
        id="e4", invocation_id="i1", author="clerk", timestamp=4.0, content=Content(role="model", parts=[Part(text="")])
    ),
    Event(
        id="e5",
        invocation_id="i2",
        author="user",
        timestamp=5.0,
        content=Content(
            role="user",
            parts=[
                Part(text="And this?"),
                Part(inline_data=Blob(data=b"\x89PNG\0", mime_type="image/png")),
                Part(file_data=FileData(file_uri="gs://bucket/a.pdf", mime_type="application/pdf")),
                Part(function_call=FunctionCall(name="no id", args={})),
                Part(text="signed", thought_signature=b"\1\2"),
            ],
        ),
    ),
    Event(
        id="e6",
        invocation_id="i2",
        author="clerk",
        timestamp=6.0,
        actions=EventActions(state_delta={"big": "x" * 70_000}),
    ),
    Event(
        id="e7",
        invocation_id="i3",
        author="user",
        timestamp=7.0,
        content=Content(role="user", parts=[Part(text="x")] * 120),
    ),
]
PLACE: Any = {"app_name": "shop", "user_id": "anna/b%"}


def seen(session: Session | None) -> Any:
    return session and session.model_dump(mode="json", exclude={"last_update_time"})


# Those in memory gave all events for none, and kept the name of an artifact that they had refused.
theirs_are_mended = pytest.mark.skipif(not hasattr(BaseMemoryService, "delete_memory"), reason="ADK was mended since")


async def play(service: Any, place: dict[str, Any]) -> list[Any]:
    """Make the same calls on any service, and return what it answered."""
    said: list[Any] = []
    initial = {"basket": [1], "app:all": 1, "user:name": "A.", "temp:now": 1}
    session = await service.create_session(**place, session_id="s1", state=initial)
    said.append(seen(session))
    with pytest.raises(AlreadyExistsError):
        await service.create_session(**place, session_id="s1")
    for event in EVENTS:
        await service.append_event(session, event.model_copy(deep=True))
    await service.append_event(session, Event(id="e8", author="clerk", partial=True))
    said.append(seen(session))
    for config in (
        None,
        *(GetSessionConfig(num_recent_events=count) for count in (0, 1, 3, 50)),
        *(GetSessionConfig(after_timestamp=after) for after in (0.0, 3.0, 3.5, 100.0)),
        GetSessionConfig(num_recent_events=3, after_timestamp=6.0),
    ):
        said.append(seen(await service.get_session(**place, session_id="s1", config=config)))
    other = await service.create_session(**place | {"user_id": "bert"}, session_id="s1")
    said.append(seen(other))
    await service.create_session(**place, session_id="s2", state={"second": True})
    for user in (place["user_id"], "bert", "nobody", None):
        listed = await service.list_sessions(app_name=place["app_name"], user_id=user)
        said.append(sorted((seen(one) for one in listed.sessions), key=lambda one: (one["user_id"], one["id"])))
    if hasattr(BaseSessionService, "get_user_state"):  # not at the oldest
        said.append(await service.get_user_state(**place))
    await service.delete_session(**place, session_id="s1")
    await service.delete_session(**place, session_id="s1")
    said.append(seen(await service.get_session(**place, session_id="s1")))
    said.append(seen(await service.create_session(**place, session_id="s1")))
    return said


@pytest.mark.parametrize(
    "theirs",
    [
        pytest.param(InMemorySessionService, marks=theirs_are_mended, id="in memory"),
        pytest.param(lambda: DatabaseSessionService("sqlite+aiosqlite://"), id="database"),
    ],
)
async def test_sessions_answer_as_adks_own(client: AsyncContextClient, name: str, theirs: Any):
    place = PLACE | {"app_name": name}
    ours, expected = await play(ContextSessionService(client), place), await play(theirs(), place)
    assert len(ours) == len(expected)
    for one, other in zip(ours, expected, strict=True):
        assert one == other


async def test_no_event_is_written_to_a_session_that_was_deleted(client: AsyncContextClient, name: str):
    place, service = PLACE | {"app_name": name}, ContextSessionService(client)
    session = await service.create_session(**place)
    await service.append_event(session, EVENTS[0])
    await ContextSessionService(client).delete_session(**place, session_id=session.id)
    for _ in range(2):
        with pytest.raises(SessionNotFoundError):
            await service.append_event(session, EVENTS[1])


async def test_a_state_is_there_however_long_the_session(client: AsyncContextClient, name: str):
    """What is kept of it follows behind the events; two services share it, and an event that comes again is one."""
    place = PLACE | {"app_name": name}
    service = ContextSessionService(client)
    session = await service.create_session(**place, session_id="s1")
    for n in range(120):
        event = Event(author="clerk", timestamp=float(n), actions=EventActions(state_delta={"n": n, f"k{n % 7}": n}))
        await service.append_event(session, event)
        if n in (60, 61):
            await service.get_session(**place, session_id="s1", config=GetSessionConfig(num_recent_events=2))
    await ContextSessionService(client).append_event(session, event)
    again = await ContextSessionService(client).get_session(**place, session_id="s1")
    newest = await service.get_session(**place, session_id="s1", config=GetSessionConfig(num_recent_events=2))
    assert again is not None and newest is not None
    assert again.state == newest.state == session.state
    assert [event.timestamp for event in again.events] == [float(n) for n in range(120)]
    assert newest.last_update_time == again.last_update_time == 119.0


async def test_of_states_that_are_changed_at_once_no_key_is_lost(client: AsyncContextClient, name: str):
    place = PLACE | {"app_name": name}
    service = ContextSessionService(client)
    sessions = [await service.create_session(**place) for _ in range(4)]
    events = [
        Event(author="clerk", actions=EventActions(state_delta={f"app:{n}": n, f"user:{n}": n})) for n in range(4)
    ]
    await asyncio.gather(*(service.append_event(one, event) for one, event in zip(sessions, events, strict=True)))
    found = await service.get_session(**place, session_id=sessions[0].id)
    assert found is not None
    assert found.state == {f"{scope}:{n}": n for scope in ("app", "user") for n in range(4)}


async def test_sessions_as_users_are_apart(client: AsyncContextClient, name: str):
    place = PLACE | {"app_name": name}
    service = ContextSessionService(client, as_users=True)
    await service.create_session(**place, session_id="s1")
    assert await service.get_session(**place, session_id="s1") is not None
    assert len((await service.list_sessions(**place)).sessions) == 1
    which: Any = {"metadata_contains": {"google_adk": {"app_name": name}}}
    for user, owners in ((place["user_id"], [place["user_id"]]), ("somebody else", [])):
        assert [one.owner_user_id async for one in client.contexts.list(**which, subject_user_id=user)] == owners
    with pytest.raises(InputValidationError):
        await service.list_sessions(app_name=name)


async def test_what_others_write_is_an_event(client: AsyncContextClient, name: str):
    service = ContextSessionService(client)
    await service.create_session(app_name=name, user_id="anna", session_id="s1")
    listed = client.contexts.list(metadata_contains={"google_adk": {"app_name": name}})
    context_id = await anext(one.context_id async for one in listed)
    await client.contexts.append(
        [MessageInput("It was delivered.", role="assistant"), MessageInput("Thanks")], context_id
    )
    found = await service.get_session(app_name=name, user_id="anna", session_id="s1")
    assert found is not None
    assert [(event.author, event.content.parts[0].text) for event in found.events if event.content] == [
        (name, "It was delivered."),
        ("user", "Thanks"),
    ]


async def keep(service: Any, place: dict[str, Any]) -> list[Any]:
    """Make the same calls on any service of artifacts, and return what it answered."""
    here = place | {"session_id": "s1"}
    png = Part(inline_data=Blob(data=b"\x89PNG\0" * 10, mime_type="image/png", display_name="a"))
    said: list[Any] = [await service.load_artifact(**here, filename="a.png")]
    for part in (png, Part(text="Ahoy ⚓"), Part(file_data=FileData(file_uri="gs://b/a", mime_type="a/b"))):
        said.append(await service.save_artifact(**here, filename="a.png", artifact=part, custom_metadata={"a": [1]}))
    said.append(await service.save_artifact(**here, filename="user:b.txt", artifact={"inlineData": {"data": "YQ=="}}))
    with pytest.raises(InputValidationError):
        await service.save_artifact(**here, filename="c", artifact=Part(function_call=FunctionCall(name="x")))
    with pytest.raises(InputValidationError):
        await service.save_artifact(**place, filename="c", artifact=png)
    for version in (None, 0, 1, 2, 3):
        said.append(await service.load_artifact(**here, filename="a.png", version=version))
        found = await service.get_artifact_version(**here, filename="a.png", version=version)
        said.append(found and found.model_dump(exclude={"canonical_uri", "create_time"}))
    said.append(await service.load_artifact(**place | {"session_id": "s2"}, filename="user:b.txt"))
    said.append(await service.load_artifact(**place | {"session_id": "s2"}, filename="a.png"))
    for session_id in ("s1", "s2", None):
        said.append(await service.list_artifact_keys(**place, session_id=session_id))
    said.append(await service.list_versions(**here, filename="a.png"))
    listed = await service.list_artifact_versions(**here, filename="a.png")
    said.append([one.model_dump(exclude={"canonical_uri", "create_time"}) for one in listed])
    to = f"artifact://apps/{place['app_name']}/users/{place['user_id']}/sessions/s1/artifacts/a.png/versions/1"
    ref = Part(file_data=FileData(file_uri=to, mime_type="text/plain"))
    said.append(await service.save_artifact(**here, filename="ref", artifact=ref))
    said.append(await service.load_artifact(**here, filename="ref"))
    empty = Part(inline_data=Blob(data=b"", mime_type="application/octet-stream"))
    said.append(await service.save_artifact(**here, filename="ref", artifact=empty))
    said.append(await service.load_artifact(**here, filename="ref"))
    await service.delete_artifact(**here, filename="a.png")
    await service.delete_artifact(**here, filename="a.png")
    said.append(await service.list_versions(**here, filename="a.png"))
    said.append(await service.save_artifact(**here, filename="a.png", artifact=png))
    return said


@theirs_are_mended
async def test_artifacts_answer_as_adks_own(client: AsyncContextClient, name: str):
    place = {"app_name": name, "user_id": "anna"}
    ours, expected = await keep(ContextArtifactService(client), place), await keep(InMemoryArtifactService(), place)
    assert ours == expected


async def test_an_artifact_refers_to_nothing_of_another(client: AsyncContextClient, name: str):
    service, place = ContextArtifactService(client), {"app_name": name, "user_id": "anna", "session_id": "s1"}
    await service.save_artifact(**place, filename="a", artifact=Part(text="x"))
    to = f"artifact://apps/{name}/users/anna/sessions/s1/artifacts/a/versions/0"
    ref = Part(file_data=FileData(file_uri=to, mime_type="text/plain"))
    for other in ({"session_id": "s2"}, {"user_id": "bert"}, {"app_name": f"{name}2"}):
        with pytest.raises(InputValidationError):
            await service.save_artifact(**place | other, filename="ref", artifact=ref)
    itself = f"artifact://apps/{name}/users/anna/sessions/s1/artifacts/b/versions/0"
    await service.save_artifact(**place, filename="b", artifact=Part(file_data=FileData(file_uri=itself)))
    with pytest.raises(InputValidationError):
        await service.load_artifact(**place, filename="b")


async def test_an_artifact_may_be_larger_than_an_answer_and_two_that_are_saved_at_once_are_two(
    client: AsyncContextClient, name: str
):
    service, place = ContextArtifactService(client), {"app_name": name, "user_id": "anna", "session_id": "s1"}
    large = [Part(inline_data=Blob(data=bytes([n]) * 5_000_000, mime_type="a/b")) for n in (1, 2)]
    saved = await asyncio.gather(*(service.save_artifact(**place, filename="a", artifact=one) for one in large))
    assert sorted(saved) == [0, 1]
    loaded = [await service.load_artifact(**place, filename="a", version=version) for version in saved]
    assert loaded == large


async def remember(service: Any, place: dict[str, Any]) -> list[Any]:
    """Make the same calls on any memory, and return what it answered, as far as it can be compared."""
    session = Session(id="s1", **place, events=[EVENTS[0]])
    await service.add_session_to_memory(session)
    later = "The parcel of Mr. Miller is at the lighthouse."
    session.events.append(
        Event(id="m2", author="clerk", timestamp=9.0, content=Content(role="model", parts=[Part(text=later)]))
    )
    await service.add_session_to_memory(session)
    await service.add_events_to_memory(**place, events=session.events, session_id="s1")
    said = []
    for query, user in (("lighthouse", "anna"), ("order 4711", "anna"), ("lighthouse", "bert"), ("zebra", "anna")):
        found = await service.search_memory(app_name=place["app_name"], user_id=user, query=query)
        said.append([(one.author, one.content.parts[0].text) for one in found.memories[:1]])
    if hasattr(BaseMemoryService, "delete_memory"):
        await service.delete_memory(**place, memory_id="m2")
        await service.delete_memory(**place, memory_id="nothing")
        await service.add_session_to_memory(session)
        said.append((await service.search_memory(**place, query="lighthouse")).memories)
    return said


async def test_a_memory_answers_as_adks_own(client: AsyncContextClient, name: str):
    place = {"app_name": name, "user_id": "anna"}
    ours, expected = await remember(ContextMemoryService(client), place), await remember(InMemoryMemoryService(), place)
    assert ours == expected
    service = ContextMemoryService(client)
    entry = MemoryEntry(content=Content(parts=[Part(text="Likes tea.")]), timestamp="2026-01-02T03:04:05+00:00")
    await service.add_memory(**place, memories=[entry])
    found = (await service.search_memory(**place, query="tea")).memories
    assert [(one.content.parts[0].text, one.timestamp) for one in found] == [("Likes tea.", entry.timestamp)]


class Scripted(BaseLlm):
    """Answers what the script says, and remembers what it was shown."""

    script: list[Part]
    shown: list[list[Content]]

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        self.shown.append(list(llm_request.contents))
        yield LlmResponse(content=Content(role="model", parts=[self.script.pop(0)]))


async def note(text: str, tool_context: ToolContext) -> dict[str, str]:
    """Write a note."""
    tool_context.state["notes"] = tool_context.state.get("notes", 0) + 1
    tool_context.state["user:last"] = text
    version = await tool_context.save_artifact("note.txt", Part(text=text))
    return {"saved": str(version)}


def called(tool: str, **args: Any) -> Part:
    return Part(function_call=FunctionCall(name=tool, args=args))


async def test_a_runner_uses_sessions_artifacts_and_memory_and_rewinds(client: AsyncContextClient, name: str):
    script = [
        *(called("note", text="4711 is at the harbour"), Part(text="Noted.")),
        *(called("note", text="4711 is delivered"), Part(text="Noted again.")),
        *(called("load_memory", query="harbour"), Part(text="It was at the harbour.")),
    ]
    model = Scripted(model="scripted", script=script, shown=[])
    sessions, artifacts = ContextSessionService(client), ContextArtifactService(client)
    memory = ContextMemoryService(client)
    runner = Runner(
        app_name=name,
        agent=LlmAgent(name="clerk", model=model, tools=[note, load_memory]),
        session_service=sessions,
        artifact_service=artifacts,
        memory_service=memory,
    )
    place = {"app_name": name, "user_id": "anna", "session_id": "s1"}
    await sessions.create_session(**place)

    async def run(text: str, session_id: str = "s1") -> str:
        message = Content(role="user", parts=[Part(text=text)])
        events = runner.run_async(user_id="anna", session_id=session_id, new_message=message)
        said = [event async for event in events]
        return said[-1].content.parts[0].text

    assert await run("Where is 4711?") == "Noted."
    assert await run("And now?") == "Noted again."
    session = await sessions.get_session(**place)
    assert session is not None
    assert session.state == {"notes": 2, "user:last": "4711 is delivered"}
    assert (await artifacts.load_artifact(**place, filename="note.txt")).text == "4711 is delivered"
    second = next(event for event in session.events if event.content.parts[0].text == "And now?")
    await runner.rewind_async(user_id="anna", session_id="s1", rewind_before_invocation_id=second.invocation_id)
    session = await sessions.get_session(**place)
    assert session is not None
    assert session.state["notes"] == 1
    assert (await artifacts.load_artifact(**place, filename="note.txt")).text == "4711 is at the harbour"
    await memory.add_session_to_memory(session)
    await sessions.create_session(app_name=name, user_id="anna", session_id="s2")
    assert await run("Where was 4711?", "s2") == "It was at the harbour."
    assert "4711 is at the harbour" in str(model.shown[-1][-1].parts[0].function_response.response)


@pytest.mark.parametrize("message_format", ["openai", "openai_responses", "anthropic", "gemini"])
async def test_a_window_shows_no_state(client: AsyncContextClient, name: str, message_format: str):
    """State is data of the app. A model reads it only if the app puts it into a prompt."""
    place: Any = {"app_name": name, "user_id": "анна"}
    service = ContextSessionService(client)
    session = await service.create_session(**place, session_id="s1", state={"корзина": ["чай"]})
    await service.append_event(session, Event(author="clerk", actions=EventActions(state_delta={"скидка": 5})))
    said = Content(role="user", parts=[Part(text="Где мой заказ?")])
    await service.append_event(session, Event(author="user", content=said))
    (context,) = [
        item async for item in client.contexts.get_by_external_id(ExternalId(APP_SYSTEM, name), subject_user_id="")
    ]
    opened = await client.windows.open(context.context_id, "any", context_tokens=10_000, message_format=message_format)
    body = (await client.windows.pack(opened.window_id)).body
    turns = body.get("messages") or body.get("input") or body["contents"]
    assert len(turns) == 1
    assert "Где мой заказ?" in str(turns)
    assert "корзина" not in str(body)
    assert "скидка" not in str(body)
    assert "system" not in body
    again = await service.get_session(**place, session_id="s1")
    assert again is not None
    assert again.state == {"корзина": ["чай"], "скидка": 5}


async def test_a_picture_comes_back_and_is_a_picture_in_a_window(client: AsyncContextClient, name: str):
    place: Any = {"app_name": name, "user_id": "zoë"}
    service = ContextSessionService(client)
    session = await service.create_session(**place, session_id="s1")
    picture = png(640, 400) + bytes(2_000_000)  # programs ignore what follows the end of a PNG
    shown = Part(inline_data=Blob(data=picture, mime_type="image/png", display_name="Hafen.png"))
    event = Event(author="user", content=Content(role="user", parts=[Part(text="Wo ist das?"), shown]))
    await service.append_event(session, event)
    again = await ContextSessionService(client).get_session(**place, session_id="s1")
    assert again is not None
    assert again.events[0].content == event.content
    (context,) = [item async for item in client.contexts.get_by_external_id(ExternalId(APP_SYSTEM, name))]
    opened = await client.windows.open(context.context_id, "claude-opus-5", message_format="anthropic")
    content = (await client.windows.pack(opened.window_id)).body["messages"][-1]["content"]
    assert content[-1]["type"] == "image"
    (file,) = [
        part.file
        async for message in client.contexts.list_messages(context.context_id)
        for part in message.parts
        if part.file
    ]
    assert (file.name, file.width, file.height, file.size_bytes) == ("Hafen.png", 640, 400, len(picture))


def hostile() -> list[Event]:
    """Return events with texts that Postgres does not keep as text, and with more than a message takes."""
    parts = [
        Part(text="chat \ud83d noir"),
        Part(text="a\0b"),
        Part(inline_data=Blob(data=png(12, 8), mime_type="image/png")),
        Part(function_response=FunctionResponse(id="c1", name="find", response={"a": "PK\0", "n": 2**70})),
        Part(text="茶" * 500_000),
    ]
    delta = {"of\0": "\ud800", "user:of": "b\0", "large": "x" * 1_500_000}
    of_all = Event(id="e9", author="a\0", content=Content(role="model", parts=parts))
    changes = Event(id="e10", author="clerk", actions=EventActions(state_delta=delta))
    singles = [
        Event(id=f"e{place}", author="user", content=Content(role="user", parts=[part]))
        for place, part in enumerate(parts)
    ]
    return [*singles, of_all, changes]


async def test_texts_that_postgres_keeps_not_and_large_ones_come_out_as_they_went_in(
    client: AsyncContextClient, name: str
):
    place: Any = {"app_name": name, "user_id": "anna", "session_id": "s"}
    found = []
    for service in (ContextSessionService(client), InMemorySessionService()):
        session = await service.create_session(**place, state={"begun": "a\0\ud83d", "app:all": "\0"})
        for event in hostile():
            await service.append_event(session, event)
        read = await service.get_session(**place)
        assert read is not None
        found.append((read.state, [(one.id, one.author, one.content) for one in read.events]))
    assert found[0] == found[1]
