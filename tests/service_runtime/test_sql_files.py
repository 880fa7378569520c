"""Statements in files: how their parts are included, and that mistakes in them are found at import."""

import re
from pathlib import Path

import pytest

from service_runtime.statements.sql_files import SqlFile, SqlFileInvalid
from tests.sql_modules import modules_with_sql

FILE = """\
-- Messages of contexts.

-- alive
-- Expired contexts are hidden.
deleted_at IS NULL

-- page(order, more)
SELECT seq FROM context.message -- in order
WHERE {{alive}}{{more}} ORDER BY {{order}} LIMIT {{page_size_max}}

-- newest
{{page(greatest(seq, 1) DESC, )}};

-- locked
{{page(seq, {{other.of_task}})}}
FOR UPDATE;

-- of_role(role)
SELECT FROM {{role}};
"""


def read(source: str, **values: SqlFile | str | int) -> SqlFile:
    return SqlFile("log.sql", source, values)


@pytest.fixture
def file() -> SqlFile:
    other = read("-- of_task\n AND task_id = %s")
    return read(FILE, page_size_max=10, other=other)


def test_parts_are_included_by_name(file):
    head = "SELECT seq FROM context.message -- in order\nWHERE deleted_at IS NULL"
    assert file["newest"] == f"{head} ORDER BY greatest(seq, 1) DESC LIMIT 10"
    assert file["locked"] == f"{head} AND task_id = %s ORDER BY seq LIMIT 10\nFOR UPDATE"


def test_whole_statements_are_listed_also_those_that_were_filled(file):
    assert set(file.whole()) == {"newest", "locked"}
    assert file.filled("of_role", role="context.blob") == "SELECT FROM context.blob"
    assert file.whole()["of_role(role=context.blob)"] == "SELECT FROM context.blob"


def test_texts_that_nothing_uses_are_listed(file):
    assert file.unused() == ["locked", "newest", "of_role"]
    assert file["newest"]
    file.filled("of_role", role="x")
    assert file.unused() == ["locked"]


@pytest.mark.parametrize(
    ("source", "error"),
    [
        ("-- a\n{{b}}", "a includes b, which is unknown"),
        ("-- a\n{{b}}\n\n-- b\n{{a}}", "a includes b includes a"),
        ("-- a\n{{a}}", "a includes a"),
        ("-- a\nSELECT 1\n\n-- a\nSELECT 2", "a is there twice"),
        ("-- a\nSELECT 1\n\nSELECT 2", "begins without a name: 'SELECT 2'"),
        ("-- a\n-- Why.", "a has no text"),
        ("-- a(slot)\nSELECT", "a does not include its slot slot"),
        ("-- a(slot)\n{{slot}}\n\n-- b\n{{a}}", "a has 1 slots, and is included with 0"),
        ("-- a(slot)\n{{slot}}\n\n-- b\n{{a(1, 2)}}", "a has 1 slots, and is included with 2"),
        ("-- a(slot)\n{{slot}} {{b}}", "a includes b, which is unknown"),
        ("-- a\n{{a", "an include does not end: '{{a'"),
        ("-- a\n{{A b}}", "has an include without a name"),
        ("-- value\n1", "value is a text and a value"),
        ("-- a\n1", "no text includes the value value"),
    ],
)
def test_mistake_is_found_at_once(source, error):
    values = {"value": 1} if "value" in error else {}
    with pytest.raises(SqlFileInvalid, match=error):
        read(source, **values)


def test_look_up_of_what_is_not_there(file):
    with pytest.raises(SqlFileInvalid, match="there is no oldest"):
        file["oldest"]
    with pytest.raises(SqlFileInvalid, match="page has slots to fill: order, more"):
        file["page"]
    with pytest.raises(SqlFileInvalid, match="page needs values for order, more"):
        file.filled("page", order="seq")


def test_no_file_has_an_unused_text():
    """What no statement includes and no module looks up is dead SQL."""
    unused = []
    for module in modules_with_sql():
        # Some texts are filled for each call, and so not yet: in the store, or by a rule of its room.
        file = Path(module.__file__)
        room = next((folder.parent for folder in file.parents if folder.name == "store"), file.parent)
        sources = "".join(path.read_text(encoding="utf-8") for path in room.rglob("*.py"))
        unused += [
            (module.SQL.name, name) for name in module.SQL.unused() if not re.search(f"[\"']{name}[\"']", sources)
        ]
    assert unused == []
