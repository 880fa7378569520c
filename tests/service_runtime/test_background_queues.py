"""Every queue of background work has a stated bound: docs/operations.md lists each, for a tenant and for a step.

The list is read off the code: a new `Rounds`, topic of the outbox, table with due work, or background loop fails here
until it is listed.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import context_service
import entity_service
import service_runtime

PACKAGES = [Path(str(package.__file__)).parent for package in (context_service, entity_service, service_runtime)]
OPERATIONS = PACKAGES[0].parent / "docs" / "operations.md"

TEXTS, VECTORS = "texts of records", "vectors of records"
DOCUMENTS, FOLLOWING = "documents of knowledge bases", "documents that follow records"
POINTED, PASSAGES = "records of messages and artifacts", "vectors of passages"
CONTEXTS, BASES = "deleted contexts, and those past their time", "deleted knowledge bases"
USERS, USERS_OF_GRAPHS = "erased users", "erased users of graphs"
SWEPT = "records past their retention, abandoned uploads, bytes to remove"
MEMORIES = "memories past their time"
IMPORTS, KEYS = "unfinished contexts of imports", "idempotency keys past their time"
EDGES, CHANGES = "edges to settle", "changes past their time"
LEARNING = "contexts to learn memories from"
FOLDS, LOGS = "folds that a model prepares", "windows that read a long log"

ROUNDS = {
    "context_service/contexts/store/erasures.py": [CONTEXTS],
    "context_service/contexts/store/pointed_records.py": [POINTED],
    "context_service/erasure/rules/subjects.py": [USERS],
    "context_service/folding/rules/prepare_ahead.py": [FOLDS],
    "context_service/knowledge_bases/rules/drop.py": [BASES],
    "context_service/knowledge_bases/rules/documents.py": [DOCUMENTS, FOLLOWING],
    "context_service/memories/rules/expiry.py": [MEMORIES],
    "context_service/learning/rules/learn.py": [LEARNING],
    "context_service/packing/rules/catch_up_ahead.py": [LOGS],
    "context_service/retrieval/vector_worker.py": [VECTORS],
    "context_service/transfer/rules/imports.py": [IMPORTS],
    "context_service/working_memory/rules/file_texts.py": [TEXTS],
    "context_service/working_memory/upkeep/sweep.py": [SWEPT],
    "entity_service/rules/list_changes.py": [CHANGES],
    "entity_service/rules/erase_owned.py": [USERS_OF_GRAPHS],
    "entity_service/rules/settle_edges.py": [EDGES],
    "entity_service/rules/sweep_requests.py": [KEYS],
}
TOPICS = {
    "context_service/knowledge_bases/store/bases.py": [DOCUMENTS, BASES],
    "context_service/retrieval/store/vector_outbox.py": [PASSAGES],
    "context_service/working_memory/store/records.py": [VECTORS, TEXTS],
}
TABLES = {
    "context.blob": SWEPT,
    "context.erasure": CONTEXTS,
    "context.message_record": POINTED,
    "context.outbox": TEXTS,  # by topic, as above
    "context.subject_erasure": USERS,
    "context.upload": SWEPT,
    "entity.erasure": USERS_OF_GRAPHS,
}
NO_QUEUES = {"context.job": "an operator's, one at a time"}
LOOPS = {
    "eraser.keep_erasing",
    "expiry.keep_deleting",
    "file_texts.keep_reading",
    "importing.keep_clearing",
    "pointed.keep_reading",
    "sweeper.keep_sweeping",
    "work",  # of documents and bases
    "worker.keep_learning",
    "worker.keep_making",
    "worker.keep_preparing",
    "worker.keep_reading",
    "RequestSweep(database, REQUESTS).keep_sweeping",
    "change_sweep.keep_sweeping",
    "owned_eraser.keep_erasing",
    "EdgeSettling(database).keep_settling",
}
NO_QUEUE_LOOPS = {
    "FirstStatistics(database).keep_looking",
    "connection.keep_renewed",
    "held_bytes.keep_watching",
    "keep",  # of checks of health
    "lookout.keep_looking",
    "mappings.keep_current",
    "self._keep_telling",  # calls of administrators that wait in memory, of which there is a limit
    "standing.keep_reading",
}
REFUSED = {TEXTS, VECTORS, DOCUMENTS, POINTED}  # callers fill them


def trees() -> Iterator[tuple[str, ast.Module]]:
    for package in PACKAGES:
        for path in sorted(package.rglob("*.py")):
            yield str(path.relative_to(package.parent)), ast.parse(path.read_text())


def calls(tree: ast.Module, name: str) -> list[ast.Call]:
    found = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return [call for call in found if ast.unparse(call.func).rpartition(".")[2] == name]


def listed() -> dict[str, tuple[str, str]]:
    """Return the rows of the table: how many items a tenant may have, and what a step does."""
    section = OPERATIONS.read_text().partition("### Background queues")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| ([^|]+) \| ([^|]+) \| ([^|]+) \|$", section, re.MULTILINE)
    return {queue: (items, step) for queue, items, step in rows[2:]}


def test_every_queue_is_listed_with_its_bound():
    named = {
        *(queue for queues in (*ROUNDS.values(), *TOPICS.values()) for queue in queues),
        *TABLES.values(),
    }
    assert listed().keys() == named
    assert {queue for queue, (items, _) in listed().items() if "`QUEUED_ITEMS_MAX`" in items} == REFUSED


def test_every_fair_queue_is_known():
    assert {path for path, tree in trees() if calls(tree, "Rounds")} == ROUNDS.keys()


def test_every_topic_is_known():
    found: Counter[str] = Counter()
    for path, tree in trees():
        names = [ast.unparse(node.targets[0]) for node in tree.body if isinstance(node, ast.Assign)]
        names += [node.name.upper() for node in tree.body if isinstance(node, ast.FunctionDef)]
        found.update(path for name in names if name.endswith("_TOPIC"))
    assert found == {path: len(queues) for path, queues in TOPICS.items()}


def test_every_table_with_work_that_is_due_is_known():
    found = set()
    for package in PACKAGES:
        for path in (package / "migrations").glob("*.sql"):
            for table, columns in re.findall(
                r"^(?:CREATE|ALTER) TABLE (\S+)\s(.*?);\n", path.read_text(), re.DOTALL | re.MULTILINE
            ):
                if re.search(r"^\s*(ADD COLUMN )?(due_at|finished_at) ", columns, re.MULTILINE):
                    found.add(table)
    assert found == TABLES.keys() | NO_QUEUES.keys()


def test_every_background_loop_is_known():
    found = set()
    for _, tree in trees():
        for call in calls(tree, "keeping"):
            work = call.args[0]
            if isinstance(work, ast.Call) and ast.unparse(work.func) == "partial":
                work = work.args[0]
            found.add(ast.unparse(work))
    assert found == LOOPS | NO_QUEUE_LOOPS
