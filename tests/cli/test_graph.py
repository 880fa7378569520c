from __future__ import annotations

from tests.cli.conftest import Answer, Run


def test_edges_are_listed_deleted_and_made_again(run: Run, answer: Answer, node: str):
    (edge,) = answer(f"edge list {node}")
    assert answer(f"edge delete {edge['id']}")["id"] == edge["id"]
    assert answer(f"edge list {node}") == []
    line = f"edge create {node} {edge['to_node_id']} Contains"
    made = answer(line, "--data", '{"index": 1}')
    assert (made["edge_type"], made["data"]) == ("Contains", {"index": 1})
    again = run(line)
    assert (again.exit_code, "EDGE_EXISTS" in again.stderr) == (4, True)
    assert run(f"edge delete {node}").exit_code == 3


def test_nodes_are_searched_and_counted(run: Run, answer: Answer, node: str):
    one = answer("search", "--contains", '{"user_input": "Where?"}', "--connected-to", node)
    assert [each["data"]["assistant_output"] for each in one] == ["Here."]
    assert answer(f"search --count --connected-to {node}") == {"nodes": 1}
    assert answer(f"search --connected-to {node} --jsonpath", '$.user_input == "Where?"')[0]["id"] == one[0]["id"]
    assert answer(f"search --connected-to {node} --where", '{"status": {"$eq": "Failed"}}') == []
    assert run("search --where", '{"status": {"$no": 1}}').exit_code == 2


def test_a_node_is_made_read_changed_archived_and_walked_from(run: Run, answer: Answer, node: str):
    made = answer("node create Session --name support --data", '{"a": 1, "b": 2}')
    one = made["id"]
    assert answer(f"node update {one}", '{"a": null}')["data"] == {"b": 2}
    assert answer(f"node status {one} Running --expected-status Created")["status"] == "Running"
    assert run(f"node status {one} Completed --expected-status Created").exit_code == 4
    assert answer(f"node archive {one}")["is_archived"] is True
    assert answer(f"node archive {one} --restore")["is_archived"] is False
    assert answer(f"node get {one}")["name"] == "support"
    assert [each["data"]["user_input"] for each in answer(f"node connected {node}")] == ["Where?"]
