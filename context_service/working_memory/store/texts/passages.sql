-- place
-- What `put` needs.
entity_node_id, seq, created_at, graph_name, agent_bundle_id, app_id, passage_count

-- turn
-- Until the transaction ends. A lock of its own: before the first passage of a node there is no row to lock.
SELECT pg_advisory_xact_lock(hashtextextended('passages of ' || %s::text, 0));

-- place_text
SELECT {{place}} FROM context.wm_record WHERE tenant_id = %s AND id = %s;

-- count
UPDATE context.wm_record SET passage_count = %s WHERE tenant_id = %s AND id = %s;

-- forget
UPDATE context.wm_record SET passage_count = NULL WHERE tenant_id = %s AND id = %s;
