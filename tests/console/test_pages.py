"""What pages show, and to whom, over HTTP. How they look is in test_browser.py."""

from __future__ import annotations

import csv
import html
import io
import json
import re
import time
from pathlib import Path

import httpx2 as httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextkeep import (
    ContextClient,
    ContextInput,
    EdgeInput,
    EntityClient,
    ExternalId,
    FileInput,
    MemorySource,
    MessageInput,
    NodeInput,
    PartInput,
)
from contextkeep.address import Address
from contextkeep.errors import ContextNotFound, NodeNotFound
from contextkeep_console.marks import marked
from contextkeep_console.settings import Settings
from contextkeep_console.titles import READ_MAX
from tests.clients.stack import running_in_a_thread
from tests.conftest import Addresses, Urls
from tests.console.conftest import Revocable, Running, Visitor, a_key, between, served
from tests.console.test_entrance import token_of
from tests.console.world import HOSTILE_NAMES, World, png, write, write_hostile
from tests.fakes.mcp_server import fake_mcp
from tests.ports import free_port

WORLD_KEY = a_key()
RING = 10_000
NOBODYS = "0197f1f2-0000-7000-8000-000000000001"


@pytest.fixture(scope="module")
def world(stack: Addresses) -> World:
    with (
        ContextClient(stack.context, api_key=WORLD_KEY) as context,
        EntityClient(stack.entity, api_key=WORLD_KEY) as graph,
    ):
        return write(context, graph)


@pytest.fixture
def client(running: Running, visitor: Visitor) -> httpx.Client:
    """Somebody who sees the world."""
    return visitor(running, WORLD_KEY)


def test_every_page_answers_within_a_second(world: World, client: httpx.Client):
    for name, path in world.pages().items():
        answer = client.get(path, follow_redirects=True)
        assert answer.status_code == 200, name
        assert "Traceback" not in answer.text
        assert 'class="trouble' not in answer.text, name
        assert answer.elapsed.total_seconds() < 5, name


def test_every_page_is_there_for_a_user_that_a_key_acts_for(running: Running, visitor: Visitor, stack: Addresses):
    key = a_key(scopes=["read", "write", "delegate"])
    with ContextClient(stack.context, api_key=key) as context:
        sent = context.contexts.send("Where is my file?", subject_user_id="ann")
        window = context.windows.open(sent.context_id, "gpt-5", subject_user_id="ann").window_id
        task = context.tasks.create(sent.context_id, subject_user_id="ann").task_id
        source = MemorySource(label="learned", context_id=sent.context_id, ref="m1")
        memory = context.memories.retain(
            "Ann likes <b>oranges</b>.", key="fruit", source=source, subject_user_id="ann"
        ).memory_id
        wiki = context.pages.put("Ann's <i>habits</i>", "# Fruit\n\nOranges.\n", subject_user_id="ann").page_id
    below, ones = f"/contexts/{sent.context_id}", f"/windows/{window}"
    mine = ["/", "/contexts", "/windows", "/graph", "/memory", "/mappings", "/sources?q=file", below, f"{below}/delete"]
    mine += [f"{below}/recall?text=file", f"{below}/messages/{sent.message_id}", f"/tasks/{task}"]
    mine += ["/sources/bases", "/sources/pages", f"/sources/pages/{wiki}", "/sources/memories"]
    mine += ["/sources/memories?q=oranges", f"/sources/memories/{memory}"]
    mine += [ones, f"{ones}/pack", f"{ones}/state", f"{ones}/original?ref=m1"]

    client = visitor(running, key, user="ann")
    for path in mine:
        answer = client.get(path)
        assert (answer.status_code, 'class="trouble' in answer.text) == (200, False), path
    assert "&lt;b&gt;oranges" in client.get("/sources/memories?q=oranges").text
    assert f'href="{below}?to=21#m1"' in client.get(f"/sources/memories/{memory}").text
    assert "Oranges." in client.get(f"/sources/pages/{wiki}").text
    assert visitor(running, key, user="bob").get(below).status_code == 404


def test_the_page_of_an_original_says_where_packs_show_it(running: Running, visitor: Visitor, stack: Addresses):
    key = a_key()
    with ContextClient(stack.context, api_key=key) as context:
        sent = context.contexts.send("Where is <b>my</b> file?")
        window = context.windows.open(sent.context_id, "gpt-5")
        before = visitor(running, key).get(f"/windows/{window.window_id}/original?ref=m1").text
        window.pack()
    after = visitor(running, key).get(f"/windows/{window.window_id}/original?ref=m1").text

    assert "Where it is now" in before and 'data-state="unread"' in before
    assert 'data-state="verbatim"' in after and "<b>my" not in after


def test_without_a_user_the_page_says_that_one_must_be_named(running: Running, visitor: Visitor, key: str):
    assert "A user must be named" in visitor(running, key).get("/sources/memories").text


def test_a_tool_is_approved_as_it_was_read(running: Running, visitor: Visitor, key: str, stack: Addresses):
    with fake_mcp() as fake, ContextClient(stack.context, api_key=key) as context:
        context.mcp_servers.put("crm", fake.url)
        (tool, *_) = context.mcp_servers.discover_tools("crm")
        client = visitor(running, key)
        form = {"token": token_of(client), "server": "crm", "tool": tool.tool_name, "approve": "yes"}
        assert tool.tool_name in client.get("/sources/tools").text
        stale = client.post("/sources/tools", data={**form, "sha256": "0" * 64})
        assert stale.status_code == 409

        done = client.post("/sources/tools", data={**form, "sha256": tool.definition_sha256})
        assert done.status_code == 303, done.text
        assert {one.tool_name: one.state for one in context.mcp_servers.list_tools()}[tool.tool_name] == "approved"
        client.post("/sources/tools", data={**form, "approve": "no"})
        assert {one.tool_name: one.state for one in context.mcp_servers.list_tools()}[tool.tool_name] == "found"


def test_a_definition_is_approved_as_it_was_read_and_its_page_is_shown(
    running: Running, visitor: Visitor, key: str, clients: tuple[ContextClient, EntityClient]
):
    context, graph = clients
    node = graph.graph.create_node("Customer", name="Acme <b>Ltd</b>", data={"plan": "large"}).id
    facets = [{"slug": "plan", "heading": "Plan", "kind": "operational", "text": "entity.data.plan"}]
    context.definitions.put("customers", {"node_type": "Customer", "title": "entity.name", "facets": facets})
    client = visitor(running, key)
    listed = client.get("/sources/definitions").text
    assert "/sources/definitions/customers?version=1" in listed
    form = {"token": token_of(client), "version": "1"}
    assert client.post("/sources/definitions/customers", data={**form, "decide": "approve"}).status_code == 303
    assert "approved" in client.get("/sources/definitions/customers?version=1").text
    list(context.compiled_pages.compile(node_ids=[node]))
    (page,) = context.compiled_pages.list("customers")
    assert "Acme &lt;b&gt;" in client.get("/sources/compiled").text
    shown = client.get(client.get("/find", params={"q": page.page_id}).headers["location"]).text
    assert "large" in shown
    assert f"/nodes/{node}" in shown
    client.post("/sources/definitions/customers", data={**form, "decide": "retire"})
    assert "retired" in client.get("/sources/definitions/customers?version=1").text


def test_a_source_is_set_and_what_everybody_asks_is_kept_and_compared(running: Running, visitor: Visitor, key: str):
    client = visitor(running, key)
    form = {"token": token_of(client), "provider": "workspace"}
    assert client.post("/sources/settings", data={**form, "is_default": "no", "deadline_ms": "1234"}).status_code == 303
    settings = {one["provider_id"]: one for one in client.get("/sources/settings?export=json").json()}
    assert (settings["workspace"]["is_default"], settings["workspace"]["deadline_ms"]) == (False, 1234)
    client.post("/sources/settings", data={**form, "is_default": "reset", "deadline_ms": "reset"})
    settings = {one["provider_id"]: one for one in client.get("/sources/settings?export=json").json()}
    assert settings["workspace"]["deadline_ms"] != 1234
    assert client.post("/sources/settings", data={**form, "deadline_ms": "60001"}).status_code == 400

    asking = {"token": token_of(client), "question": "Where is it?", "label": "weekly"}
    first, second = (client.post("/sources/tests", data=asking).headers["location"] for _ in range(2))
    assert "weekly" in client.get("/sources/tests").text
    compared = client.get(first, params={"other": second.rpartition("/")[2]})
    assert (compared.status_code, 'class="trouble' in compared.text) == (200, False)
    found = client.get("/find", params={"q": first.rpartition("/")[2]})
    assert found.headers["location"] == first


def test_a_kept_question_shows_all_its_options(running: Running, visitor: Visitor, key: str):
    client = visitor(running, key)
    form = {"token": token_of(client), "question": "Where is the sextant?"}
    assert 'name="provider_ids" value="workspace"' in client.get("/sources/tests").text
    chosen = {
        "provider_ids": ["workspace", "memory"],
        **{"mode": "answer", "scope": "team", "depth": "deep", "memory_mode": "", "limit": "7", "score_min": "0.5"},
        **{"time_from": "2026-02-03", "time_to": "2027-04-05", "metadata": '{"deck": 3}'},
        "node_ids": "01a00000-0000-7000-8000-000000000001 01a00000-0000-7000-8000-000000000002",
    }
    asked = client.post("/sources/tests", data={**form, **chosen})
    page = client.get(asked.headers["location"]).text
    for shown in ("answer, team, deep", "workspace, memory", "0.5", "2026-02-03", "2027-04-05", "deck"):
        assert shown in page
    assert "01a00000-0000-7000-8000-000000000002" in page
    for name, wrong in (("metadata", "[1]"), ("time_from", "soon"), ("limit", "many"), ("scope", "everybody")):
        assert client.post("/sources/tests", data={**form, name: wrong}).status_code == 400


def test_a_thread_is_asked_again_and_shows_what_came(
    running: Running, visitor: Visitor, key: str, clients: tuple[ContextClient, EntityClient]
):
    context, _ = clients
    context_id = context.contexts.send("Is anybody there?").context_id
    client = visitor(running, key)
    assert f'data-live="/contexts/{context_id}?part=thread"' in client.get(f"/contexts/{context_id}").text
    context.contexts.send("I am.", context_id)
    again = client.get(f"/contexts/{context_id}?part=thread").text
    assert "I am." in again
    assert "<html" not in again


def test_every_page_of_a_new_tenant_says_what_to_do(running: Running, visitor: Visitor, key: str):
    client = visitor(running, key)
    for path in ("/", "/contexts", "/windows", "/graph", "/memory", "/history", "/sources"):
        text = client.get(path).text
        assert "ContextClient" in text or "EntityClient" in text, path
        assert 'class="trouble' not in text, path
    assert "Nothing is kept here yet" in client.get("/").text


def test_another_tenant_finds_no_page_of_the_world(world: World, running: Running, visitor: Visitor, key: str):
    other = visitor(running, key)
    secrets = ("Arendt", "paid twice, in May", "refund-4711", "1,280.50")
    for name, path in world.pages().items():
        answer = other.get(path, follow_redirects=True)
        assert answer.status_code in {200, 400, 404}, name
        assert not [secret for secret in secrets if secret in answer.text], name


def test_two_people_at_once_see_each_their_own(running: Running, visitor: Visitor, stack: Addresses):
    keys = [a_key() for _ in range(2)]
    for number, key in enumerate(keys):
        with ContextClient(stack.context, api_key=key) as context:
            context.contexts.send("Hello", context=ContextInput(title=f"of tenant {number}"))
    clients = [visitor(running, key) for key in keys]
    for _ in range(5):
        for number, one in enumerate(clients):
            text = one.get("/contexts").text
            assert f"of tenant {number}" in text
            assert f"of tenant {1 - number}" not in text


def test_contexts_are_named_by_title_by_external_id_or_by_the_first_words(
    running: Running, visitor: Visitor, key: str, clients: tuple[ContextClient, EntityClient]
):
    context, _ = clients
    long = "Könnten Sie mir bitte sagen, warum die Lieferung vom dritten März noch immer nicht bei uns angekommen ist?"
    picture = PartInput(file=FileInput(data=png(4, 4), name="invoice-77.png"))
    sent = {
        "Delivery of March": context.contexts.send("Hello", context=ContextInput(title="Delivery of March")),
        "thread-9 (helpdesk)": context.contexts.send(
            "Hello", context=ContextInput(external_ids=[ExternalId("helpdesk", "thread-9")])
        ),
        "Könnten Sie mir bitte sagen, warum die Lieferung vom dritten März noch immer…": context.contexts.append(
            [MessageInput("You are a friendly assistant.", role="system"), MessageInput(long)]
        )[0],
        "invoice-77.png": context.contexts.send(MessageInput(parts=[picture])),
    }
    client = visitor(running, key)
    listed, overview = client.get("/contexts").text, client.get("/").text
    for title, message in sent.items():
        assert f'href="/contexts/{message.context_id}"><bdi>{title}</bdi>' in listed
        assert title in overview
        page = client.get(f"/contexts/{message.context_id}").text
        assert f"<h1><bdi>{title}</bdi>" in page
        assert title in client.get(f"/contexts/{message.context_id}/delete").text
        context.windows.open(message.context_id, "gpt-5")
    windows = client.get("/windows").text
    assert all(title in windows for title in sent)


def test_nodes_are_named_by_name_by_external_id_or_by_type_and_first_words(
    running: Running, visitor: Visitor, key: str, clients: tuple[ContextClient, EntityClient]
):
    _, graph = clients
    nodes = {
        "first": graph.graph.create_node("Session", name="first", data={"text": "unseen"}),
        "s-12": graph.graph.create_node("Session", external_id="s-12"),
        "Turn: Guten Morgen": graph.graph.create_node("Turn", data={"number": 4, "said": {"by": ["Guten Morgen"]}}),
        "Turn": graph.graph.create_node("Turn", data={"number": 4, "empty": " "}),
    }
    client = visitor(running, key)
    listed = client.get("/graph").text
    for title, node in nodes.items():
        assert f'href="/nodes/{node.id}"><bdi>{title}</bdi>' in listed
        assert f"<h1><bdi>{title}</bdi>" in client.get(f"/nodes/{node.id}").text


def test_first_messages_are_read_for_a_bounded_number_of_contexts(
    running: Running, visitor: Visitor, key: str, clients: tuple[ContextClient, EntityClient]
):
    """The rest of a long list has ids."""
    context, _ = clients
    for number in range(READ_MAX + 3):
        context.contexts.send(f"Question {number}")
    text = visitor(running, key).get("/contexts?limit=500").text
    assert text.count("<bdi>Question ") == READ_MAX


def test_hostile_names_are_text(
    running: Running, visitor: Visitor, key: str, clients: tuple[ContextClient, EntityClient]
):
    pages = write_hostile(*clients)
    client = visitor(running, key)
    for path in pages:
        text = client.get(path).text
        for hostile in ("<script>document", "<img src=x", '" onmouseover="', "<h1>javascript"):
            assert hostile not in text, path
    assert "&lt;script&gt;document" in client.get("/contexts").text
    assert "{{ 7 * 7 }}" in client.get("/contexts").text
    assert HOSTILE_NAMES


def test_a_table_is_exported_whole(running: Running, visitor: Visitor, key: str, stack: Addresses):
    with ContextClient(stack.context, api_key=key) as context:
        for number in range(60):
            context.contexts.send("Hello", context=ContextInput(title=f"=SUM({number})"))
    client = visitor(running, key)
    page = client.get("/contexts").text
    assert page.count("/contexts/") == 50

    as_csv = client.get("/contexts?export=csv&table=contexts")
    rows = list(csv.reader(io.StringIO(as_csv.text)))
    as_json = client.get("/contexts?export=json&table=contexts")

    assert rows[0][:2] == ["context", "state"]
    assert len(rows) == 61
    assert all(row[0].startswith("'=SUM(") for row in rows[1:])  # no spreadsheet computes it
    assert len(as_json.json()) == 60
    for answer in (as_csv, as_json):
        assert answer.headers["content-disposition"].startswith("attachment")


def test_a_download_is_never_a_page(running: Running, visitor: Visitor, key: str, stack: Addresses):
    html = b"<script>alert(1)</script>"
    with ContextClient(stack.context, api_key=key) as context:
        record = context.blobs.upload(html, name='a"\r\nb.html', memory_type="text/html", content_type="text/html")
        inline = context.records.insert("text/html", "inline.html", content_text=html.decode())
    client = visitor(running, key)
    for one in (record, inline):
        answer = client.get(f"/records/{one.working_memory_id}/content")
        assert answer.content == html
        assert answer.headers["content-type"] == "application/octet-stream"
        assert answer.headers["content-disposition"].startswith("attachment")
        assert "sandbox" in answer.headers["content-security-policy"]
        assert answer.headers["x-content-type-options"] == "nosniff"


def test_what_is_no_picture_is_not_shown_as_one(running: Running, visitor: Visitor, key: str, stack: Addresses):
    svg = b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'
    with ContextClient(stack.context, api_key=key) as context:
        records = [
            context.blobs.upload(content, name=name, memory_type=kind, content_type=kind).working_memory_id
            for content, name, kind in ((svg, "a.svg", "image/svg+xml"), (b"<b>no</b>", "b.png", "image/png"))
        ]
    client = visitor(running, key)
    for record in records:
        assert client.get(f"/files/{record}/content").headers["content-type"] == "application/octet-stream"
        assert "<img class=" not in client.get(f"/records/{record}").text


def test_an_upload_is_kept(running: Running, visitor: Visitor, key: str, stack: Addresses):
    client = visitor(running, key)
    content = b"\0\1" * 100_000
    form = {"token": token_of(client), "description": "by hand"}
    answer = client.post("/records", data=form, files={"file": ("a file.bin", content, "application/x-thing")})
    assert answer.status_code == 303, answer.text
    record = answer.headers["location"].rpartition("/")[2]

    with ContextClient(stack.context, api_key=key) as context:
        assert context.blobs.get_content(record) == content
        assert context.records.get(record).description == "by hand"
    assert "bytes are durable" in client.get(answer.headers["location"]).text


def test_a_record_is_archived_and_brought_back(running: Running, visitor: Visitor, key: str, stack: Addresses):
    with ContextClient(stack.context, api_key=key) as context:
        record = context.records.insert("plan", "a plan", content={"a": 1}).working_memory_id
        client = visitor(running, key)
        form = {"token": token_of(client)}
        client.post(f"/records/{record}/archive", data=form)
        archived = context.records.get(record, include_archived=True).status
        client.post(f"/records/{record}/restore", data=form)

        assert (archived, context.records.get(record).status) == ("archived", "active")


def test_a_memory_is_corrected_ended_and_forgotten(running: Running, visitor: Visitor, stack: Addresses):
    key = a_key(scopes=["read", "write", "delegate"])
    with ContextClient(stack.context, api_key=key) as context:
        ada = {"subject_user_id": "ada"}
        memory = context.memories.retain("I live in <i>Oslo</i>.", **ada)
        client = visitor(running, key, user="ada")
        form = {"token": token_of(client), "version": "1"}
        path = f"/sources/memories/{memory.memory_id}"
        assert client.post(path, data={**form, "text": "I live in Moss."}).status_code == 303
        assert client.post(path, data={**form, "text": "I live in Rome."}).status_code == 409
        page = client.get(path).text
        assert "I live in Moss." in page and "I live in &lt;i&gt;Oslo&lt;/i&gt;." in page

        assert client.post(f"{path}/end", data={**form, "version": "2"}).status_code == 303
        assert 'data-state="ended"' in client.get(path).text
        assert client.post(f"{path}/forget", data=form).status_code == 400
        assert client.post(f"{path}/forget", data={**form, "sure": "yes"}).status_code == 303
        assert (list(context.memories.list(**ada)), client.get(path).status_code) == ([], 404)


def test_a_context_is_deleted_with_a_receipt_by_who_is_sure(
    running: Running, visitor: Visitor, key: str, stack: Addresses
):
    with ContextClient(stack.context, api_key=key) as context:
        context_id = context.contexts.send("Hello").context_id
        client = visitor(running, key)
        path = f"/contexts/{context_id}/delete"
        assert client.post(path, data={"token": token_of(client)}).status_code == 400
        assert context.contexts.get(context_id).context.context_id == context_id

        receipt = client.post(path, data={"token": token_of(client), "sure": "yes"})
        assert "Receipt of a deletion" in client.get(receipt.headers["location"]).text
        with pytest.raises(ContextNotFound):
            context.contexts.get(context_id)


def test_windows_are_pinned_checked_and_rolled_back(running: Running, visitor: Visitor, key: str, stack: Addresses):
    with ContextClient(stack.context, api_key=key) as context:
        context_id = context.contexts.send("Do it.").context_id
        window = context.windows.open(context_id, "gpt-5").window_id
        client = visitor(running, key)
        form = {"token": token_of(client)}
        assert "Do it." in client.post(f"/windows/{window}/pack", data=form).text

        client.post(f"/windows/{window}/pin", data={**form, "text": "Answer in French."})
        client.post(f"/windows/{window}/checkpoint", data={**form, "label": "by hand"})
        page = client.get(f"/windows/{window}/state").text
        assert "Answer in French." in page
        assert "by hand" in page
        context.contexts.append([MessageInput("astray", role="assistant")], context_id)
        context.windows.pack(window)
        number = next(iter(context.windows.list_checkpoints(window))).number
        stale = {**form, "checkpoint": str(number), "last_seq": "1", "sure": "yes"}
        assert client.post(f"/windows/{window}/rollback", data=stale).status_code == 409
        done = client.post(f"/windows/{window}/rollback", data={**stale, "last_seq": "2"})
        assert done.status_code == 303
        assert context.windows.get(window).left_out_refs


@pytest.mark.parametrize(
    "rules", ["", "{", "[]", "1", '{"nothing": 1}', "[" * 100_000, '{"messages": [{"role": "("}]}']
)
def test_rules_that_are_wrong_stay_on_the_page(running: Running, visitor: Visitor, key: str, rules: str):
    client = visitor(running, key)
    answer = client.post("/mappings/try", data={"token": token_of(client), "rules": rules, "node": "x"})

    assert answer.status_code in {400, 404}
    assert 'class="trouble' in answer.text


def test_a_mapping_that_would_not_end_and_a_ring_of_many_nodes_are_told_in_time(
    running: Running, visitor: Visitor, key: str, clients: tuple[ContextClient, EntityClient]
):
    _, graph = clients
    nodes = [NodeInput("Turn", data={} if place < RING - 9 else {"items": list(range(200))}) for place in range(RING)]
    edges = [EdgeInput(one.id, nodes[place - 1].id, "Contains") for place, one in enumerate(nodes)]
    for start in range(0, RING, 500):
        graph.graph.write(nodes[start : start + 500])
    for start in range(0, RING, 500):
        graph.graph.write([], edges[start : start + 500])
    client = visitor(running, key)
    for path in (f"/nodes/{nodes[0].id}?depth=2", f"/history?node={nodes[0].id}", f"/memory?node={nodes[0].id}"):
        answer = client.get(path)
        assert answer.status_code in {200, 429}, path
        assert answer.elapsed.total_seconds() < 12, path

    items = "entity.data.items"
    squares = f"{items}.map(a, {items}.map(b, {items}.map(c, a + b + c)))"
    rules = {"messages": [{"role": "'user'", "content": f"string(size({squares}))"}]}
    form = {"token": token_of(client), "rules": json.dumps(rules), "node": nodes[0].id}
    tried = client.post("/mappings/try", data=form)
    assert tried.elapsed.total_seconds() < 12
    assert "the evaluation takes more than" in tried.text


def test_a_node_is_written_changed_archived_and_deleted(running: Running, visitor: Visitor, key: str, stack: Addresses):
    client = visitor(running, key)
    form = {"token": token_of(client)}
    made = client.post("/nodes", data={**form, "type": "Session", "name": "by hand", "data": '{"a": 1}'})
    path = made.headers["location"]
    node_id = path.rpartition("/")[2]
    with EntityClient(stack.entity, api_key=key) as graph:
        client.post(f"{path}/data", data={**form, "version": "1", "data": '{"b": 2}'})
        assert graph.graph.get_node(node_id).data == {"b": 2}
        client.post(f"{path}/archive", data={**form, "version": "2"})
        assert graph.graph.get_node(node_id).is_archived
        assert client.post(f"{path}/delete", data={**form, "version": "3"}).status_code == 400
        client.post(f"{path}/delete", data={**form, "version": "3", "sure": "yes"})
        with pytest.raises(NodeNotFound):
            graph.graph.get_node(node_id)


def test_of_two_who_change_the_same_the_later_is_told(running: Running, visitor: Visitor, key: str, stack: Addresses):
    with EntityClient(stack.entity, api_key=key) as graph:
        node_id = graph.graph.create_node("Session", data={"a": 0}).id
        answers = []
        for number in (1, 2):
            client = visitor(running, key)
            form = {"token": token_of(client), "version": "1", "data": json.dumps({"a": number})}
            answers.append(client.post(f"/nodes/{node_id}/data", data=form))

        assert [answer.status_code for answer in answers] == [303, 409]
        assert "Another caller changed it first" in answers[1].text
        assert graph.graph.get_node(node_id).data == {"a": 1}


def test_rules_are_tried_then_registered(world: World, client: httpx.Client):
    rules = {"messages": [{"role": "'user'", "content": "entity.data.user_input + '!'"}]}
    form = {"token": token_of(client), "rules": json.dumps(rules), "node": world.session, "name": "shouting"}
    tried = client.post("/mappings/try", data=form).text
    assert "paid invoice 4711 twice, in May and again in June.!" in tried
    assert "rules.messages[0].content" in tried

    registered = client.post("/mappings/register", data=form)
    assert registered.status_code == 303, registered.text
    assert "June.!" in client.get(f"/history?node={world.session}&mapping=shouting").text


@pytest.mark.parametrize("name", ["context", "window", "task", "session", "edge", "report"])
def test_any_id_leads_to_its_page(world: World, client: httpx.Client, name: str):
    wanted = getattr(world, name)
    for text in (wanted, f'  error: call failed id="{wanted.upper()}" reason=X '):
        answer = client.get("/find", params={"q": text})
        assert answer.status_code == 303
        assert wanted in answer.headers["location"]


def test_a_ref_of_a_hit_leads_to_its_place(world: World, client: httpx.Client):
    answer = client.get("/find", params={"q": f"context:{world.context}/m3.0"})

    assert answer.headers["location"].endswith("#m3")


def test_a_search_shows_conversations_with_its_words_marked(world: World, client: httpx.Client):
    shown = client.get("/find", params={"q": "Which INVOICE was páid?"}).text
    section = shown.partition('id="conversations"')[2].partition("</section>")[0]
    assert f'href="/contexts/{world.context}"' in section
    assert "<mark>invoice</mark>" in section and "<mark>paid</mark>" in section.lower()
    nothing = client.get("/find", params={"q": "zyzzyva"}).text
    assert "conversations that were searched says it" in nothing


@given(st.text("ab é<>&\"'\n中\ud800", max_size=900), st.text("ab é<中 ", max_size=20))
def test_marks_change_nothing_of_a_passage_but_its_length(text: str, search: str):
    shown = str(marked(text, search))
    plain = html.unescape(re.sub(r"</?mark>", "", shown)).strip("…")
    assert plain in text.encode("utf-8", "backslashreplace").decode()
    assert "<" not in re.sub(r"</?mark>", "", shown)
    assert shown.count("<mark>") == shown.count("</mark>")


def test_marks_are_the_words_of_the_search_in_any_case_and_their_longer_forms():
    text = "Hotels in Tromsø: the hôtel Borealis, in Tromso. " + "x" * 700
    assert str(marked(text, "Hotel in tromso")).startswith(
        "<mark>Hotels</mark> in Tromsø: the <mark>hôtel</mark> Borealis, in <mark>Tromso</mark>. x"
    )
    assert "<mark>needle</mark>" in marked("x" * 5_000 + " needle " + "y" * 5_000, "a needle")


@pytest.mark.parametrize("text", ["nothing of that", "%", "'", "\u202e", "a" * 5000, NOBODYS, "\x01"])
def test_what_names_nothing_is_searched_for(client: httpx.Client, text: str):
    answer = client.get("/find", params={"q": text})

    assert answer.status_code == 200


@pytest.mark.parametrize(
    "path",
    [
        "/contexts/not-an-id",
        f"/contexts/{NOBODYS}",
        f"/nodes/{NOBODYS}",
        "/nodes/x",
        f"/records/{NOBODYS}",
        f"/windows/{NOBODYS}",
        f"/windows/{NOBODYS}/original?ref=../..",
        f"/tasks/{NOBODYS}",
        f"/erasures/{NOBODYS}",
        "/mappings/show?name=nothing",
        "/contexts?metadata={",
        "/contexts?from=yesterday",
        "/contexts?state=odd",
        "/graph?where=[]",
        '/graph?where={"a":{"$odd":1}}',
        "/history?node=nobody",
        "/nothing",
        "/contexts?limit=99999999999999999999",
        "/contexts?limit=-1",
        "/static/../app.py",
    ],
)
def test_what_is_wrong_or_not_there_is_told_in_a_page(client: httpx.Client, path: str):
    answer = client.get(path)

    assert answer.status_code in {200, 400, 404}
    assert "Traceback" not in answer.text
    assert "Internal Server Error" not in answer.text


def test_a_key_that_may_not_is_told_so(running: Running, visitor: Visitor):
    client = visitor(running, a_key(scopes=["write"]))
    answer = client.get("/contexts")

    assert answer.status_code == 403
    assert "may not do this" in answer.text


def test_a_lost_entity_service_is_a_banner_and_all_else_goes_on(world: World, stack: Addresses, visitor: Visitor):
    settings = Settings(port=0, context_address=stack.context, entity_address=f"127.0.0.1:{free_port()}")
    with served(settings) as console:
        client = visitor(console, WORLD_KEY)
        overview, contexts, graph = (client.get(path) for path in ("/", "/contexts", "/graph"))
        node = client.get(f"/nodes/{world.session}")

    assert (overview.status_code, contexts.status_code, graph.status_code) == (200, 200, 200)
    assert "Invoice 4711" in overview.text
    assert "trouble lost" in overview.text
    assert "trouble lost" not in contexts.text
    assert "A service cannot be reached" in graph.text
    assert (node.status_code, "trouble lost" in node.text) == (503, True)


def test_a_slow_entity_service_holds_up_its_own_pages_until_it_is_back(
    monkeypatch: pytest.MonkeyPatch, stack: Addresses, world: World, visitor: Visitor
):
    # The network delays each call of the page, which makes some one after the other: also on a busy machine in time.
    monkeypatch.setattr("contextkeep_console.app.TIMEOUT_S", 4.0)
    with between(stack.entity) as network:
        settings = Settings(port=0, context_address=stack.context, entity_address=f"127.0.0.1:{network.port}")
        with served(settings) as console:
            client = visitor(console, WORLD_KEY)
            network.delay_s = 0.1
            slow = client.get(f"/nodes/{world.session}")
            assert (slow.status_code, 'class="trouble' in slow.text) == (200, False)

            network.fall_silent()
            waits = client.get(f"/nodes/{world.session}")
            assert (waits.status_code, "A service took too long" in waits.text) == (504, True)
            assert client.get("/contexts").elapsed.total_seconds() < 4.0
            overview = client.get("/")
            assert (overview.status_code, "Invoice 4711" in overview.text) == (200, True)
            assert "trouble lost" in overview.text

            network.delay_s = 0.0
            network.break_off()
            ends = time.monotonic() + 20
            while (back := client.get(f"/nodes/{world.session}")).status_code != 200:
                assert time.monotonic() < ends, back.text
            assert "trouble" not in back.text


def test_each_replica_says_how_its_last_hour_was(
    monkeypatch: pytest.MonkeyPatch,
    stack: Addresses,
    shared_urls: Urls,
    callers: Revocable,
    tmp_path: Path,
    visitor: Visitor,
):
    target_of = Address.target.fget
    with running_in_a_thread(shared_urls.service, tmp_path, callers=callers) as other:
        # What a resolver makes of such a name, here without a name server.
        found = f"ipv4:{stack.context},{other.context}"
        monkeypatch.setattr(
            Address, "target", property(lambda self: found if self.host == "replicas.internal" else target_of(self))
        )
        settings = Settings(port=0, context_address="replicas.internal:50051", entity_address=stack.entity)
        with served(settings) as console:
            client = visitor(console, a_key())
            ends = time.monotonic() + 20  # the second connection takes a moment
            while (recent := client.get("/?part=recent").text).count("<h3>Context Service</h3>") < 2:
                assert time.monotonic() < ends
    assert recent.count("<h3>Context Service</h3>") == 2
    assert recent.count("<h3>Entity Service</h3>") == 1
