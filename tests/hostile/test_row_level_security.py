"""Every table and view, asked directly as the services' role: of another tenant there is nothing to see and to change.

Found in the catalogue: a new table is in these tests the day it is added, and fails them until a tenant has a row.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import psycopg
import pytest
from psycopg import sql

from service_runtime.databases.embedded_postgres import SERVICE_ROLE, EmbeddedPostgres
from tests.clients.stack import running_in_a_thread
from tests.conftest import OTHER_PRINCIPAL, PRINCIPAL, Urls, cloned
from tests.hostile.calling import AnyTenant, Client
from tests.hostile.tables import SCHEMAS, columns_of, relations, switched_off
from tests.hostile.things import seeded

OURS, OTHERS = OTHER_PRINCIPAL.tenant_id, PRINCIPAL.tenant_id

# What is under no policy, and why nobody learns anything of another by it.
OPEN = {
    "access.api_key": "hashes of keys, looked for before it is known whose they are",
    "access.context_key": "the services' role reads and writes nothing of it, but by functions",
    "access.migration": "what is installed",
    "access.move": "the services' role reads and writes nothing of it",
    "access.residence": "ids of tenants that live here: looked at before a transaction is a tenant's",
    "access.this_database": "one name",
    "access.tenant": "ids and names of tenants: no RPC reads it",
    "context.mapping_revision": "one number, for the replicas",
    "context.migration": "what is installed",
    "entity.migration": "what is installed",
}

# What bounds that are known do not hold for, and why nobody learns anything by it.
UNBOUND = {
    "entity.change_feed": "the tenant's: whether its changes are kept, and how far back",
    "context.blob": "nobody names a blob but by a record",
    "context.outbox": "what is owed to records: no RPC reads it",
    "context.tenant_limit": "the tenant's",
    "context.agent": "the tenant's, to read; who may name which is a matter of its callers, not of bounds",
    "context.mcp_server": "the tenant's, to read",
    "context.mcp_tool": "the tenant's, to read",
    "context.specialist": "the tenant's, to read",
    "context.provider_setting": "the tenant's, to read",
    "context.context_setting": "the tenant's, to read",
    "context.window_profile": "the tenant's, to read",
    "context.tenant_usage": "the tenant's",
    "context.model_usage": "the tenant's: tokens of a day, and of no context",
    "context.token_calibration": "the tenant's: ratios of bills, and of no context",
}
HAVE_NO_APP = {
    "entity.change",
    "entity.node",
    "entity.edge",
    "entity.embedding",
    "entity.node_io",
    "entity.progress",
    "entity.node_of_tenant",
}

# Shared by all whose bounds are known, but for rows that are an app's.
OF_APPS = ("context.mapping", "context.definition", "context.window_profile_version")

# What belongs to contexts: a statement that names none, or nobody, has no row of it.
OF_CONTEXTS = (
    "context.context",
    "context.context_external_id",
    "context.message",
    "context.task",
    "context.message_record",
    "context.artifact",
    "context.context_window",
    "context.window_block",
    "context.window_summary",
    "context.window_checkpoint",
    "context.window_fork",
    "context.window_entry",
    "context.window_fold",
    "context.window_usage",
    "context.erasure",
)

_OF_PASSAGES = "scope_id, scope_kind, owner_user_id, graph_name, agent_bundle_id, app_id, ancestors"
_THEIRS = "gen_random_uuid(), 'record', '', 'default', '', '', '{}'"

# Rows of tables that no RPC fills yet: columns and values beside `tenant_id`.
ROWS = {
    "entity.change": (
        "id, is_removed, graph_name, agent_bundle_id, to_agent_bundle_id, general_type_name, specific_type_name",
        "gen_random_uuid(), true, 'default', '', '', 'A', 'A'",
    ),
    "context.tenant_limit": ("blob_bytes_max", "1000000"),
    "context.model_usage": ("day, tokens", "'2030-12-31', 7"),
    "context.source_test": (
        "test_id, context_ids, owner_user_id, created_by, label, warnings, outcome, question, answer",
        "gen_random_uuid(), '{}', '', '', '', '{}', '{}', '', ''",
    ),
    "context.provider_setting": ("provider_id, setting, updated_by", "'workspace', '{}', ''"),
    "context.mcp_server": ("server_id, display_name, url, is_disabled, updated_by", "'s', '', '', false, ''"),
    "context.mcp_tool": (
        "server_id, tool_name, provider_id, definition, definition_sha256, discovered_at",
        "'s', 't', 'mcp-t', '', '', now()",
    ),
    "context.memory_refusal": ("owner_user_id, app_id, agent_bundle_id, statement_sha256", "'ada', 'another', '', ''"),
    "context.subject_erasure": ("erasure_id, subject_sha256, requested_by", "gen_random_uuid(), '', ''"),
    "context.erased_blob": ("erasure_id, blob_id", "gen_random_uuid(), gen_random_uuid()"),
    "entity.erasure": ("erasure_id", "gen_random_uuid()"),
    "context.job": ("id, kind, started_by, options", "gen_random_uuid(), 'SWEEP', '', '{}'"),
    "context.definition": ("name, version, app_id, created_by, rules", "'d', 1, 'another', '', '{}'"),
    "context.window_profile_version": (
        "name, version, sha256, created_by, text, base, app_id",
        "'coding', 1, '', '', '', 'coding', 'another'",
    ),
    "context.window_learning": ("profile, app_id", "'coding', 'another'"),
    "context.outbox": ("id, topic, subject_id", "gen_random_uuid(), 'index', gen_random_uuid()"),
    "context.passage": (
        f"{_OF_PASSAGES}, seq, session, said_at, ordinal, part, length_before, marks, kind, role, author, terms, text",
        f"{_THEIRS}, 1, 1, now(), 0, 0, 0, 0, 'text', '', '', ARRAY[7], 'dog'",
    ),
    "context.passage_vector": (f"{_OF_PASSAGES}, seq, ordinal, model, vector", f"{_THEIRS}, 1, 0, 'm', '[1]'"),
    "context.passage_session": (
        f"{_OF_PASSAGES}, session, passages, length, places, last_length, length_before_last",
        f"{_THEIRS}, 1, 1, 1, 1, 1, 0",
    ),
    "context.passage_scope": (
        f"{_OF_PASSAGES}, first_seq, last_seq, passages, sessions, length, length_before, length_after, authors",
        f"{_THEIRS}, 1, 1, 1, 1, 1, 0, 0, '{{}}'",
    ),
}

_OF_WINDOW = "context_id, window_id, ancestors, owner_user_id, app_id, agent_bundle_id"
_OF_A_WINDOW = "gen_random_uuid(), gen_random_uuid(), '{}', '', '', ''"
ROWS |= {
    "context.window_summary": (
        f"{_OF_WINDOW}, level, step_from, step_to, seq_from, seq_to, tokens, epoch_from, text, pieces, kept",
        f"{_OF_A_WINDOW}, 2, 1, 1, 1, 1, 1, 1, '', '[]', '[]'",
    ),
    "context.window_entry": (
        f"{_OF_WINDOW}, number, seq, section, key, text, value, ref, source",
        f"{_OF_A_WINDOW}, 1, 1, 'value', 'k', '', '', '', 'rule'",
    ),
    "context.window_fold": (
        f"{_OF_WINDOW}, epoch, reason, last_seq, step, tokens_before, tokens_after, receipt",
        f"{_OF_A_WINDOW}, 1, 'high_mark', 1, 1, 2, 1, '{{}}'",
    ),
    "context.window_checkpoint": (
        f"{_OF_WINDOW}, number, epoch, reached_seq, entry_count, block_count, step_count, folded_step, first_number,"
        " left_out_tokens, state_tokens, has_untold, reason, created_by, label, state_text, state_pieces, tallies",
        f"{_OF_A_WINDOW}, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, false, 'steps', '', '', '', '[]', '{{}}'",
    ),
    "context.window_fork": (
        f"{_OF_WINDOW}, number, fork_context_id, fork_window_id",
        f"{_OF_A_WINDOW}, 1, gen_random_uuid(), gen_random_uuid()",
    ),
}

# What belongs to contexts and users is seen with both said; `test_walls_of_contexts.py` says what else they do.
SAYING_ALL = "SELECT set_config('app.context', '*', false), set_config('app.subject', '*', false)"


@pytest.fixture(scope="module")
def filled(postgres: EmbeddedPostgres, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Urls]:
    """A database in which two tenants have rows in every table."""
    with cloned(postgres, is_alone=True) as urls:
        with (
            running_in_a_thread(urls.service, tmp_path_factory.mktemp("blobs"), callers=AnyTenant()) as addresses,
            Client.open(addresses) as client,
        ):
            for tenant_id in (OURS, OTHERS):
                seeded(client, tenant_id)
        with psycopg.connect(urls.admin, autocommit=True) as connection:
            for table, (columns, values) in ROWS.items():
                for tenant_id in (OURS, OTHERS):
                    statement = f"INSERT INTO {table} (tenant_id, {columns}) VALUES (%s, {values})"
                    connection.execute(statement.encode(), (tenant_id,))
        yield urls


def tenanted(urls: Urls) -> list[str]:
    return [name for name in relations(urls.superuser) if name not in OPEN]


def test_every_relation_has_a_tenant_or_a_reason_for_none(filled: Urls):
    without = {name for name, has_tenant in relations(filled.superuser).items() if not has_tenant}
    assert without <= set(OPEN), "give it a tenant_id and the policy, or a line in OPEN"


def test_no_tenant_sees_or_changes_a_row_of_another(filled: Urls):
    for table in tenanted(filled):
        check(filled, table)


def test_a_bound_key_sees_no_row_that_is_outside_of_its_bounds(filled: Urls):
    """A new table is asked the day it is added: a policy `bounds`, or a line in UNBOUND."""
    with psycopg.connect(filled.service) as connection:
        connection.execute(SAYING_ALL)
        connection.execute("SELECT set_config('app.tenant', %s, false)", (str(OURS),))
        without = {table: count(connection, table) for table in tenanted(filled)}
        for bounds in ('{"graph_names": ["x"]}', '{"agent_bundle_id": "x"}', '{"app_ids": ["x"]}'):
            connection.execute("SELECT set_config('app.bounds', %s, false)", (bounds,))
            for table in tenanted(filled):
                seen = count(connection, table)
                assert without[table] > 0
                if table in UNBOUND or (table in HAVE_NO_APP and "app_ids" in bounds):
                    assert seen == without[table], table
                elif table in OF_APPS:  # the shared ones, and all where the key is not bound to apps
                    assert 0 < seen <= without[table]
                    assert (seen < without[table]) == ("app_ids" in bounds)
                else:
                    assert seen == 0, f"a key with {bounds} sees rows of {table}"


# Rows of the tenant that a key of a context needs in order to store a file: no data of other contexts.
WITH_FILES = {"context.blob", "context.tenant_limit", "context.tenant_usage"}


# Policies of files of messages, which no other table has; `0007_files.sql` of the context service explains them.
BY_HAND = {"context.wm_record": {"bounds", "file"}, **{table: {"bounds"} for table in WITH_FILES}}


@pytest.mark.parametrize(
    "bounds",
    [
        '{"context_id": "00000000-0000-7000-8000-000000000009"}',
        '{"context_id": "00000000-0000-7000-8000-000000000009", "graph_names": ["default"]}',
        '{"unheard_of": null}',
        '["graph_names"]',
    ],
)
def test_a_bound_that_is_not_known_hides_every_row(filled: Urls, bounds: str):
    """Whoever makes a kind of key makes the policies that let it see something: until then it sees nothing."""
    with psycopg.connect(filled.service) as connection:
        connection.execute(SAYING_ALL)
        connection.execute("SELECT set_config('app.tenant', %s, false)", (str(OURS),))
        assert all(count(connection, table) for table in tenanted(filled))
        connection.execute("SELECT set_config('app.bounds', %s, false)", (bounds,))
        seen = {table for table in tenanted(filled) if count(connection, table)}
        assert seen == (WITH_FILES if "context_id" in bounds else set())


@pytest.mark.parametrize("bounds", ['{"graph_names": null}', '{"agent_bundle_id": null}', '{"app_ids": null}'])
def test_a_bound_that_cannot_be_read_hides_what_it_is_about(filled: Urls, bounds: str):
    with psycopg.connect(filled.service) as connection:
        connection.execute(SAYING_ALL)
        connection.execute("SELECT set_config('app.tenant', %s, false)", (str(OURS),))
        connection.execute("SELECT set_config('app.bounds', %s, false)", (bounds,))
        bound = [table for table in tenanted(filled) if table not in {*UNBOUND, *OF_APPS}]
        if "app_ids" in bounds:
            bound = [table for table in bound if table not in HAVE_NO_APP]
        assert [table for table in bound if count(connection, table)] == []


@pytest.mark.parametrize("wall", ["app.context", "app.subject"])
def test_where_no_context_or_no_subject_is_said_there_is_no_row(filled: Urls, wall: str):
    with psycopg.connect(filled.service) as connection:
        connection.execute(SAYING_ALL)
        connection.execute("SELECT set_config('app.tenant', %s, false)", (str(OURS),))
        assert all(count(connection, table) for table in OF_CONTEXTS)
        for somebody_else in ("", "ffffffff-ffff-7fff-8fff-ffffffffffff"):
            connection.execute("SELECT set_config(%s, %s, false)", (wall, somebody_else))
            assert [table for table in OF_CONTEXTS if count(connection, table)] == []


def test_without_a_tenant_there_are_no_rows(filled: Urls):
    with psycopg.connect(filled.service) as connection:
        connection.execute(SAYING_ALL)
        for table in tenanted(filled):
            assert count(connection, table) == 0, table


def test_every_table_is_checked_for_real(filled: Urls):
    """Each table is opened once, and the check must say so; and closed to all, which it must say too."""
    for table in tenanted(filled):
        if is_view(filled, table):
            continue
        with switched_off(filled, table), pytest.raises(AssertionError, match="sees"):
            check(filled, table)
        with psycopg.connect(filled.admin, autocommit=True) as connection:
            policy = "SELECT condition FROM access.policy_kinds() WHERE kind = 'tenant'"
            ((condition,),) = connection.execute(policy).fetchall()
            name = sql.Identifier(*table.split("."))
            connection.execute(sql.SQL("ALTER POLICY tenant ON {} USING (false)").format(name))
            try:
                with pytest.raises(AssertionError, match="its own"):
                    check(filled, table)
            finally:
                connection.execute(sql.SQL("ALTER POLICY tenant ON {} USING ({})").format(name, sql.SQL(condition)))
        check(filled, table)


def test_a_view_that_forgets_the_tenant_is_found(filled: Urls):
    """A view of the owner's reads below the policies of its tables."""
    with psycopg.connect(filled.admin, autocommit=True) as connection:
        connection.execute("CREATE VIEW entity.leaking AS SELECT id, tenant_id FROM entity.node")
        connection.execute(f"GRANT SELECT ON entity.leaking TO {SERVICE_ROLE}".encode())
        try:
            with pytest.raises(AssertionError, match=r"entity\.leaking"):
                test_no_tenant_sees_or_changes_a_row_of_another(filled)
        finally:
            connection.execute("DROP VIEW entity.leaking")


def test_every_policy_is_of_a_kind_and_all_but_that_of_the_tenant_only_take_rows_away(filled: Urls):
    with psycopg.connect(filled.admin) as connection:
        of_kinds = policies_of_kinds(connection)
        connection.rollback()
        found = policies(connection, "schemaname = ANY (%s)", SCHEMAS)
    assert {table for table, policy in found if policy in of_kinds["tenant"]} == {
        table for table in tenanted(filled) if not is_view(filled, table)
    }
    for table, policy in found:
        is_of_kind = any(policy in of_kind for of_kind in of_kinds.values())
        is_by_hand = policy[0] in BY_HAND.get(table, ()) and policy[1] == "RESTRICTIVE"
        assert is_of_kind or is_by_hand, f"{table}: {policy} is of no kind"
        assert policy in of_kinds["tenant"] or policy[1] == "RESTRICTIVE", (table, policy)
    for table in OF_CONTEXTS:
        for kind in ("context", "subject", "bounds:context"):
            assert {(table, policy) for policy in of_kinds[kind]} <= found, (table, kind)


def test_the_policy_of_a_tenant_is_never_forgotten(filled: Urls):
    with psycopg.connect(filled.admin) as connection:
        for kinds in (["bounds:hidden"], ["tenant", "no such kind"]):
            with pytest.raises(psycopg.errors.RaiseException, match=r"no policies for context\.job"):
                connection.execute("SELECT access.policy('context.job', VARIADIC %s)", (kinds,))
            connection.rollback()


Policy = tuple[str | None, ...]  # name, whether it is permissive, command, and both conditions

COLUMNS = (
    "tenant_id uuid, context_id uuid, record_id uuid, upload_id uuid, node_id uuid, owner_id uuid, from_node_id uuid,"
    " to_node_id uuid, ancestors uuid[], owner_user_id text, agent_bundle_id text, to_agent_bundle_id text,"
    " app_id text, graph_name text, bounds text, kind text, record jsonb"
)


def policies_of_kinds(connection: psycopg.Connection) -> dict[str, set[Policy]]:
    """Make a table of each kind, and return what its policies are."""
    kinds = connection.execute("SELECT DISTINCT kind FROM access.policy_kinds() WHERE kind <> 'unbound'").fetchall()
    found = {}
    for (kind,) in kinds:
        connection.execute(f"CREATE TABLE context.of_kind ({COLUMNS})".encode())
        connection.execute("SELECT access.policy('context.of_kind', VARIADIC %s)", ([*{"tenant", kind}],))
        of_kind = {policy for _, policy in policies(connection, "tablename = %s", "of_kind")}
        found[kind] = {policy for policy in of_kind if (policy[0] == "tenant") == (kind == "tenant")}
        assert found[kind]
        connection.execute("DROP TABLE context.of_kind")
    return found


def policies(connection: psycopg.Connection, condition: str, value: object) -> set[tuple[str, Policy]]:
    rows = connection.execute(
        "SELECT schemaname || '.' || tablename, policyname, permissive, cmd, qual, with_check FROM pg_policies"
        f" WHERE {condition}".encode(),
        (value,),
    )
    return {(table, policy) for table, *policy in rows for policy in [tuple(policy)]}


def check(urls: Urls, table: str) -> None:
    """Assert that a tenant has all of its own rows of a table, and sees and changes nothing of another's."""
    with psycopg.connect(urls.superuser) as connection:
        connection.execute(SAYING_ALL)
        in_all = {}
        for tenant_id in (OURS, OTHERS):
            # A view filters whoever reads it.
            connection.execute("SELECT set_config('app.tenant', %s, false)", (str(tenant_id),))
            in_all[tenant_id] = count(connection, table, tenant_id)
        others_row = row_of(connection, table, OTHERS)
    assert in_all[OTHERS] and in_all[OURS], f"no row of a tenant in {table}: let `seeded` or ROWS make one"
    name = sql.Identifier(*table.split("."))
    with psycopg.connect(urls.service) as connection:
        connection.execute(SAYING_ALL)
        connection.execute("SELECT set_config('app.tenant', %s, false)", (str(OURS),))
        assert count(connection, table, OURS) == in_all[OURS], f"a tenant misses rows of its own in {table}"
        assert count(connection, table) == in_all[OURS], f"a tenant sees rows of another in {table}"
        if is_view(urls, table):
            return
        for verb, statement in (
            ("UPDATE", sql.SQL("UPDATE {} SET tenant_id = tenant_id WHERE tenant_id = %s").format(name)),
            ("DELETE", sql.SQL("DELETE FROM {} WHERE tenant_id = %s").format(name)),
        ):
            if granted(connection, table, verb):
                assert connection.execute(statement, (OTHERS,)).rowcount == 0, (
                    f"{verb} reaches rows of another in {table}"
                )
        if granted(connection, table, "INSERT"):
            insert = sql.SQL(
                "INSERT INTO {name} ({columns}) OVERRIDING SYSTEM VALUE"
                " SELECT {columns} FROM jsonb_populate_record(NULL::{name}, %s)"
            ).format(name=name, columns=columns_of(connection, table))
            try:
                connection.execute(insert, (others_row,))
            except psycopg.errors.InsufficientPrivilege as error:
                assert "row-level security" in str(error)
            else:
                raise AssertionError(f"a tenant writes a row of another in {table}")


def count(connection: psycopg.Connection, table: str, tenant_id: uuid.UUID | None = None) -> int:
    statement = sql.SQL("SELECT count(*) FROM {} WHERE tenant_id = %s OR %s").format(sql.Identifier(*table.split(".")))
    row = connection.execute(statement, (tenant_id, tenant_id is None)).fetchone()
    assert row is not None
    return int(row[0])


def row_of(connection: psycopg.Connection, table: str, tenant_id: uuid.UUID) -> str | None:
    statement = sql.SQL("SELECT to_jsonb(t)::text FROM {} t WHERE tenant_id = %s LIMIT 1")
    row = connection.execute(statement.format(sql.Identifier(*table.split("."))), (tenant_id,)).fetchone()
    return None if row is None else row[0]


def granted(connection: psycopg.Connection, table: str, verb: str) -> bool:
    row = connection.execute("SELECT has_table_privilege(%s, %s)", (table, verb)).fetchone()
    return row is not None and bool(row[0])


def is_view(urls: Urls, table: str) -> bool:
    with psycopg.connect(urls.superuser) as connection:
        row = connection.execute(
            "SELECT relkind IN ('v', 'm') FROM pg_class WHERE oid = %s::regclass", (table,)
        ).fetchone()
    return row is not None and bool(row[0])
