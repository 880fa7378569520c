"""Keys, the audit log and what operators see on the pages of access, over HTTP. How they look is in test_browser.py."""

from __future__ import annotations

import html
import re

import httpx2 as httpx

from contextkeep import ContextClient
from tests.conftest import Addresses
from tests.console.conftest import Running, Visitor, a_key
from tests.console.test_entrance import token_of


def made(client: httpx.Client, **form: object) -> str:
    """Make a key on the page, and return it."""
    answer = client.post("/access/keys", data={"token": token_of(client), "subject": "an agent", **form})
    assert answer.status_code == 200, answer.text
    (key,) = re.findall(r'id="new-key">([^<]+)<', answer.text)
    return html.unescape(key)


def test_a_key_is_made_shown_once_found_and_taken_back(running: Running, visitor: Visitor, administrators: str):
    client = visitor(running, administrators)
    key = made(client, scope=["read", "write"], apps="crm, erp", ttl="86400")

    listed = client.get("/access").text
    assert key[:12] in listed
    assert "app crm, app erp" in listed
    for path in ("/access", f"/access/keys/{key[:12]}", "/access/audit", "/access?export=json", "/access?export=csv"):
        assert key not in client.get(path).text, path
    found = client.get("/find", params={"q": f"what may {key} do"})
    assert found.headers["location"] == f"/access/keys/{key[:12]}"

    revoking = client.post(f"/access/keys/{key[:12]}/revoke", data={"token": token_of(client)})
    assert revoking.status_code == 303
    page = client.get(f"/access/keys/{key[:12]}").text
    assert "revoked" in page
    assert "Take it back" not in page


def test_a_key_gives_no_more_than_it_has_and_the_page_says_so(running: Running, visitor: Visitor, administrators: str):
    client = visitor(running, administrators)
    form = {"token": token_of(client), "subject": "more", "scope": ["read", "compile"]}
    refused = client.post("/access/keys", data=form)
    assert (refused.status_code, "grants less than the call needs" in refused.text) == (403, True)
    audited = client.get("/access/audit").text
    assert "Administration/CreateKey" in audited
    (call_id, *_) = re.findall(r"call=([0-9a-f]{16})", audited)
    found = client.get("/find", params={"q": f"internal error; call id {call_id}"})
    assert found.headers["location"] == f"/access/audit?call={call_id}"
    assert call_id in client.get(f"/access/audit?call={call_id}").text


def test_who_is_no_administrator_is_told_which_scope_is_missing(running: Running, visitor: Visitor):
    client = visitor(running, a_key(scopes=["read", "write"]))
    for path in ("/access", "/access/audit"):
        answer = client.get(path)
        assert (answer.status_code, "the key lacks the scope admin" in answer.text) == (200, True), path
    assert client.get("/access/keys/cgk_01234567").status_code == 403


def test_keys_of_another_tenant_are_not_there(
    running: Running, visitor: Visitor, administrators: str, stack: Addresses
):
    key = made(visitor(running, administrators), scope="read")
    other = visitor(running, a_key())
    assert key[:12] not in other.get("/access").text
    assert other.get(f"/access/keys/{key[:12]}").status_code == 404
    with ContextClient(stack.context, api_key=administrators) as context:
        context.agents.put("reviewer")
        assert "reviewer" not in other.get("/access/audit").text
        assert "reviewer" in visitor(running, administrators).get("/access/audit").text


def test_an_operator_limits_a_tenant_and_starts_jobs(running: Running, visitor: Visitor, operators: str):
    client = visitor(running, operators)
    listed = client.get("/access/tenants")
    assert ">default<" in listed.text
    form = {
        "token": token_of(client),
        "tenant": "default",
        "records": "5000000",
        "bytes": "50 GiB",
        "blob_bytes": "default",
    }
    changed = client.post("/access/tenants", data=form)
    assert changed.status_code == 303, changed.text
    exported = {one["name"]: one for one in client.get("/access/tenants?export=json").json()}
    assert exported["default"]["limits"] == {
        "records_max": 5_000_000,
        "bytes_max": 50 * 2**30,
        "blob_bytes_max": None,
        "content_bytes_max": None,
    }
    assert client.post("/access/tenants", data={**form, "bytes": "much"}).status_code == 400
    client.post("/access/tenants", data={**form, "records": "default", "bytes": "default"})

    for kind in ("sweep", "fsck"):
        begun = client.post("/access/jobs", data={"token": token_of(client), "kind": kind, "quick": "yes"})
        assert begun.status_code == 303, begun.text
    jobs = client.get("/access/work?part=jobs").text
    (job, *_) = re.findall(r'href="(/access/jobs/[^"]+)"', jobs)
    assert "A check of stored data" in client.get(job).text
    retried = client.post("/access/work/retry", data={"token": token_of(client), "kind": "index"})
    assert retried.status_code == 303
    assert "are tried again now" in client.get("/access/work").text


def test_what_operators_see_is_not_an_administrators(running: Running, visitor: Visitor, administrators: str):
    client = visitor(running, administrators)
    for path in ("/access/tenants", "/access/work"):
        answer = client.get(path)
        assert (answer.status_code, "the key lacks the scope operator" in answer.text) == (200, True), path
    assert client.post("/access/jobs", data={"token": token_of(client), "kind": "fsck"}).status_code == 403
    assert "Owed in the background" not in client.get("/").text


def test_the_overview_draws_the_last_hour_and_what_is_stored(running: Running, visitor: Visitor, operators: str):
    client = visitor(running, operators)
    client.get("/")
    page = client.get("/").text
    for text in ("Context Service: calls a minute", "Entity Service: calls a minute", "there is no limit", "Owed in"):
        assert text in page, text
    assert "Entity Service: milliseconds" in client.get("/?part=recent").text
