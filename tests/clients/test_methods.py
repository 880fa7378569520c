"""Every RPC of every proto is a method of both clients. `tests/hostile/test_strangers.py` calls each by its stub."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.clients.worlds import ASYNC, SYNC, World, methods
from tests.rpcs import all_rpcs

# Methods that are no RPC: they make several calls, or render the answer of one in another way.
EXTRAS = {
    "archives.export_messages",
    "artifacts.get_at",
    "blobs.download",
    "graph.append_message",
    "graph.export_pages",
    "graph.traverse_pages",
    "history.formatted",
    "source_tests.replay",
    "uploads.resume",
    "uploads.upload",
}
HANDLES = {"contexts.handle", "windows.handle"}  # no calls
# Of the client before its methods had nouns.
FLAT = """
add_document append_message append_messages append_progress append_upload approve_definition approve_mcp_tool
archive_node assemble_context batch_get_edges batch_get_nodes cancel_task chat_history clear_progress close_context
close_window commit_fold compare_source_tests compile_pages consolidate_memories count_nodes create_checkpoint
create_download_url create_edge create_key create_node create_task delete_agent delete_agent_template delete_blob
delete_context delete_edge delete_embedding delete_knowledge_base delete_mapping delete_mcp_server delete_node
delete_page delete_source_test delete_specialist delete_wm_record discover_mcp_tools download_blob erase erase_owned
estimate_cost execute_tool expand explain_pack export_archive export_archive_messages export_graph
export_graph_pages fetch_entity_history fetch_wm_manifest fetch_wm_record fetch_wm_records_by_entity finish_upload
fold forget_memory fork_window formatted_chat_history get_agent get_agent_template get_artifact get_artifact_at
get_blob get_caller get_chat_history get_compiled_page get_content get_context get_contexts_by_external_id
get_definition get_edge get_erasure get_import get_job get_knowledge_base get_lineage get_mapping get_message
get_node get_node_by_external_id get_node_by_name get_node_io get_owned get_page get_query_policy get_recent_calls
get_source_test get_state get_subject_erasure get_task get_upload get_usage get_window import_archive import_graph
insert_wm_record issue_context_key list_administrative_calls list_agent_templates list_agents list_background_work
list_blobs list_changes list_checkpoints list_compiled_pages list_context_providers list_contexts list_definitions
list_documents list_edge_types list_edges list_embeddings list_graphs list_holds list_jobs list_keys
list_knowledge_bases list_mappings list_mcp_servers list_mcp_tools list_memories list_messages list_page_versions
list_pages list_profiles list_progress list_resources list_source_tests list_specialists list_tasks list_tenants
list_tools list_windows list_wm_record_actions merge_window open_window pack patch_state pin plan_erasure
prepare_fold put_agent put_agent_template put_artifact put_definition put_facet put_hold put_knowledge_base
put_mcp_server put_page put_profile put_specialist query_context query_wm_records recall recall_memories
record_outcome record_usage reflect_memories register_mapping release_hold remove_document replay_source_test
report_response reset_node restore_wm_record resume_upload retain_memory retire_definition retract_messages
retry_background_work revoke_key rollback run_source_test search_context search_nodes search_similar search_window
search_wm_records send_message set_learning set_node_io set_tenant_limits start_changes start_job start_upload
stream_query_context sync_history test_definition test_mapping traverse traverse_pages unapprove_mcp_tool unpin
update_context update_edge_data update_memory update_node_data update_node_status update_provider_setting
update_task update_window update_wm_record upload_blob upload_resumable upsert_embedding wait_for_index
watch_context watch_window window_stats write_graph
"""
ROOT = Path(__file__).parents[2]
# Of the client itself.
OWN = {"call", "channel", "close", "stream", "with_credential"}


@pytest.mark.parametrize("world", [ASYNC, SYNC], ids=["async", "sync"])
def test_the_methods_of_a_client_are_the_rpcs_by_their_options(world: World):
    rpcs = {rpc.client for rpc in all_rpcs()}
    assert {"graph.traverse", "blobs.upload", "history.get"} <= rpcs

    found = {name for client in (world.entity_class, world.context_class) for name, _ in methods(client)}

    assert found == rpcs | EXTRAS | HANDLES


@pytest.mark.parametrize("world", [ASYNC, SYNC], ids=["async", "sync"])
def test_a_client_itself_has_few_methods(world: World):
    for client in (world.entity_class, world.context_class):
        nouns = {name.partition(".")[0] for name, _ in methods(client)}
        assert {name for name in dir(client) if not name.startswith("_")} == OWN | nouns


def test_the_page_of_names_leads_from_each_flat_name_to_a_method_that_there_is():
    rows = [
        re.findall(r"`([^`]+)`", line) for line in (ROOT / "docs/names.md").read_text().splitlines() if "| `" in line
    ]
    found = {name for client in (ASYNC.entity_class, ASYNC.context_class) for name, _ in methods(client)}

    assert {row[0] for row in rows} == set(FLAT.split())
    assert {row[1] for row in rows} == found - HANDLES
