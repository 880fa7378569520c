"""`contextkeep message`, and nodes named by one's own ids."""

from __future__ import annotations

import pytest

from contextkeep import new_id
from tests.cli.conftest import Answer, Run


@pytest.fixture
def thread(answer: Answer) -> tuple[str, str]:
    """The external id of a session of the graph `support`, and its id."""
    thread = f"thread-{new_id()}"
    written = answer(f"message append {thread} Hello --role user --external-id --create --graph support")
    assert written["session_created"]
    return thread, written["session_id"]


def test_a_message_is_appended_to_a_session_by_its_id_or_ones_own(answer: Answer, thread: tuple[str, str]):
    external_id, session_id = thread
    answer(f"message append {external_id} Hi --role assistant --external-id --graph support")
    answer(f"message append {session_id} Rain? --role user --graph support --data '{{\"n\": 1}}'")

    history = answer(f"history {external_id} --external-id --graph support")
    assert [(each["role"], each["content"]) for each in history] == [
        ("user", "Hello"),
        ("assistant", "Hi"),
        ("user", "Rain?"),
    ]


@pytest.mark.parametrize(
    "line",
    [
        "node get {}",
        "node connected {}",
        "node io {}",
        "node progress {}",
        "edge list {}",
        "history {}",
        "wm list {}",
        "wm blobs {}",
        "wm manifest {}",
        "search --connected-to {}",
    ],
)
def test_a_command_takes_ones_own_id_of_a_node(answer: Answer, thread: tuple[str, str], line: str):
    external_id, session_id = thread
    graph = " --graph support" if line.startswith("search") else ""

    by_own = answer(f"{line.format(external_id)} --external-id --graph support")

    assert by_own == answer(line.format(session_id) + graph)


def test_a_write_takes_it_too(answer: Answer, thread: tuple[str, str]):
    """Arguments behind the node stay where they are."""
    named = f"{thread[0]} --external-id --graph support"
    assert answer(f"node status {named} Running")["status"] == "Running"
    assert answer(f"node update {named} '{{\"a\": 1}}'")["data"] == {"a": 1}
    assert answer(f"node delete {named} --yes") == {"external_id": thread[0], "edges_deleted": 1}


def test_what_is_not_there_is_named_with_its_graph(run: Run):
    result = run("history no-such-thread --external-id")
    assert result.exit_code == 3
    assert "reason: NODE_NOT_FOUND external_id=no-such-thread graph_name=default" in result.stderr


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("message append x Hello --role user --create", "needs --external-id"),
        ("message append x Hello --role human --external-id", "'human' is not one of"),
        ("history x --graph support", "needs --external-id"),
        ("message append x Hello --role user", "your own id of it is its external_id"),
    ],
)
def test_a_slip_is_told_with_what_to_do(run: Run, line: str, told: str):
    result = run(line)
    assert result.exit_code == 2
    assert told in result.stderr
