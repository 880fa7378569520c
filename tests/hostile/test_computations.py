"""Every computation whose cost grows with a caller's data, its bound, and the case that tries the bound.

On the event loop none takes 10 ms at a time, whatever a caller sent: the worst that the limits allow is tried here,
step by step. All others run off the loop, or in steps (`calls.in_slices`) that give way to others. Each place that does
so is listed with its bound, and each bound names what tries it; a new place fails here until it is listed. The stall
probe watches next to every case of this folder that nothing else holds up the loop.
"""

from __future__ import annotations

import ast
import asyncio
import json
import random
import string
import threading
import time
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from itertools import islice, permutations
from pathlib import Path
from typing import Any

import pytest

import context_service
from context_service.query.providers.mcp_tools import hits
from context_service.retrieval.profiles import profile
from context_service.retrieval.pure.analyzed_query import CHARS_MAX, AnalyzedQuery
from context_service.retrieval.pure.ranking import ranking
from context_service.retrieval.pure.rows import ASKED_TERMS_MAX, Matching, Row, Totals
from context_service.retrieval.pure.slips import WORDS_MAX, Vocabulary, one_slip_away, similar_words
from context_service.retrieval.pure.terms import WORD_CHARS_MAX, stems
from context_service.retrieval.store.passages import READ_WHOLE
from contextkeep.context.v1 import contexts_pb2 as contexts
from contextkeep.errors import LimitExceeded
from entity_service.model.search import JSON_PATH_CHARS_MAX
from entity_service.pure import json_paths
from entity_service.store.node_search import JSON_PATH_WRITTEN_CHARS_MAX
from service_runtime.inputs.documents import in_stoppable_thread
from service_runtime.rpc import messages
from tests.cpu import in_units, units
from tests.hostile.attacks import ATTACKS
from tests.hostile.test_worst_cases import WORST_CASES
from tests.hostile.worst import WORKS

STEP_UNITS_MAX = 25  # 10 ms on the machine where bounds were chosen
_ROOT = Path(context_service.__file__).parent.parent
_PACKAGES = ("context_service", "entity_service", "service_runtime")
_OFF_THE_LOOP = {"beside_the_loop", "in_stoppable_thread", "in_slices", "to_thread", "run_in_executor"}

# Where they run off the loop or in steps, by what bounds them: a limit of the contract, or a constant of the code.
BOUNDS: dict[str, tuple[str, ...]] = {
    "an answer of a model: 1 MiB, 65,536 containers; of an embedder: 128 KiB and 8 containers for each text": (
        "context_service.kernel.llm.endpoint:parsed",
    ),
    "an answer that is kept for a call that comes again: what the call wrote": (
        "service_runtime.statements.requests:_pack",
    ),
    "no data of a caller: files of the service, libraries of clouds, keys of an operator": (
        "context_service.resources:file_mappings_of",
        "context_service.resources:open_dependencies",
        "context_service.blobs.gcs:GcsBackend._run",
        "context_service.blobs.gcs:GcsBackend.check",
        "context_service.blobs.gcs:opened",
        "context_service.blobs.local:LocalBackend._run",
        "context_service.blobs.local:LocalBackend.check",
        "context_service.blobs.s3:S3Backend.create_bucket",
        "context_service.history.rules.registry:MappingRegistry.keep_current",
        "context_service.profiles.rules.profiles:OwnProfiles.of",
        "service_runtime.cli.database_probes:of_owner.other",
        "service_runtime.erasure.erased:looked_up",
        "service_runtime.rpc.held_bytes:HeldBytes.keep_watching",
        "service_runtime.auth.tokens:Tokens._key",
    ),
    "an artifact: 1 MiB, 100 parts": (
        "context_service.contexts.rules.artifacts:Artifacts._check",
        "context_service.contexts.rules.artifacts:Artifacts._put.work",
    ),
    "rows of a page: 1,000, 2 MiB": (
        "context_service.memories.store.memories:MemoryRows._memories",
        "context_service.packing.api:PackingServicer.GetLineage",
        "context_service.memories.api:MemoriesServicer.ListMemories",
        "context_service.memories.api:MemoriesServicer.ListMemoryRevisions",
    ),
    "messages of a call: 500, 4 MiB": (
        "context_service.contexts.store.log:Log._write",
        "context_service.contexts.rules.messages:Messaging._prepare_new",
        "context_service.contexts.rules.messages:Messaging.check",
        "context_service.contexts.rules.messages:Messaging.prepared",
        "context_service.contexts.rules.messages:Messaging.send",
        "context_service.contexts.rules.messages:files_apart",
        "context_service.contexts.wire.requests:messages_of",
        "context_service.contexts.wire.requests:parts_of",
    ),
    "text of a record: `RECORD_TEXT_BYTES_MAX`": (
        "context_service.contexts.store.pointed_records:PointedRecords._run_claimed",
    ),
    "passages read for a question: 600, of 256 terms; 64 terms of a question; steps": (
        "context_service.contexts.rules.recall:Recalling._recall",
    ),
    "statements of the 50 best passages, of 12 sentences": (
        "context_service.contexts.rules.find:ContextsFinding._newest_first",
        "context_service.contexts.rules.recall:Recalling._newest_first",
    ),
    "passages of a search over contexts: 2,000 contexts, 32 terms, 350 rows; steps": (
        "context_service.retrieval.rules.search_across:best_across",
        "context_service.retrieval.store.across:AcrossContexts._rows",
        "context_service.retrieval.store.across:AcrossContexts.matching",
        "context_service.retrieval.store.across:AcrossContexts.near",
    ),
    "a status message: 1 MiB": ("context_service.contexts.rules.tasks:Tasks._checked",),
    "a mapping: 10,000 symbols, and a budget that stops with the call": (
        "context_service.history.rules.compile_pool:CompilePool.run",
    ),
    "a page of a history": (
        "context_service.history.rules.chat_history:ChatHistories._collector.count",
        "context_service.history.rules.format_history:Formatting.format",
    ),
    "samples of a trial: 1,000, 4 MiB": (
        "context_service.history.rules.trial:MappingTrials._of_samples",
        "context_service.history.rules.trial:MappingTrials.page",
    ),
    "a request of 1,000 characters to sign; certificates, once": (
        "context_service.knowledge_bases.bedrock:BedrockClient.retrieve",
    ),
    "compiled pages that are written together": (
        "context_service.compiled_pages.store.pages:CompiledRows._pieces",
        "context_service.compiled_pages.store.pages:CompiledRows._put",
    ),
    "text of a document: its limit of bytes": (
        "context_service.knowledge_bases.store.passages:document_source.origin",
        "context_service.knowledge_bases.rules.documents:DocumentTexts._cut",
    ),
    "a facet: `FACET_BYTES_MAX`": ("context_service.compiled_pages.store.passages:facet_source.origin",),
    "an answer of an MCP server: 1 MiB, 16,384 containers, 50,000 values, 500 blocks": (
        "context_service.mcp_servers.client:McpClient._http",
        "context_service.mcp_servers.client:McpClient.call.work",
        "context_service.mcp_servers.client:_check_message",
        "context_service.mcp_servers.client:_library",
        "context_service.mcp_servers.client:_tools",
    ),
    "a memory: its limit of bytes": ("context_service.memories.rules.memories:Memories.prepare",),
    "a page: its limit of bytes": ("context_service.wiki.rules.pages:Pages.put",),
    "the text about a user: 1,000 memories, 2,000 messages, 512 KiB": (
        "context_service.summaries.rules.user_context:UserContexts.read",
    ),
    "messages of a summary: 1,000, 1 MiB": ("context_service.summaries.rules.context_summary:ContextSummaries.read",),
    "memories that a reflection rests on": (
        "context_service.memories.rules.recall:MemoryRecalling.reflect",
        "context_service.memories.rules.written_reflection:WrittenReflection.write",
    ),
    "arguments and answers of a tool: a message of 4 MiB": (
        "context_service.mcp.answers:plain",
        "context_service.mcp.answers:shortened",
        "context_service.mcp.http:Mcp._answer",
        "context_service.mcp.query_server:_result",
        "context_service.mcp.api:ToolsServicer.ExecuteTool",
        "context_service.mcp.tools.windows:_expand",
    ),
    "hits of the providers of a question, and what they say: limits of `query.checking`": (
        "context_service.query.providers.mcp_tools:McpToolProvider.search",
        "context_service.query.rules.meaning:HitsByMeaning.cosines",
        "context_service.query.rules.query:ContextQueries._answer",
        "context_service.query.rules.query:ContextQueries._expand_refs",
        "context_service.query.rules.query:ContextQueries._fuse",
        "context_service.query.rules.query:ContextQueries._pass.check",
        "context_service.query.rules.query:ContextQueries.query",
        "context_service.query.providers.specialists:_Folder.best",
    ),
    "words of a question without a match: 4, with 20,000 words; steps": (
        "context_service.retrieval.rules.candidates:query_and_rows",
    ),
    "as `Recall`; steps": ("context_service.retrieval.rules.search:best",),
    "passages: 600 that are read, 1 MiB that are written together; 20,000 words": (
        "context_service.retrieval.store.passages:Passages._rows",
        "context_service.retrieval.store.passages:Passages.put",
        "context_service.retrieval.store.passages:Passages.vocabulary",
        "context_service.retrieval.store.passages:Passages.words_like",
    ),
    "messages that memories are learned from at a time: 200": (
        "context_service.learning.rules.learn:_found_by_rules",
        "context_service.learning.rules.learn_by_model:LearningByModel.statements",
    ),
    "a message of a history: 1 MiB": ("context_service.contexts.rules.sync_history:_messages",),
    "texts of a call: 4 MiB": ("context_service.kernel.tokens.counting:TokenCounter.counts",),
    "a piece of an archive: 1 MiB": (
        "context_service.transfer.pure:pieces",
        "context_service.transfer.rules.imports:_Import._begin_context",
        "context_service.transfer.rules.imports:_Import._batch",
    ),
    "what a window reads or shows at a time: limits of `windows.config`": (
        "context_service.folding.rules.plan_fold:FoldPlanning._files",
        "context_service.packing.rules.pack:Packing._laid_out",
        "context_service.packing.rules.window_bodies:WindowBodies.without_files",
        "context_service.packing.api:PackingServicer.ExplainPack",
        "context_service.windows.rules.explain:Accounts.explained",
        "context_service.checkpoints.rules.checkpoints:Checkpoints._pins",
        "context_service.windows.rules.update_window:Editing._room",
        "context_service.windows.rules.update_window:Editing._write_pins",
        "context_service.windows.rules.update_window:Editing.patch_state.prepare",
        "context_service.windows.rules.update_window:Editing.update.prepare",
        "context_service.forks.rules.fork:Forks._inherited",
        "context_service.forks.rules.merge:Merges._worked",
        "context_service.windows.rules.originals:Originals.search",
        "context_service.windows.rules.trace_message:Tracing.trace",
        "context_service.profiles.rules.profiles:OwnProfiles._apart",
        "context_service.profiles.rules.profiles:OwnProfiles.beside",
        "context_service.folding.rules.plan_fold:FoldPlanning.plan",
        "context_service.folding.rules.write_fold:FoldWriting._count",
        "context_service.packing.rules.append_blocks:Appending.note_on_patches",
        "context_service.packing.rules.append_blocks:Appending.steps",
        "context_service.packing.rules.ask_middleware:ask_middleware",
        "context_service.packing.rules.pack:Packing._attempt",
        "context_service.packing.rules.prefetch:prefetched",
        "context_service.packing.rules.read_log:LogReading._messages",
        "context_service.packing.rules.read_step:StepReading.step",
        "context_service.packing.rules.rebuild:Rebuilding.rebuild.work",
        "context_service.packing.rules.window_bodies:WindowBodies.read",
        "context_service.usage.rules.statistics:Statistics.of",
        "context_service.usage.store.statistics:StatisticsRows.breaks",
        "context_service.packing.store.views:ViewRows.account",
        "context_service.packing.store.views:ViewRows.add",
        "context_service.packing.store.views:ViewRows.blocks",
        "context_service.packing.store.views:ViewRows.entries",
        "context_service.packing.store.views:ViewRows.entries_from",
        "context_service.packing.store.views:ViewRows.prepare",
        "context_service.packing.store.views:ViewRows.prepare_written",
        "context_service.packing.store.views:ViewRows.prepared_fold",
        "context_service.packing.store.views:ViewRows.receipts",
        "context_service.packing.store.views:ViewRows.receipts_since",
        "context_service.packing.store.views:ViewRows.view",
        "context_service.packing.store.views:ViewRows.summaries",
        "context_service.packing.store.views:ViewRows.tallies",
        "context_service.packing.store.views:ViewRows.write_fold",
        "context_service.windows.rules.windows:Windows.prepare",
        "context_service.folding.rules.model_segments:Writing._segment",
    ),
    "columns of found records; passages as `Recall`, in steps": (
        "context_service.working_memory.rules.passages:RecordQuotes.in_columns",
        "context_service.working_memory.rules.search:Searches._by_passages",
    ),
    "text of a file: its limit of bytes": ("context_service.working_memory.rules.file_texts:FileTexts._put",),
    "content of a record: 1 MiB": (
        "context_service.working_memory.rules.records:WorkingMemory.insert",
        "context_service.working_memory.rules.records:WorkingMemory.update",
        "context_service.working_memory.store.texts.record_index:_made",
        "context_service.working_memory.rules.record_texts:RecordTexts.content",
        "context_service.working_memory.rules.record_texts:RecordTexts.read",
    ),
    "data of a node: 1 MiB, and the change of it": ("entity_service.rules.data_change:changed_data",),
    "a request: 4 MiB, 2,000 rows": ("entity_service.api:EntityGraphServicer._parse",),
    "a line of an import: 4 MiB": ("entity_service.wire.transfer:ImportLines.batches",),
    "a name of a host: looked up by a thread, a bounded number at once for a tenant": (
        "service_runtime.network.destinations:_Lookups._looked_up",
    ),
    "`beside_the_loop` itself": (
        "service_runtime.inputs.documents:beside_the_loop",
        "service_runtime.inputs.documents:in_stoppable_thread",
    ),
    "a body of protobuf: 4 MiB, 100,000 fields, 60,000 elements; steps": (
        "service_runtime.http.connect:_Exchange.request",
    ),
    "a request: 4 MiB, 100,000 fields, 60,000 elements; steps": (
        "service_runtime.grpc_server.interceptors:_wrap.parsed",
    ),
}


# What tries each bound: of this file, of `attacks`, `worst` or `test_worst_cases`, by name; an attack may be the first
# word of several. Of a bound that cannot be tried here, where it is tried.
TRIED: dict[str, tuple[str, ...]] = {
    "an answer of a model": ("tests/context_service/kernel/test_answers_of_models.py",),
    "an answer that is kept": ("five hundred messages",),
    "no data of a caller": ("tests/service_runtime",),
    "an artifact": ("cutting",),
    "rows of a page": ("memories", "windows"),
    "messages of a call": ("five hundred messages", "a message: lines", "data parts with types"),
    "text of a record": ("content:", "cutting"),
    "passages read for a question": ("ranked", "windows"),
    "statements of the 50 best passages": ("tests/context_service/retrieval/test_restatements.py",),
    "passages of a search over contexts": ("ranked", "tests/context_service/contexts/test_finding.py"),
    "a status message": ("a message: lines",),
    "a mapping": ("an expression of 1+",),
    "a page of a history": ("graph",),
    "samples of a trial": ("samples:",),
    "a request of 1,000 characters": ("tests/context_service/knowledge",),
    "compiled pages": ("tests/context_service/knowledge",),
    "text of a document": ("cutting", "counting"),
    "a facet": ("cutting",),
    "an answer of an MCP server": ("tests/hostile/test_stalls.py",),
    "a memory": ("memories",),
    "a page: its limit": ("cutting",),
    "memories that a reflection": ("memories",),
    "messages of a summary": ("windows", "catching_up"),
    "the text about a user": ("memories",),
    "arguments and answers of a tool": ("arguments:", "graph"),
    "hits of the providers": ("hits of a small answer of an MCP tool", "memories", "graph"),
    "words of a question without": ("slips", "beginnings"),
    "as `Recall`; steps": ("ranked", "memories"),
    "passages: 600 that are read": ("ranked", "a vocabulary"),
    "messages that memories are learned from": ("tests/context_service/learning",),
    "a message of a history": ("graph",),
    "texts of a call": ("counting",),
    "a piece of an archive": ("memories", "graph"),
    "what a window reads or shows": ("windows", "results", "catching_up", "folding", "a system prompt:", "tools:"),
    "columns of found records": ("ranked", "graph"),
    "text of a file": ("cutting", "counting"),
    "content of a record": ("content:",),
    "data of a node": ("nodes:", "checking"),
    "a request: 4 MiB, 2,000 rows": ("nodes:", "graph", "checking"),
    "a line of an import": ("tests/entity_service",),
    "a name of a host": ("tests/context_service/knowledge/test_mcp_client.py",),
    "`beside_the_loop` itself": ("tests/service_runtime/test_documents.py",),
    "a body of protobuf": ("tests/hostile/test_http.py",),
    "a request: 4 MiB, 100,000 fields": ("a_request",),
}


def off_the_loop() -> Iterator[str]:
    """Yield where work is moved off the event loop, or done in steps: the module and the function."""

    def within(node: ast.AST, path: tuple[str, ...]) -> Iterator[str]:
        for child in ast.iter_child_nodes(node):
            named = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
            if isinstance(child, ast.Call):
                called = child.func.id if isinstance(child.func, ast.Name) else getattr(child.func, "attr", "")
                if called in _OFF_THE_LOOP:
                    yield ".".join(path)
            yield from within(child, (*path, child.name) if named else path)

    for package in _PACKAGES:
        for file in sorted((_ROOT / package).rglob("*.py")):
            module = ".".join(file.relative_to(_ROOT).with_suffix("").parts)
            for path in within(ast.parse(file.read_text("utf-8")), ()):
                yield f"{module}:{path}"


def test_all_that_runs_off_the_loop_is_listed_with_what_bounds_it():
    listed = [place for places in BOUNDS.values() for place in places]

    assert sorted(set(listed)) == sorted(listed), "listed twice"
    assert set(off_the_loop()) == set(listed)


def test_each_bound_names_what_tries_it():
    cases = {*WORKS, *WORST_CASES, *AT_ONCE, *(step.__name__ for step in STEPS), *(attack[0] for attack in ATTACKS)}

    assert [[bound.startswith(start) for start in TRIED].count(True) for bound in BOUNDS] == [1] * len(TRIED)
    for tries in TRIED.values():
        for name in tries:
            is_file = name.startswith("tests/") and (_ROOT / name).exists()
            assert is_file or any(case.startswith(name) for case in cases), name


# What runs on the loop, at its worst.


def an_ordinary_word(number: int) -> str:
    return "".join(string.ascii_lowercase[int(digit)] for digit in str(number))


def long_words(count: int) -> list[str]:
    """Return words of 64 letters that begin alike and have the same letters."""
    front = "".join(sorted(string.ascii_lowercase * 2 + "ijk"))
    return [front + "".join(end) for end in islice(permutations("abcdefghi"), count)]


def slips() -> Generator[None, None, object]:
    """Compare words that are nearly alike, all of the length and the letters of those that are meant."""
    known = long_words(WORDS_MAX)
    assert len(known[0]) == WORD_CHARS_MAX
    return similar_words([word[:20] + "zyx" + word[23:] for word in known[:2]], Vocabulary(known))


def beginnings() -> Generator[None, None, object]:
    """Compare with a vocabulary of words that all begin with the one that is meant."""
    return similar_words(["a" * 40], Vocabulary(f"{'a' * 40}{an_ordinary_word(number)}" for number in range(WORDS_MAX)))


def ranked() -> Generator[None, None, object]:
    """Rank as many passages as are read, each full of terms of the question."""
    terms = [an_ordinary_word(10_000 + number) for number in range(CHARS_MAX // 6)]
    found = [(place, place % ASKED_TERMS_MAX) for place in range(256)]
    now, count = datetime.now(UTC), READ_WHOLE
    rows = [
        Row(one, 0, 0, one, 256, 256, 256 * count, count, 0, "text", "user", "", None, now - timedelta(one), found)
        for one in range(count)
    ]
    total = 256 * count
    totals = Totals(passages=count, sessions=1, length=total, length_before=total, length_after=total, last_seq=count)
    matching = Matching(totals=totals, rows=rows, is_whole=True, estimated={})
    return ranking(AnalyzedQuery.of(" ".join(terms)), matching, profile("conversation"))


def a_request() -> Generator[None, None, object]:
    """Read a request of empty messages, of which each of a list's has as many as are just not large."""
    part = b"\x22\x00" * (messages.AT_ONCE_BYTES // 2 - 8)
    size = len(part)
    said = b"\x12" + bytes([size & 0x7F | 0x80, size >> 7 & 0x7F | 0x80, size >> 14]) + part
    return messages.read(contexts.AppendMessagesRequest, said * (4 * 1024 * 1024 // len(said)))


STEPS = (slips, beginnings, ranked, a_request)
# To free two million messages takes protobuf 25 ms, which nobody can cut.
_FREEING_UNITS = 75


@pytest.mark.parametrize("begin", STEPS, ids=lambda begin: begin.__name__)
def test_no_step_takes_longer_than_a_slice_may(begin: Callable[[], Generator[None, None, object]]):
    """The first of four runs may pay for what is made once, and each for other programs."""
    units_max = STEP_UNITS_MAX + (_FREEING_UNITS if begin is a_request else 0)
    assert any(worst_step(begin()) < units_max for _ in range(4))


def worst_step(steps: Generator[None, None, object]) -> float:
    """Return the CPU of the longest step, in units of the moment."""
    worst_s, is_over = 0.0, False
    while not is_over:
        began_s = time.thread_time()
        try:
            next(steps)
        except (StopIteration, LimitExceeded):
            is_over = True
        worst_s = max(worst_s, time.thread_time() - began_s)
    return in_units(worst_s)


def dates(text: str) -> Callable[[], object]:
    text = (text * (CHARS_MAX // len(text)))[:CHARS_MAX]
    return lambda: AnalyzedQuery.of(text).days


_LONG_WORD = "".join(random.Random(7).choices(string.ascii_lowercase, k=32))
# As Postgres writes those of as many characters as a filter may have.
_JSON_PATHS = {
    "terms": " || ".join(['$."a" == 1'] * (JSON_PATH_CHARS_MAX // 7)),
    "filters": "$" + '?(@."a" == 1)' * (JSON_PATH_CHARS_MAX // 9),
    "filters in filters": "$" + '?(@."a"' * 40 + " == 1" + ")" * 40,
    "subscripts": "$" + "[0]" * (JSON_PATH_CHARS_MAX // 3),
    "digits": f"$.a == 1{'0' * (JSON_PATH_WRITTEN_CHARS_MAX - 8)}",
}
AT_ONCE: dict[str, Callable[[], object]] = {
    "dates of a question: months by years": dates("jan 2001 may 1999 "),
    "dates of a question: ISO": dates("2001-01-01 "),
    "words of a question": lambda: AnalyzedQuery.of(" ".join(map(an_ordinary_word, range(CHARS_MAX // 5)))).terms,
    "a vocabulary": lambda: Vocabulary(_LONG_WORDS),
    "terms a slip away from the longest word that the index is asked for": lambda: stems(one_slip_away(_LONG_WORD)),
    "hits of a small answer of an MCP tool": lambda: hits(_SMALL),
    **{f"a JSONPath of {name}": lambda text=text: json_paths.read(text) for name, text in _JSON_PATHS.items()},
}


class _SMALL:
    structured: Any = None
    texts = (json.dumps([{"text": "x" * 100}] * 200),)
    is_error = False


_LONG_WORDS = long_words(WORDS_MAX)


@pytest.mark.parametrize("name", AT_ONCE)
def test_what_is_done_at_once_takes_no_longer_than_a_slice_may(name: str):
    assert units(AT_ONCE[name]) < STEP_UNITS_MAX


WORK_UNITS_MAX = 5_000  # 2 s: as long may others wait for the thread, once it is their turn
STOPS_UNITS_MAX = 600  # .24 s: between two looks whether the caller is still there


@pytest.mark.parametrize("name", WORKS)
async def test_work_in_a_thread_is_bounded_and_stops_when_its_caller_leaves(name: str):
    clock, started = 0, threading.Event()

    def work() -> None:
        nonlocal clock
        clock = time.pthread_getcpuclockid(threading.get_ident())
        started.set()
        WORKS[name]()

    with ThreadPoolExecutor(1) as threads:
        loop = asyncio.get_running_loop()
        before_s = await loop.run_in_executor(threads, time.thread_time)
        await in_stoppable_thread(threads, work)
        whole_s = await loop.run_in_executor(threads, time.thread_time) - before_s
        started.clear()
        left = asyncio.create_task(in_stoppable_thread(threads, work))
        await asyncio.to_thread(started.wait)
        left.cancel()
        with suppress(asyncio.CancelledError):
            await left
        left_s = time.clock_gettime(clock)
        more_s = await loop.run_in_executor(threads, time.thread_time) - left_s

    assert in_units(whole_s) < WORK_UNITS_MAX
    assert in_units(more_s) < STOPS_UNITS_MAX
    assert more_s < whole_s / 2
