from __future__ import annotations

from pathlib import Path

from contextkeep import EntityClient
from tests.cli.conftest import Answer, Run
from tests.conftest import KEY, Addresses


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


def test_a_walk_of_a_search_goes_both_ways_and_what_is_found_is_ordered(run: Run, answer: Answer, node: str):
    (edge,) = answer(f"edge list {node}")
    turn = edge["to_node_id"]
    assert [each["id"] for each in answer(f"search --connected-to {turn} --direction in")] == [node]
    assert answer(f"search --connected-to {turn} --direction in --edge-type Calls --depth 1") == []
    assert run("search --direction in").exit_code == 2
    bundle = '{"type": "Session"}'
    assert answer("search --agent-bundle-id 0197f1f2-0000-7000-8000-000000000001 --where", bundle) == []
    for score in (1, 3, 2):
        answer(f"node create Scored{node} --data", f'{{"score": {score}}}')
    ordered = answer("search --order-by -data.score --where", f'{{"type": "Scored{node}"}}')
    assert [each["data"]["score"] for each in ordered] == [3, 2, 1]


def test_nodes_are_named_by_id_name_and_external_id(run: Run, answer: Answer, node: str):
    for _ in range(2):
        made = answer(f"node create Session --name same{node}")["id"]
    other = answer(f"node create Session --external-id mine{node}")["id"]
    assert [each["id"] for each in answer(f"node get {made} {other}")] == [made, other]
    assert answer(f"node get mine{node} --external-id")["id"] == other
    named = run(f"node get same{node} --name --json")
    assert made in named.stdout
    assert "2 nodes have this name" in named.stderr
    unknown = "0197f1f2-0000-7000-8000-00000000ffff"
    some = run(f"node get {made} {unknown}")
    assert (some.exit_code, made in some.stdout, unknown in some.stderr) == (3, True, True)
    assert run(f"node get {unknown}").exit_code == run("node get nobody --name").exit_code == 3
    assert run("node get").exit_code == run(f"node get {made} {other} --name").exit_code == 2


def test_a_node_is_made_read_changed_archived_and_walked_from(run: Run, answer: Answer, node: str):
    made = answer("node create Session --name support --data", '{"a": 1, "b": 2}')
    one = made["id"]
    assert answer(f"node update {one}", '{"a": null}')["data"] == {"b": 2}
    assert run(f"node update {one}", '{"c": [3]}').stdout.splitlines()[-1].split() == [
        "data",
        '{"b":',
        "2,",
        '"c":',
        "[3]}",
    ]
    assert answer(f"node status {one} Running --expected-status Created")["status"] == "Running"
    assert run(f"node status {one} Completed --expected-status Created").exit_code == 4
    assert answer(f"node archive {one}")["is_archived"] is True
    assert answer(f"node archive {one} --restore")["is_archived"] is False
    assert answer(f"node get {one}")["name"] == "support"
    assert [each["data"]["user_input"] for each in answer(f"node connected {node}")] == ["Where?"]


def test_a_node_is_deleted_for_good_only_when_that_is_meant(run: Run, answer: Answer, node: str):
    assert run(f"node delete {node}").exit_code == 1
    refused = run(f"node delete {node}", stdin="n\n")
    assert (refused.exit_code, refused.stdout) == (1, "")
    assert "cannot be undone" in refused.stderr
    assert run(f"node delete {node} --yes --expected-version 7").exit_code == 4
    assert answer(f"node delete {node} --yes") == {"id": node, "edges_deleted": 1}
    assert run(f"node get {node}").exit_code == 3
    assert run(f"node delete {node} --yes").exit_code == 3


def test_what_went_into_a_node_and_out_of_it_is_set_printed_and_reset(run: Run, answer: Answer, node: str):
    assert answer(f"node io {node}") == {"input": None, "output": None, "modified_at": None}
    answer(f"node io {node}", "--set-input", '{"n": 9007199254740993}')
    both = answer(f"node io {node}", "--set-output", "null")
    assert (both["input"], both["output"]) == ({"n": 9007199254740993}, None)
    assert both["modified_at"].endswith("Z")
    assert answer(f"node io {node} --set-output", '"done"')["output"] == "done"
    assert run(f"node io {node} --raw").stdout.startswith('{"n": 9007199254740993}\tdone\t')
    answer(f"node status {node} Failed")
    assert run(f"node reset {node}", stdin="n\n").exit_code == 1
    assert answer(f"node io {node}")["output"] == "done"
    assert answer(f"node reset {node} --yes")["status"] == "Created"
    after = answer(f"node io {node}")
    assert (after["input"], after["output"]) == ({"n": 9007199254740993}, None)
    assert answer(f"node progress {node}") == []


def test_a_timeline_has_what_a_node_calls_and_is_cleared(run: Run, answer: Answer, node: str):
    called = answer("node create Tool")["id"]
    answer(f"edge create {node} {called} Calls")
    answer(f"node status {node} Running --message begun")
    answer(f"node status {called} Completed --message found")
    timeline = answer(f"node progress {node}")
    assert [(each["node_id"], each["message"]) for each in timeline] == [(node, "begun"), (called, "found")]
    assert [each["message"] for each in answer(f"node progress {node} --descending --own-only")] == ["begun"]
    assert answer(f"node progress {node} --type value") == answer(f"node progress {node} --type VALUE") == []
    assert run(f"node progress {node} --type no").exit_code == 2
    shown = run(f"node progress {node} --limit 1")
    assert ("begun" in shown.stdout, "found" in shown.stdout, "more than 1" in shown.stderr) == (True, False, True)
    assert run(f"node progress {node} --clear --own-only --yes").exit_code == 2
    assert run(f"node progress {node} --clear", stdin="n\n").exit_code == 1
    assert answer(f"node progress {node} --clear --yes") == {"id": node, "envelopes_deleted": 1}
    assert [each["message"] for each in answer(f"node progress {node}")] == ["found"]


def test_nodes_are_found_by_their_vectors(run: Run, answer: Answer, stack: Addresses, tmp_path: Path):
    name = "like"
    with EntityClient(stack.entity, api_key=KEY) as graph:
        one, near, far = (graph.graph.create_node("Task", name=each).id for each in ("one", "near", "far"))
        graph.embeddings.upsert(one, [1, 0], name=name)
        graph.embeddings.upsert(near, [1, 0.5], name=name, metadata={"language": "de"})
        graph.embeddings.upsert(far, [0, 1], name=name)
    similar = answer(f"node similar {one} --name {name}")
    assert [(each["node"]["id"], round(each["similarity"], 2)) for each in similar] == [(near, 0.89), (far, 0.0)]
    assert [
        row.split("\t")[:2] for row in run(f"node similar {one} --name {name} --min 0.5 --raw").stdout.splitlines()
    ] == [["0.8944", near]]
    (tmp_path / "vector.json").write_text("[0, 2]")
    by_vector = answer(f"node similar --vector @{tmp_path}/vector.json --name {name} --limit 1")
    assert [each["node"]["id"] for each in by_vector] == [far]
    filtered = answer(f"node similar --vector [0,2] --name {name} --metadata", '{"language": "de"}')
    assert [each["node"]["id"] for each in filtered] == [near]
    assert run("node similar").exit_code == 2
    assert run(f"node similar {one} --vector [1]").exit_code == 2
    assert run(f"node similar {far} --name none").exit_code == 3
