"""What a caller asks runs on no row that the caller may not see, whatever the plan.

The rows of another tenant, and those out of the bounds of a key, are poisoned: whichever expression looks at one of
them fails. JSONPath and vectors fail by themselves; every other operator of a statement is put in place of one that
looks for the poison and says that it costs nothing, so that a planner with a free choice asks it first.
"""

from __future__ import annotations

import itertools
import json
import re
import uuid
from collections.abc import AsyncIterator, Iterator
from typing import Any

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st
from psycopg.types.json import Jsonb

from context_service.kernel.embedding import EMBEDDING_DIMENSION, Embedding
from context_service.retrieval.store.passages import Passages
from context_service.working_memory.pure.record_terms import record_terms
from context_service.working_memory.rules.query import Order, RecordQueries, RecordQuery
from context_service.working_memory.rules.search import Searches, SearchMode, SearchQuestion
from context_service.working_memory.store.record_filters import RECORD_FIELDS
from contextkeep.errors import InvalidArgument
from entity_service.model.search import NodeFilter, NodeSearch
from entity_service.rules.search_nodes import Search
from entity_service.rules.traverse import Traversal
from entity_service.store.node_search import FIELDS
from service_runtime.databases.embedded_postgres import SERVICE_ROLE, EmbeddedPostgres
from service_runtime.inputs.conditions import Bindings, condition_sql
from service_runtime.inputs.policies import EXEMPT
from service_runtime.postgres import Database, Tenant, take_half_vectors
from service_runtime.postgres import tenant as tenant_module
from service_runtime.rpc.principal import Principal
from tests.conftest import Urls, cloned

ALONE, BOUND, POISONED = (uuid.UUID(int=number, version=4) for number in (2, 4, 6))
CALLERS = {
    "another tenant": Principal(tenant_id=ALONE, subject="alone"),
    "out of bounds": Principal(
        tenant_id=BOUND, subject="bound", graph_names=frozenset({"mine"}), app_ids=frozenset({"mine"})
    ),
}
ROWS = 110  # that each caller may see
ASKED = tuple(1.0 for _ in range(EMBEDDING_DIMENSION))

# Nodes and records of a tenant, in a graph; poisoned or not. A vector that is poisoned has another size than it says.
FILL = """
WITH row AS (
    SELECT
        n, gen_random_uuid() AS id,
        jsonb_build_object(
            'kind', 'x', 'n', n, 'text', %(said)s::text || n, 'list', jsonb_build_array(n, %(said)s::text),
            'at', CASE WHEN %(poisoned)s THEN '2026-01-01 00:00:00' ELSE 'never' END
        ) AS document
    FROM generate_series(1, %(rows)s) n
), nodes AS (
    INSERT INTO entity.node (
        tenant_id, id, created_at, modified_at, graph_name, general_type_name, specific_type_name, name, status,
        created_by, version, data
    )
    SELECT
        %(tenant_id)s, id, now() + n * interval '1 ms', now(), %(graph)s, 'T', 'T', %(said)s || n, 'Created', '',
        CASE WHEN %(poisoned)s THEN 1000000 ELSE 1 END, document
    FROM row
), records AS (
    INSERT INTO context.wm_record (
        tenant_id, id, memory_type, name, description, created_by, graph_name, app_id, version, size_bytes, tags,
        metadata, terms
    )
    SELECT
        %(tenant_id)s, id, 'file', %(said)s || n, 'zebra', '', %(graph)s, %(graph)s,
        CASE WHEN %(poisoned)s THEN 1000000 ELSE 1 END, CASE WHEN %(poisoned)s THEN 1000000 ELSE 1 END,
        ARRAY[%(said)s], document, CASE WHEN %(poisoned)s THEN %(terms)s::integer[] || 1000000 ELSE %(terms)s END
    FROM row
)
INSERT INTO context.embedding (tenant_id, owner_kind, owner_id, dimension, vector, memory_type, graph_name, app_id)
SELECT
    %(tenant_id)s, 'record', id, %(dimension)s,
    CASE WHEN %(poisoned)s THEN '[1,2,3]'::public.halfvec ELSE %(vector)s::public.halfvec END,
    'file', %(graph)s, %(graph)s
FROM row
"""

# Operators that no statement may run on poison: of texts, numbers and documents, on the left.
PROBES = """
CREATE SCHEMA probe;
CREATE FUNCTION probe.look(seen text) RETURNS void LANGUAGE plpgsql IMMUTABLE COST 0.0001 AS $$
BEGIN
    IF seen LIKE '%%poison%%' OR seen LIKE '%%1000000%%' THEN
        RAISE division_by_zero USING MESSAGE = 'poisoned';
    END IF;
END
$$;
GRANT USAGE ON SCHEMA probe TO {role};
"""
PROBE = """
CREATE FUNCTION probe.{name}(seen {left}, asked {right}) RETURNS {returns}
LANGUAGE plpgsql IMMUTABLE COST 0.0001 AS $$
BEGIN
    PERFORM probe.look(seen::text);
    RETURN seen OPERATOR(pg_catalog.{operator}) asked;
END
$$;
CREATE OPERATOR probe.{operator} (FUNCTION = probe.{name}, LEFTARG = {left}, RIGHTARG = {right});
"""
ORDERS = ("<", "<=", ">", ">=")
PROBED = [
    *(("text", "text", "boolean", operator) for operator in ("~~", "~~*", *ORDERS)),
    *(("numeric", "numeric", "boolean", operator) for operator in ORDERS),
    *(("jsonb", "jsonb", "boolean", operator) for operator in ("=", *ORDERS)),
    ("jsonb", "text[]", "jsonb", "#>"),
    ("jsonb", "text[]", "text", "#>>"),
]
_ORDER_OF = re.compile(r" (<=|>=|<|>) (?=%\(value_\d+\)s::(?:text|numeric|jsonb))")

PLANS = {
    "as it likes": ("", "force_custom_plan"),
    "generic": ("", "force_generic_plan"),
    "no sequential scans": ("enable_seqscan", "force_custom_plan"),
    "no bitmaps": ("enable_bitmapscan", "force_custom_plan"),
    "no index scans": ("enable_indexscan", "force_custom_plan"),
    "neither bitmaps nor index scans": ("enable_bitmapscan enable_indexscan enable_indexonlyscan", "force_custom_plan"),
    "neither bitmaps nor sequential scans": ("enable_bitmapscan enable_seqscan", "force_custom_plan"),
    "generic, only bitmaps": ("enable_indexscan enable_seqscan", "force_generic_plan"),
}

CONDITIONS: list[dict[str, Any]] = [
    {"name": {"$like": "%1%"}},
    {"name": {"$ilike": "c%"}},
    {"name": {"$gt": "a"}},
    {"name": {"$not": {"$lte": "a"}}},
    {"version": {"$lt": 5}},
    {"{document}.n": 7},
    {"{document}.n": {"$gte": 0}},
    {"{document}.n": {"$in": [1, "x"]}},
    {"{document}.n": {"$exists": True}},
    {"{document}.none": {"$exists": False}},
    {"{document}.text": {"$lt": "z"}},
    {"{document}.text": {"$like": "%7"}},
    {"{document}.list.1": "clean"},
    {"{document}.kind": "x", "name": {"$like": "%1%"}},
    {"{document}.kind": "x", "{document}.text": {"$ilike": "%1%"}},
    {"$or": [{"{document}.kind": "x"}, {"name": {"$like": "%1"}}]},
    {"$or": [{"{document}.n": 7}, {"{document}.n": 8}]},
    {"$not": {"{document}.kind": "x"}},
    {"created_at": {"$gt": "2020-01-01T00:00:00Z"}, "{document}.n": {"$gt": 1}},
]
# A time with a zone beside one without is an error that nothing suppresses: of the poisoned, which have a time.
_RAISES = '$.at.datetime() < "2020-01-01T00:00:00+00:00".datetime()'
JSON_PATHS = [
    f'$.kind == "x" && {_RAISES}',
    f"{_RAISES} || $.n == 7",
    '$ ? (@.kind == "x" && @.at.datetime() < "2020-01-01T00:00:00+00:00".datetime())',
    '$.list[1] ? (@ == "poison" && "2026-01-01".datetime() < "2020-01-01T00:00:00+00:00".datetime())',
    f'strict $.kind == "x" && {_RAISES}',
]


def document(condition: dict[str, Any], name: str) -> str:
    return json.dumps(condition).replace("{document}", name)


@pytest.fixture(scope="module")
def poisoned(postgres: EmbeddedPostgres) -> Iterator[Urls]:
    with cloned(postgres) as urls:
        with psycopg.connect(urls.superuser, autocommit=True) as connection:
            for tenant_id, graph, is_poisoned, rows in (
                (ALONE, "mine", False, ROWS),
                (BOUND, "mine", False, ROWS),
                (BOUND, "theirs", True, 2 * ROWS),
                (POISONED, "mine", True, 10 * ROWS),
            ):
                connection.execute(
                    FILL,
                    {
                        "tenant_id": tenant_id,
                        "graph": graph,
                        "poisoned": is_poisoned,
                        "said": "poison" if is_poisoned else "clean",
                        "rows": rows,
                        "dimension": EMBEDDING_DIMENSION,
                        "vector": str(list(ASKED)),
                        "terms": record_terms(tenant_id, name="", description="zebra", content=""),
                    },
                )
            connection.execute(PROBES.format(role=SERVICE_ROLE).replace("%%", "%").encode())
            for number, (left, right, returns, operator) in enumerate(PROBED):
                statement = PROBE.format(
                    name=f"probe_{number}", left=left, right=right, returns=returns, operator=operator
                )
                connection.execute(statement.encode())
            connection.execute("ANALYZE")
        yield urls


def with_probes(statement: str) -> str:
    """Return a statement with probes in the place of what is not exempt; an exempt `=` of jsonb does not exist."""
    for plain, probed in (
        (" LIKE ", "~~"),
        (" ILIKE ", "~~*"),
        (" #> ", "#>"),
        (" #>> ", "#>>"),
    ):
        statement = statement.replace(plain, f" OPERATOR(probe.{probed}) ")
    statement = re.sub(r" = (?=%\(value_\d+\)s::jsonb)", " OPERATOR(probe.=) ", statement)
    return _ORDER_OF.sub(r" OPERATOR(probe.\1) ", statement)


@pytest.fixture(params=PLANS)
async def database(
    poisoned: Urls, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Database]:
    """One whose planner cannot do as it likes, and whose statements have probes in them."""
    off, plans = PLANS[request.param]
    settings = tenant_module._SET_LOCAL_AD_HOC
    for name in off.split():
        settings = settings.rstrip() + f", set_config('{name}', 'off', true) AS {name}\n"
    settings = settings.replace("force_custom_plan", plans)
    monkeypatch.setattr(tenant_module, "_SET_LOCAL_AD_HOC", settings)
    query = Tenant.query

    async def probing(self: Tenant, sql: str, parameters: Any = (), **options: Any) -> Any:
        return await query(self, with_probes(sql), parameters, **options)

    monkeypatch.setattr(Tenant, "query", probing)
    opening = Database.open(poisoned.service, connections_max=2, name="walls", configure=take_half_vectors)
    async with opening as opened:
        yield opened


def nodes_like(**fields: Any) -> NodeFilter:
    return NodeFilter(
        **{
            "graph_name": "",
            "condition_json": "",
            "contains_json": "",
            "json_path": "",
            "connected_to": None,
            "agent_bundle_id": "",
            "include_archived": False,
        }
        | fields
    )


def search_for(which: NodeFilter, **fields: Any) -> NodeSearch:
    return NodeSearch(
        **{"filter": which, "order_by": "created_at", "descending": False, "page_size": 50, "page_token": ""} | fields
    )


@pytest.fixture(params=CALLERS)
def caller(request: pytest.FixtureRequest) -> Principal:
    return CALLERS[request.param]


async def test_a_json_path_runs_on_no_node_that_its_caller_may_not_see(database: Database, caller: Principal):
    search = Search(database, Traversal(database))
    for json_path, graph_name in itertools.product(JSON_PATHS, ("", "mine")):
        which = nodes_like(json_path=json_path, graph_name=graph_name)
        assert await search.count(caller, which) in (0, 1), json_path
        assert len((await search.page(caller, search_for(which))).nodes) <= 1


async def test_a_condition_runs_on_no_node_that_its_caller_may_not_see(database: Database, caller: Principal):
    search = Search(database, Traversal(database))
    for condition in CONDITIONS:
        which = nodes_like(condition_json=document(condition, "data"))
        assert 0 <= await search.count(caller, which) <= ROWS, condition
    assert await search.count(caller, nodes_like(contains_json='{"kind": "x"}')) == ROWS


async def test_an_order_runs_on_no_node_that_its_caller_may_not_see(database: Database, caller: Principal):
    search = Search(database, Traversal(database))
    for order_by in ("data.n", "data.text", "data.list", "data.none", "name", "version", "modified_at"):
        first = await search.page(caller, search_for(nodes_like(), order_by=order_by))
        assert len(first.nodes) == 50
        again = search_for(nodes_like(), order_by=order_by, page_token=first.next_page_token)
        assert len((await search.page(caller, again)).nodes) == 50, order_by


async def test_a_condition_runs_on_no_record_that_its_caller_may_not_see(database: Database, caller: Principal):
    queries = RecordQueries(database)
    for condition in [*CONDITIONS, {"size_bytes": {"$lte": 9}}, {"tags": "clean"}]:
        question = RecordQuery(
            select=["name", "metadata.n", "metadata.list.1"],
            where_json=document(condition, "metadata"),
            group_by=[],
            order_by=[Order(column="metadata.text", descending=True)],
            limit=0,
            offset=0,
            include_archived=False,
        )
        assert len((await queries.answer(question, principal=caller)).rows_json) <= ROWS, condition


async def test_a_group_is_made_of_no_record_that_its_caller_may_not_see(database: Database, caller: Principal):
    question = RecordQuery(
        select=["metadata.kind", "count(*)", "sum(metadata.n)", "max(metadata.text)"],
        where_json='{"name": {"$like": "%"}}',
        group_by=["metadata.kind"],
        order_by=[],
        limit=0,
        offset=0,
        include_archived=True,
    )
    (row,) = (await RecordQueries(database).answer(question, principal=caller)).rows_json
    assert json.loads(row)["count(*)"] == ROWS


async def test_a_search_compares_with_no_record_that_its_caller_may_not_see(database: Database, caller: Principal):
    searches = Searches(database, vectors_max=ROWS, passages=Passages(database))
    modes = (SearchMode.TEXT, SearchMode.VECTOR, SearchMode.FUSED)
    conditions = ["", *(document(one, "metadata") for one in CONDITIONS)]
    for mode, condition in zip(itertools.cycle(modes), conditions * 2, strict=False):
        question = SearchQuestion(
            text="zebra",
            embedding=Embedding(values=ASKED, model=""),
            mode=mode,
            entity_node_ids=[],
            memory_types=[],
            graph_name="",
            agent_bundle_id="",
            app_id="",
            where_json=condition,
            include_archived=False,
            limit=10,
            offset=0,
            with_content=False,
            any_word=False,
        )
        hits = await searches.search(question, principal=caller)
        assert all(hit.record.name.startswith("clean") for hit in hits), condition
        assert len(hits) == 10 or condition


async def test_the_probes_notice_what_runs_in_front_of_the_wall(database: Database):
    """The caller who may see all of that runs into it: so these tests would notice it if others did."""
    search, owner = Search(database, Traversal(database)), Principal(tenant_id=POISONED, subject="owner")
    for json_path in JSON_PATHS:
        with pytest.raises(InvalidArgument):
            await search.count(owner, nodes_like(json_path=json_path))
    for condition in CONDITIONS:
        with pytest.raises(InvalidArgument, match="poisoned"):
            await search.count(owner, nodes_like(condition_json=document(condition, "data")))
    with pytest.raises(InvalidArgument, match="poisoned"):
        await search.page(owner, search_for(nodes_like(), order_by="data.n"))


# What stands in front of the wall is exempt.

VALUES = st.none() | st.booleans() | st.integers(-5, 5) | st.floats(-5, 5) | st.text("ab%_\\", max_size=3)
COLUMNS = st.sampled_from(["name", "type", "version", "created_at", "id", "is_archived", "data", "data.a", "data.a.0"])
OPERATORS = st.sampled_from(["$eq", "$ne", "$in", "$nin", "$gt", "$lte", "$like", "$ilike", "$exists"])
TREES = st.recursive(
    st.builds(
        lambda name, operator, value: {
            name: {operator: [value] if operator in ("$in", "$nin") else value is None or value}
        },
        COLUMNS,
        OPERATORS,
        VALUES,
    ),
    lambda inner: (
        st.builds(lambda several: {"$and": several}, st.lists(inner, min_size=1, max_size=3))
        | st.builds(lambda several: {"$or": several}, st.lists(inner, min_size=1, max_size=3))
        | st.builds(lambda one: {"$not": one}, inner)
    ),
    max_leaves=6,
)
_OPERATOR = re.compile(r"= ANY|[-+*/<>=~!@#%^&|`?]+|\b(?:LIKE|ILIKE|IS|AND|OR|COLLATE|CASE|SIMILAR|BETWEEN|IN)\b")


def in_front_of_the_wall(condition: str, wall: str) -> str:
    """Return what is left of a condition without what stands behind its wall, and without its parameters."""
    begin = f"CASE WHEN {wall} THEN "
    at = condition.find(begin)
    if at >= 0:
        assert condition.count(begin) == 1
        end = condition.rindex(" ELSE false END")
        condition = condition[:at] + condition[end + len(" ELSE false END") :]
    return re.sub(r"%\(\w+\)s|::\w+(\[\])?|'[^']*'|NOT (TRUE|NULL)|\(CASE WHEN \(r\.archived_at.*?END\)", "", condition)


@given(tree=TREES)
def test_only_exempt_operators_stand_in_front_of_the_wall(tree: dict[str, Any]):
    for fields, text in ((FIELDS, json.dumps(tree)), (RECORD_FIELDS, _of_records(tree))):
        try:
            condition = condition_sql("where", text, fields, Bindings())
        except InvalidArgument:
            continue
        found = set(_OPERATOR.findall(in_front_of_the_wall(condition, fields.policy)))
        assert found <= set(EXEMPT), condition


def _of_records(tree: dict[str, Any]) -> str:
    text = json.dumps(tree)
    for of_node, of_record in (("data", "metadata"), ('"id"', '"working_memory_id"'), ("is_archived", "status")):
        text = text.replace(of_node, of_record)
    return text.replace('"type"', '"tags"')


DOCUMENTS = [
    *([None, True, 0, 1.5, 1e300, "", "x", "\u2028", [], {}, [[]], [1, "x", {"a": [None]}], {"a": {"a": [1]}}]),
    {"a": "2026-01-01 00:00:00", "b": 10**130, "": 0, "a b": [["x"]], "x" * 1000: "y" * 10_000},
]
SAFE_PATHS = ['$."a" == "x"', '$."a"[*]."a" == 1', '($."a"[*][*] == null && ($."b" == 1e130 || $."" == 0))']


def test_exempt_operators_raise_on_no_value_of_their_types(poisoned: Urls):
    """Those of one type are leakproof, to Postgres; the others are asked about everything."""
    with psycopg.connect(poisoned.superuser, autocommit=True) as connection:
        leaky = connection.execute(
            "SELECT o.oid::regoperator::text FROM pg_operator o JOIN pg_proc p ON p.oid = o.oprcode"
            " WHERE NOT p.proleakproof AND o.oprnamespace = 'pg_catalog'::regnamespace AND ("
            "  o.oprname IN ('=', '<>') AND o.oprleft = o.oprright AND o.oprleft::regtype::text = ANY (%s)"
            "  OR o.oprname IN ('<', '<=', '>', '>=') AND o.oprleft = 'timestamptz'::regtype"
            "   AND o.oprright = 'timestamptz'::regtype)",
            (["text", "uuid", "boolean", "timestamp with time zone"],),
        ).fetchall()
        assert leaky == []

        for left, right in itertools.product(DOCUMENTS, DOCUMENTS):
            connection.execute("SELECT %s::jsonb @> %s::jsonb", (Jsonb(left), Jsonb(right)))
        for left, path in itertools.product(DOCUMENTS, SAFE_PATHS):
            connection.execute("SELECT %s::jsonb @@ %s::jsonpath", (Jsonb(left), path))
        numbers = [0, -(2**63), 2**63 - 1, 2**31 - 1]
        for number, asked in itertools.product(numbers, ["0", "1e130", "-1e-130", "NaN", "9223372036854775808"]):
            connection.execute(
                "SELECT %s::bigint = %s::numeric, %s::bigint = ANY (ARRAY[%s::numeric])", (number, asked) * 2
            )
        lists: list[list[str]] = [[], [""], ["a", "b"], ["ä" * 1000]]
        for left_list, right_list in itertools.product(lists, lists):
            connection.execute(
                "SELECT %s::text[] && %s::text[], %s::text[] <> '{}'", (left_list, right_list, left_list)
            )
        numbers_of: list[list[int]] = [[], [0], [2**31 - 1, -(2**31)], [7] * 1000]
        for left_numbers, right_numbers in itertools.product(numbers_of, numbers_of):
            connection.execute(
                "SELECT a && b, a @> b, context.stand_together(a, b)"
                " FROM (SELECT %s::integer[], %s::integer[]) x (a, b)",
                (left_numbers, right_numbers),
            )
