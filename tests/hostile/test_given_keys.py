"""Keys that callers make: never more than a part of what their own key has, whatever the services' role asks for.

Everything is asked as the services' role, which may call the functions that make keys, and touch no table of them. That
a request is refused is not enough: no key may be there afterwards.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest

from contextkeep.errors import InvalidArgument, PermissionDenied, Unauthenticated
from service_runtime.auth import access, keys
from service_runtime.auth.access import Access
from service_runtime.auth.derived_keys import DerivedKeys, IssuedKey, end_context_keys, make_context_key
from service_runtime.auth.keys import KeyAdministration, NewKey, StoredKeys
from service_runtime.databases.embedded_postgres import EmbeddedPostgres
from service_runtime.erasure.erased_users import end_keys
from service_runtime.postgres import Database
from service_runtime.rpc.principal import ANONYMOUS, Principal
from tests.conftest import OTHER_PRINCIPAL, Urls, cloned
from tests.hostile.tables import SCHEMAS

ALL = ("read", "write", "admin", "delegate", "context:read", "compile")
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
CONTEXT = UUID(int=7)
WIDE = NewKey(tenant="default", subject="operator", scopes=ALL)
NARROW = NewKey(
    tenant="default",
    subject="a part of it",
    scopes=("read", "admin"),
    user_id="ada",
    app_ids=("crm", "erp"),
    agent_bundle_id="billing",
    graph_names=("sales",),
    lifetime=DAY,
)


@pytest.fixture(scope="module")
def urls(postgres: EmbeddedPostgres) -> Iterator[Urls]:
    with cloned(postgres) as made:
        yield made


@pytest.fixture
async def database(urls: Urls) -> AsyncIterator[Database]:
    async with Database.open(urls.service, connections_max=2, name="keys") as opened:
        yield opened


@pytest.fixture
def administration(urls: Urls) -> KeyAdministration:
    return KeyAdministration(urls.admin)


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is remembered, and nobody is made to wait."""
    monkeypatch.setattr(keys, "CACHE_S", -1.0)
    monkeypatch.setattr(access, "FAILURE_DELAY_S", 0.0)


async def whose(database: Database, key: str) -> Principal | None:
    return await StoredKeys(database).find(key)


async def principal_of(database: Database, administration: KeyAdministration, new: NewKey) -> Principal:
    """Return the principal of a key that an operator makes."""
    principal = await whose(database, administration.create(new))
    assert principal is not None
    return principal


async def of_context(
    database: Database,
    asking: Principal,
    *,
    scopes: Sequence[str] = ("read",),
    lifetime: timedelta = HOUR,
    context_id: UUID = CONTEXT,
) -> str:
    """Return a key of a context, made in a transaction of whom asks."""
    return (await issued(database, asking, scopes=scopes, lifetime=lifetime, context_id=context_id)).key


async def issued(
    database: Database, asking: Principal, *, scopes: Sequence[str], lifetime: timedelta, context_id: UUID = CONTEXT
) -> IssuedKey:
    return await database.of(asking, context_id=context_id).transaction(
        lambda one: make_context_key(one, asking, context_id, scopes=scopes, lifetime=lifetime)
    )


def executed(url: str, statement: str, *values: object) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(statement.encode(), values)


def count_of_keys(urls: Urls) -> tuple[Any, ...] | None:
    with psycopg.connect(urls.superuser) as connection:
        return connection.execute(
            "SELECT (SELECT count(*) FROM access.api_key), (SELECT count(*) FROM access.context_key)"
        ).fetchone()


async def test_a_key_makes_keys_that_are_parts_of_it(database: Database, administration: KeyAdministration):
    asking = await principal_of(database, administration, WIDE)
    given = DerivedKeys(database)

    key = await given.make(asking, NARROW)
    made = await whose(database, key)

    assert made is not None
    assert (made.tenant_id, made.subject, made.user_id) == (asking.tenant_id, "a part of it", "ada")
    assert (made.scopes, made.app_ids, made.graph_names) == ({"read", "admin"}, {"crm", "erp"}, {"sales"})
    smaller = await whose(
        database, await given.make(made, replace(NARROW, scopes=("read",), app_ids=("crm",), lifetime=HOUR))
    )
    assert smaller is not None
    assert smaller.app_ids == {"crm"}
    assert smaller.bounds != made.bounds


MORE = {
    "a scope": {"scopes": ("read", "write")},
    "no scope": {"scopes": ()},
    "another user": {"user_id": "bob"},
    "no user": {"user_id": ""},
    "another app": {"app_ids": ("crm", "hr")},
    "all apps": {"app_ids": ()},
    "another bundle": {"agent_bundle_id": "shipping"},
    "all bundles": {"agent_bundle_id": ""},
    "another graph": {"graph_names": ("sales", "default")},
    "all graphs": {"graph_names": ()},
    "more time": {"lifetime": 2 * DAY},
    "all time": {"lifetime": None},
}


@pytest.mark.parametrize("more", MORE.values(), ids=MORE)
async def test_no_key_makes_one_that_has_more(
    database: Database, administration: KeyAdministration, urls: Urls, more: dict[str, Any]
):
    asking = await principal_of(database, administration, NARROW)
    before = count_of_keys(urls)

    with pytest.raises(PermissionDenied):
        await DerivedKeys(database).make(asking, replace(NARROW, **{"lifetime": HOUR, **more}))

    assert count_of_keys(urls) == before


@pytest.mark.parametrize("scopes", [("read", "admin"), ("context:read", "admin")])
async def test_a_key_gives_on_to_ask_context_query_if_it_reads_or_asks_itself(
    database: Database, administration: KeyAdministration, scopes: tuple[str, ...]
):
    asking = await principal_of(database, administration, replace(WIDE, scopes=scopes))
    key = await DerivedKeys(database).make(asking, replace(WIDE, scopes=("context:read",)))
    made = await StoredKeys(database).find(key)
    assert made and made.scopes == {"context:read"}


async def test_what_may_only_ask_gives_on_no_reading(database: Database, administration: KeyAdministration):
    asking = await principal_of(database, administration, replace(WIDE, scopes=("context:read", "admin")))
    with pytest.raises(PermissionDenied):
        await DerivedKeys(database).make(asking, replace(WIDE, scopes=("read",)))
    neither = await principal_of(database, administration, replace(WIDE, scopes=("write", "admin")))
    with pytest.raises(PermissionDenied):
        await DerivedKeys(database).make(neither, replace(WIDE, scopes=("context:read",)))


async def test_to_make_a_key_for_a_user_takes_the_scope_delegate(database: Database, administration: KeyAdministration):
    asking = await principal_of(database, administration, replace(WIDE, scopes=("read", "admin")))

    with pytest.raises(PermissionDenied):
        await DerivedKeys(database).make(asking, NARROW)


async def those_who_may_not(database: Database, administration: KeyAdministration, urls: Urls) -> dict[str, Principal]:
    """Return principals who ask with a key that is not theirs, or not good any more."""
    asking = await principal_of(database, administration, WIDE)
    revoked = administration.create(WIDE)
    of_revoked = await whose(database, revoked)
    assert of_revoked is not None
    administration.revoke(revoked)
    expired = await principal_of(database, administration, WIDE)
    executed(urls.admin, "UPDATE access.api_key SET expires_at = now() WHERE id = %s", expired.key_id)
    child = await whose(database, await of_context(database, asking))
    assert child is not None
    return {
        "another tenant's": replace(asking, tenant_id=OTHER_PRINCIPAL.tenant_id),
        "revoked": of_revoked,
        "expired": expired,
        "none": replace(asking, key_id=uuid4()),
        "of a context": replace(child, scopes=asking.scopes),
    }


async def test_a_key_that_is_not_good_makes_and_revokes_none(
    database: Database, administration: KeyAdministration, urls: Urls
):
    given = DerivedKeys(database)
    victim = administration.create(replace(WIDE, scopes=("read",)))
    asking_ones = await those_who_may_not(database, administration, urls)
    before = count_of_keys(urls)

    for name, asking in asking_ones.items():
        for asked in (
            given.make(asking, replace(WIDE, scopes=("read",))),
            of_context(database, asking),
            given.revoke(asking, victim),
        ):
            with pytest.raises(PermissionDenied):
                await asked
        assert count_of_keys(urls) == before, name
    for asking in (ANONYMOUS, await principal_of(database, administration, replace(WIDE, scopes=("read", "write")))):
        with pytest.raises(PermissionDenied):
            await given.make(asking, replace(WIDE, scopes=("read",)))
        with pytest.raises(PermissionDenied):
            await given.revoke(asking, victim)
    assert await whose(database, victim) is not None


async def test_a_key_revokes_what_is_a_part_of_it_and_nothing_else(
    database: Database, administration: KeyAdministration
):
    given = DerivedKeys(database)
    asking = await principal_of(database, administration, NARROW)
    part = administration.create(replace(NARROW, scopes=("read",), lifetime=None))
    wider = administration.create(replace(NARROW, app_ids=()))
    theirs = administration.create(replace(NARROW, tenant="other"))

    assert await given.revoke(asking, part)
    assert await given.revoke(asking, part[:12])  # again is harmless
    assert not await given.revoke(asking, wider)
    assert not await given.revoke(asking, theirs)

    assert [await whose(database, key) is None for key in (part, wider, theirs)] == [True, False, False]


async def test_a_key_of_a_context_has_the_bounds_of_its_parent_and_its_context(
    database: Database, administration: KeyAdministration
):
    asking = await principal_of(database, administration, replace(NARROW, scopes=("read", "write", "admin")))

    key = await of_context(database, asking, scopes=())
    made = await whose(database, key)

    assert made == replace(asking, scopes=frozenset({"read", "write"}), context_id=CONTEXT, key_id=made and made.key_id)
    assert str(CONTEXT) in made.bounds
    assert "crm" in made.bounds


async def test_a_key_of_a_context_is_for_the_user_for_whom_the_call_is(
    database: Database, administration: KeyAdministration, urls: Urls
):
    runtime = await principal_of(database, administration, replace(WIDE, scopes=("read", "delegate")))
    lent = await of_context(database, runtime.acting_for("ada"))
    of_nobody = await of_context(database, runtime)

    assert [one and one.user_id for one in (await whose(database, lent), await whose(database, of_nobody))] == [
        "ada",
        "",
    ]
    without = await principal_of(database, administration, replace(WIDE, scopes=("read",)))
    another = await principal_of(database, administration, replace(WIDE, user_id="bob"))
    before = count_of_keys(urls)
    for asking in (replace(without, user_id="ada"), replace(another, user_id="ada"), replace(another, user_id="")):
        with pytest.raises(PermissionDenied):  # whatever the services believe
            await of_context(database, asking)
    assert count_of_keys(urls) == before


async def test_a_key_of_a_context_has_no_more_than_its_parent(
    database: Database, administration: KeyAdministration, urls: Urls
):
    reading = await principal_of(database, administration, replace(WIDE, scopes=("read",)))
    believed = replace(reading, scopes=frozenset(ALL))
    before = count_of_keys(urls)
    for asking, scopes in (
        (reading, ("write",)),
        (believed, ("read", "write")),
        (believed, ("read", "admin")),
        (believed, ()),
        (replace(reading, scopes=frozenset({"admin"})), ()),
        (replace(ANONYMOUS, context_id=CONTEXT), ("read",)),  # of a key that is no row
    ):
        with pytest.raises(PermissionDenied):
            await of_context(database, asking, scopes=scopes)
    for lifetime in (DAY + HOUR, -HOUR, timedelta(0)):
        with pytest.raises(InvalidArgument):
            await of_context(database, reading, lifetime=lifetime)
    assert count_of_keys(urls) == before


@pytest.mark.parametrize("lifetime", ["2 days", "-1 hour", "0", "1 month", None])
async def test_no_key_of_a_context_lives_longer_than_a_day_whoever_asks(
    database: Database, administration: KeyAdministration, urls: Urls, lifetime: str | None
):
    """The services' role may say what it likes: the function looks itself."""
    reading = await principal_of(database, administration, replace(WIDE, scopes=("read",)))
    before = count_of_keys(urls)
    statement = (
        "SELECT access.make_context_key(%s, gen_random_uuid(), 'x', 'x', gen_random_uuid(), '', '{read}', '', %s, NULL)"
    )
    for key_id in (reading.key_id, None):
        with pytest.raises(PermissionDenied):
            await database.of(reading).query(statement, (key_id, lifetime))
    assert count_of_keys(urls) == before
    await database.of(reading).query(statement, (reading.key_id, "1 hour"))
    executed(urls.admin, "DELETE FROM access.context_key WHERE key_sha256 = 'x'")


async def test_a_key_of_a_context_ends_with_what_it_is_made_of_or_earlier(
    database: Database, administration: KeyAdministration
):
    now = datetime.now(UTC)
    long_lived = await principal_of(database, administration, replace(WIDE, lifetime=90 * DAY))
    short_lived = await principal_of(database, administration, replace(WIDE, lifetime=HOUR / 2))
    token = replace(ANONYMOUS, user_id="ada", expires_at=now + HOUR / 2)
    over = replace(token, expires_at=now - timedelta(seconds=10))  # taken still: clocks differ

    for asking, lifetime, wanted in (
        (long_lived, HOUR, HOUR),
        (long_lived, DAY, DAY),
        (short_lived, DAY, HOUR / 2),
        (token, DAY, HOUR / 2),
        (token, HOUR / 4, HOUR / 4),
        (ANONYMOUS, DAY, HOUR),
    ):
        made = await issued(database, asking, scopes=("read",), lifetime=lifetime)
        assert abs(made.expires_at - now - wanted) < timedelta(seconds=60)
    with pytest.raises(PermissionDenied):
        await of_context(database, over)


async def test_the_keys_of_a_context_that_is_gone_are_gone_and_no_others(
    database: Database, administration: KeyAdministration, urls: Urls
):
    administration.add_tenant("other")
    ours, theirs = [
        await principal_of(database, administration, replace(WIDE, tenant=name)) for name in ("default", "other")
    ]
    gone, beside = uuid4(), uuid4()
    doomed = [await of_context(database, ours, context_id=gone) for _ in range(2)]
    kept = [await of_context(database, ours, context_id=beside), await of_context(database, theirs, context_id=gone)]

    assert await database.of(ours).transaction(lambda one: end_context_keys(one, gone)) == 2
    assert await database.of(ours).transaction(lambda one: end_context_keys(one, gone)) == 0

    assert [await whose(database, key) is None for key in (*doomed, *kept)] == [True, True, False, False]
    with psycopg.connect(urls.admin) as connection:
        left = connection.execute("SELECT tenant_id FROM access.context_key WHERE context_id = %s", (gone,)).fetchall()
    assert left == [(theirs.tenant_id,)]


async def test_the_keys_of_contexts_of_a_user_who_is_erased_are_gone_and_no_others(
    database: Database, administration: KeyAdministration
):
    runtime = await principal_of(database, administration, WIDE)
    theirs = await principal_of(database, administration, replace(WIDE, tenant="other"))
    token = replace(ANONYMOUS, subject="grace", user_id="grace")
    for_nobody = replace(ANONYMOUS, subject="grace")
    doomed = [await of_context(database, one) for one in (runtime.acting_for("grace"), token, for_nobody)]
    kept = [await of_context(database, one) for one in (runtime, runtime.acting_for("ada"), theirs.acting_for("grace"))]

    tenant = database.of(runtime)
    assert [await end_keys(tenant, "grace"), await end_keys(tenant, "")] == [3, 0]

    assert [await whose(database, key) is None for key in (*doomed, *kept)] == [True] * 3 + [False] * 3


@pytest.mark.parametrize("end", ["revoked_at = now()", "expires_at = now()"])
async def test_a_key_of_a_context_dies_with_its_parent(
    database: Database, administration: KeyAdministration, urls: Urls, end: str
):
    given = DerivedKeys(database)
    asking = await principal_of(database, administration, WIDE)
    short = await of_context(database, asking)
    ordinary = await given.make(asking, replace(WIDE, scopes=("read",)))
    assert await whose(database, short) is not None

    executed(urls.admin, f"UPDATE access.api_key SET {end} WHERE id = %s", asking.key_id)  # type: ignore[arg-type]

    assert await whose(database, short) is None
    assert await whose(database, ordinary) is not None  # whoever made it may have left


async def test_a_key_of_a_context_ends_and_is_revoked_by_itself(
    database: Database, administration: KeyAdministration, urls: Urls
):
    given = DerivedKeys(database)
    asking = await principal_of(database, administration, WIDE)
    over, revoked, by_operator = [await of_context(database, asking) for _ in range(3)]
    executed(
        urls.admin,
        "UPDATE access.context_key SET created_at = now() - interval '3 hours', expires_at = now() - interval '2 hours'"
        " WHERE prefix = %s",
        over[:12],
    )
    before = count_of_keys(urls)

    assert await given.revoke(asking, revoked)
    administration.revoke(by_operator)

    assert [await whose(database, key) for key in (over, revoked, by_operator)] == [None, None, None]
    await of_context(database, asking)
    assert count_of_keys(urls) == before  # what was over is gone


async def test_a_key_of_a_context_that_is_made_of_a_token_has_what_the_token_has(database: Database):
    token = replace(ANONYMOUS, subject="user-7", user_id="user-7", graph_names=frozenset({"sales"}))

    key = await of_context(database, token)

    made = await whose(database, key)
    assert made is not None
    assert (made.subject, made.user_id, made.graph_names) == ("user-7", "user-7", {"sales"})


async def test_keys_of_contexts_do_not_end_development_without_keys(postgres: EmbeddedPostgres):
    with cloned(postgres) as urls:
        async with Database.open(urls.service, connections_max=2, name="keys") as database:
            stored = StoredKeys(database)
            anybody = Access([stored], open_while_empty=stored)
            key = await of_context(database, ANONYMOUS)

            assert await anybody.authenticate([]) == ANONYMOUS
            made = await anybody.authenticate([("x-api-key", key)])
            assert (made.context_id, made.subject) == (CONTEXT, "anonymous")
            executed(urls.admin, "DELETE FROM access.context_key")
            with pytest.raises(Unauthenticated):  # and not anybody, who sees every context
                await anybody.authenticate([("x-api-key", key)])
            assert await anybody.authenticate([("x-api-key", "cgk_of-another-database")]) == ANONYMOUS

            KeyAdministration(urls.admin).create(WIDE)
            assert not await stored.is_empty()


async def test_a_key_with_a_bound_that_is_not_known_is_worthless(postgres: EmbeddedPostgres):
    """A later version binds keys to something else; a process of this one still runs."""
    with cloned(postgres) as urls:
        key = KeyAdministration(urls.admin).create(WIDE)
        async with Database.open(urls.service, connections_max=2, name="keys") as database:
            assert await whose(database, key) is not None
            with psycopg.connect(urls.admin, autocommit=True) as connection:
                (definition,) = connection.execute("SELECT pg_get_functiondef('access.find_key'::regproc)").fetchone()
                later = definition.replace("jsonb_build_object(", "jsonb_build_object('room', 'attic', ")
                assert later != definition
                connection.execute(later.encode())

            assert await whose(database, key) is None


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO access.api_key SELECT * FROM access.api_key",
        "INSERT INTO access.context_key DEFAULT VALUES",
        "UPDATE access.context_key SET expires_at = now()",
        "DELETE FROM access.context_key",
        "SELECT FROM access.context_key",
        "UPDATE access.api_key SET parent_id = NULL",
        "SELECT access.asking_key(gen_random_uuid())",
        "SELECT access.is_within(NULL, NULL)",
        "SELECT access.reach_of(NULL)",
    ],
)
async def test_the_services_role_touches_no_table_of_keys(database: Database, statement: str):
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        await database.untenanted(statement)


def test_what_runs_as_the_owner_has_its_search_path_and_is_not_for_all(urls: Urls):
    """Found in the catalogue. Without a path of its own, a function finds what its caller has put in front."""
    with psycopg.connect(urls.superuser) as connection:
        functions = connection.execute(
            "SELECT p.oid::regprocedure::text, p.proconfig, has_function_privilege('public', p.oid, 'EXECUTE'),"
            " p.prorettype = 'trigger'::regtype"
            " FROM pg_proc p WHERE p.prosecdef AND p.pronamespace::regnamespace::text = ANY (%s)",
            (SCHEMAS,),
        ).fetchall()
    assert len(functions) >= 8
    for name, config, is_for_all, is_trigger in functions:
        assert "search_path=pg_catalog, pg_temp" in (config or []), name
        assert is_trigger or not is_for_all, name
