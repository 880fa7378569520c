"""Keys and the audit log on the pages of access, over HTTP. How they look is in test_browser.py."""

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
    assert (refused.status_code, "more than it has" in refused.text) == (403, True)
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
        context.put_agent("reviewer")
        assert "reviewer" not in other.get("/access/audit").text
        assert "reviewer" in visitor(running, administrators).get("/access/audit").text
