"""Signing in and out, and what stands in front of every page, over HTTP."""

from __future__ import annotations

import re
from http.cookies import SimpleCookie

import httpx2 as httpx
import pytest

from contextkeep import ContextClient
from contextkeep_console.session import IDLE_S, SLOWED_FROM, Sessions
from contextkeep_console.settings import Settings
from tests.conftest import Addresses
from tests.console.conftest import Revocable, Running, Visitor, a_key, served
from tests.console.test_session import Clock

PAGES = ["/", "/contexts", "/windows", "/graph", "/memory", "/history", "/mappings", "/mappings/try", "/sources"]


def token_of(client: httpx.Client) -> str:
    return client.get("/memory").text.partition('name="token" value="')[2].partition('"')[0]


@pytest.mark.parametrize("path", PAGES)
def test_who_has_not_signed_in_is_led_to_the_door_and_then_where_he_wanted(
    running: Running, visitor: Visitor, key: str, path: str
):
    client = visitor(running, None)
    answer = client.get(path)
    assert (answer.status_code, answer.headers["location"].partition("?")[0]) == (303, "/sign-in")

    asked = client.get(answer.headers["location"])
    wanted = asked.text.partition('name="next" value="')[2].partition('"')[0]
    signed_in = client.post("/sign-in", data={"key": key, "next": wanted})

    assert signed_in.headers["location"] == path
    assert client.get(path).status_code == 200


def test_every_page_names_the_tenant_and_the_key_that_has_signed_in(
    stack: Addresses, running: Running, visitor: Visitor, administrators: str
):
    session = visitor(running, administrators)
    with ContextClient(stack.context, api_key=administrators) as client:
        caller = client.keys.get_caller()
    assert caller.tenant
    for name in (caller.tenant, caller.subject):
        assert f"<bdi>{name[:24]}" in session.get("/memory").text


def test_the_cookie_is_nobodys_but_the_servers(running: Running, visitor: Visitor, key: str):
    client = visitor(running, None)
    answer = client.post("/sign-in", data={"key": key})

    (cookie,) = SimpleCookie(answer.headers["set-cookie"]).values()
    assert cookie["httponly"]
    assert cookie["samesite"] == "strict"
    assert cookie["path"] == "/"
    assert not cookie["domain"]
    assert key not in str(answer.headers)
    assert len(cookie.value) >= 43


def test_consoles_on_two_ports_of_a_host_do_not_end_sessions_of_each_other(stack: Addresses, key: str):
    """A browser has one jar for all ports of a host, as this client has."""
    settings = Settings(port=0, context_address=stack.context, entity_address=stack.entity)
    with served(settings) as first, served(settings) as second, httpx.Client() as client:
        for console in (first, second):
            named = {"origin": console.url}
            assert client.post(f"{console.url}/sign-in", data={"key": key}, headers=named).status_code == 303
        assert len(client.cookies) == 2
        client.get(f"{second.url}/memory").raise_for_status()
        assert client.get(f"{first.url}/memory").status_code == 200


def test_behind_tls_the_cookie_never_goes_without(stack: Addresses, key: str):
    settings = Settings(
        port=0,
        public_url="https://console.example.com",
        context_address=stack.context,
        entity_address=stack.entity,
    )
    with served(settings) as console:
        named = {"host": "console.example.com", "origin": "https://console.example.com"}
        answer = httpx.post(f"{console.url}/sign-in", data={"key": key}, headers=named)

    (name, cookie), *_ = SimpleCookie(answer.headers["set-cookie"]).items()
    assert cookie["secure"]
    assert name == "__Host-contextkeep-443"
    assert "max-age" in answer.headers["strict-transport-security"]


@pytest.mark.parametrize("path", PAGES)
def test_no_page_has_the_key_in_it(running: Running, visitor: Visitor, key: str, path: str):
    answer = visitor(running, key).get(path)

    assert answer.status_code == 200
    assert key not in answer.text
    assert key not in str(answer.headers)


@pytest.mark.parametrize("path", [*PAGES, "/sign-in", "/static/console.js", "/nothing", "/contexts/nothing"])
def test_every_answer_has_the_strict_policy(running: Running, visitor: Visitor, key: str, path: str):
    headers = visitor(running, key).get(path, follow_redirects=False).headers

    policy = headers["content-security-policy"]
    assert "default-src 'self'" in policy
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "same-origin"
    assert headers["cache-control"] == ("no-cache" if "static" in path else "no-store")


@pytest.mark.parametrize("path", PAGES)
def test_no_page_has_a_style_or_a_script_in_it(running: Running, visitor: Visitor, key: str, path: str):
    text = visitor(running, key).get(path).text

    assert " style=" not in text
    assert "<style" not in text
    assert " onclick=" not in text
    assert text.count("<script") == text.count('<script type="module" src="/static/console.js"></script>') == 1


def test_a_wrong_key_is_not_taken_and_not_shown(running: Running, visitor: Visitor):
    answer = visitor(running, None).post("/sign-in", data={"key": "wrong-key"})

    assert answer.status_code == 401
    assert "do not take this key" in answer.text
    assert "wrong-key" not in answer.text
    assert "set-cookie" not in answer.headers


def test_wrong_keys_of_an_address_are_slowed_and_its_correct_key_signs_in_at_once(
    stack: Addresses, visitor: Visitor, key: str
):
    """All users of an ingress share an address: the mistakes of one must not lock out the others."""
    settings = Settings(port=0, context_address=stack.context, entity_address=stack.entity)
    with served(settings) as console:
        client = visitor(console, None)
        codes = [client.post("/sign-in", data={"key": f"wrong {n}"}).status_code for n in range(SLOWED_FROM + 1)]
        correct = client.post("/sign-in", data={"key": key})
        after = client.post("/sign-in", data={"key": "wrong again"})

    assert codes == [401] * SLOWED_FROM + [429]
    assert correct.status_code == 303
    assert after.status_code == 401


def test_behind_a_trusted_proxy_each_user_has_an_address_and_from_elsewhere_the_header_is_not_believed(
    stack: Addresses, visitor: Visitor
):
    for trusted, last in ((("127.0.0.0/8",), 401), ((), 429)):
        settings = Settings(port=0, context_address=stack.context, entity_address=stack.entity, trusted_proxies=trusted)
        with served(settings) as console:
            client = visitor(console, None)
            for number in range(SLOWED_FROM):
                client.post("/sign-in", data={"key": f"wrong {number}"}, headers={"x-forwarded-for": "192.0.2.1"})
            answer = client.post("/sign-in", data={"key": "wrong"}, headers={"x-forwarded-for": "192.0.2.2"})

        assert answer.status_code == last


def test_a_link_of_development_signs_in_once(stack: Addresses, visitor: Visitor, key: str):
    settings = Settings(
        port=0, context_address=stack.context, entity_address=stack.entity, link_token="once", link_key=key
    )
    with served(settings) as console:
        wrong = visitor(console, None).get("/sign-in?link=another")
        looked = visitor(console, None).head("/sign-in?link=once")
        client = visitor(console, None)
        first = client.get("/sign-in?link=once")
        page = client.get("/")
        again = visitor(console, None).get("/sign-in?link=once")

    assert (first.status_code, first.headers["location"], page.status_code) == (303, "/", 200)
    assert [answer.status_code for answer in (wrong, again)] == [401, 401]
    assert "set-cookie" not in again.headers and "set-cookie" not in looked.headers


def test_a_page_that_is_not_there_links_to_no_other_host(running: Running, visitor: Visitor, key: str):
    answer = visitor(running, key).get(f"{running.url}//evil.example/x")

    assert answer.status_code == 404
    assert "//evil.example" not in " ".join(re.findall('href="([^"]*)"', answer.text))


@pytest.mark.parametrize("key", ["", "x" * 20_000, "\x00\x01", "Schlüssel"], ids=["none", "long", "control", "umlaut"])
def test_what_can_be_no_key_is_refused(running: Running, visitor: Visitor, key: str):
    assert visitor(running, None).post("/sign-in", data={"key": key}).status_code in {400, 401, 429}


def test_signing_out_ends_the_session_on_the_server(running: Running, visitor: Visitor, key: str):
    client = visitor(running, key)
    cookies = dict(client.cookies)
    left = client.post("/sign-out")
    assert left.headers["location"].startswith("/sign-in")
    assert left.headers["clear-site-data"] == '"cache"'

    again = httpx.get(f"{running.url}/contexts", cookies=cookies)
    assert again.status_code == 303


def test_signing_in_again_ends_the_session_before(running: Running, visitor: Visitor, key: str):
    client = visitor(running, key)
    before = dict(client.cookies)
    client.post("/sign-in", data={"key": key})

    assert client.get("/contexts").status_code == 200
    assert httpx.get(f"{running.url}/contexts", cookies=before).status_code == 303


def test_an_idle_session_ends(stack: Addresses, visitor: Visitor, key: str):
    clock = Clock()
    settings = Settings(port=0, context_address=stack.context, entity_address=stack.entity)
    with served(settings, Sessions(clock=clock)) as console:
        client = visitor(console, key)
        assert client.get("/contexts").status_code == 200
        clock.now += IDLE_S + 1
        assert client.get("/contexts").status_code == 303


def test_a_page_that_asks_by_itself_keeps_no_session_alive(stack: Addresses, visitor: Visitor, key: str):
    clock = Clock()
    settings = Settings(port=0, context_address=stack.context, entity_address=stack.entity)
    with served(settings, Sessions(clock=clock)) as console:
        client = visitor(console, key)
        clock.now += IDLE_S * 0.6
        assert client.get("/?part=health").status_code == 200
        clock.now += IDLE_S * 0.6
        assert client.get("/contexts").status_code == 303


def test_a_revoked_key_ends_the_session(running: Running, visitor: Visitor, key: str, callers: Revocable):
    client = visitor(running, key)
    assert client.get("/contexts").status_code == 200
    callers.revoked.add(key)

    answer = client.get("/contexts")
    assert answer.headers["location"] == "/sign-in?why=refused"
    assert "revoked" in client.get(answer.headers["location"]).text
    callers.revoked.discard(key)
    assert client.get("/contexts").status_code == 303


@pytest.mark.parametrize(
    "elsewhere",
    ["https://evil.example", "//evil.example", "/\\evil.example", "javascript:alert(1)", "evil", "/\n/evil"],
)
def test_nobody_is_led_elsewhere_behind_the_door(running: Running, visitor: Visitor, key: str, elsewhere: str):
    answer = visitor(running, None).post("/sign-in", data={"key": key, "next": elsewhere})

    assert answer.headers["location"] == "/"


@pytest.mark.parametrize(
    "host",
    [
        *("evil.example", "127.0.0.1.evil.example", "127.0.0.1:7380.evil.example", "localhost:80@evil.example", ""),
        *("localhost@evil.example", "[::2]:80", "127.0.0.1:80/evil.example"),
    ],
)
def test_a_page_that_is_called_by_another_name_is_not_given(running: Running, host: str):
    """Somebody else's DNS may name our address."""
    answer = httpx.get(f"{running.url}/sign-in", headers={"host": host})

    assert answer.status_code in {400, 421}
    assert "key" not in answer.text


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "", "http://127.0.0.1", "http://localhost:1"])
@pytest.mark.parametrize("path", ["/sign-in", "/sign-out", "/records", "/contexts/x/delete"])
def test_a_form_of_another_page_is_not_taken(running: Running, visitor: Visitor, key: str, path: str, origin: str):
    client = visitor(running, key)
    form = {"token": token_of(client), "key": key, "sure": "yes"}

    assert client.post(path, data=form, headers={"origin": origin}).status_code == 403
    assert client.get("/contexts").status_code == 200


def test_a_form_without_an_origin_is_not_taken(running: Running, key: str):
    assert httpx.post(f"{running.url}/sign-in", data={"key": key}).status_code == 403


def test_a_form_needs_the_token_of_its_session(running: Running, visitor: Visitor, key: str):
    client, other = visitor(running, key), visitor(running, key)
    for token in ("", "wrong", "é", token_of(other)):
        answer = client.post("/mappings/register", data={"token": token, "name": "mine", "rules": "{}"})
        assert answer.status_code == 403
        assert "another session" in answer.text


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
def test_nothing_but_pages_and_forms_is_answered(running: Running, visitor: Visitor, key: str, method: str):
    assert visitor(running, key).request(method, "/contexts").status_code == 405


def test_a_form_that_is_too_large_is_not_read(running: Running, visitor: Visitor, key: str):
    client = visitor(running, key)
    answer = client.post("/mappings/try", data={"token": token_of(client), "rules": "x" * (3 << 20)})

    assert answer.status_code == 413


def test_acting_for_a_user_needs_a_key_that_may(running: Running, visitor: Visitor):
    plain, delegate = a_key(scopes=["read", "write"]), a_key(scopes=["read", "write", "delegate"])
    refused = visitor(running, None).post("/sign-in", data={"key": plain, "user": "ann"})
    taken = visitor(running, delegate, user="ann").get("/")

    assert (refused.status_code, "delegate" in refused.text) == (400, True)
    assert "ann" in taken.text


def test_without_services_the_door_says_so(lonely: Running, visitor: Visitor, key: str):
    answer = visitor(lonely, None).post("/sign-in", data={"key": key})

    assert answer.status_code == 503
    assert "No service answers" in answer.text


def test_it_says_that_it_lives(lonely: Running):
    assert httpx.get(f"{lonely.url}/healthz").text == "ok"
