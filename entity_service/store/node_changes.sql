-- lock
-- Not FOR UPDATE: new edges to the node need not wait.
{{nodes.node}} FOR NO KEY UPDATE;

-- lock_for_removal
{{nodes.node}} FOR UPDATE;

-- set_data
-- The clock, because `now()` is from before the wait for the lock; never earlier than the change before.
UPDATE entity.node n
SET data = %(data)s::jsonb, version = n.version + 1, modified_at = greatest(clock_timestamp(), n.modified_at)
WHERE n.tenant_id = %(tenant_id)s AND n.id = %(id)s
RETURNING {{nodes.node_columns}};

-- set_status
UPDATE entity.node n
SET status = %(status)s, version = n.version + 1, modified_at = greatest(clock_timestamp(), n.modified_at)
WHERE n.tenant_id = %(tenant_id)s AND n.id = %(id)s
RETURNING {{nodes.node_columns}};

-- set_archived
UPDATE entity.node n
SET is_archived = %(is_archived)s, version = n.version + 1, modified_at = greatest(clock_timestamp(), n.modified_at)
WHERE n.tenant_id = %(tenant_id)s AND n.id = %(id)s
RETURNING {{nodes.node_columns}};

-- delete_edges_of_node
-- No new edge can come: it would have to lock the node that is locked. Each side is an index scan of its own.
WITH gone AS (
    DELETE FROM entity.edge
    WHERE tenant_id = %(tenant_id)s AND (from_node_id = %(id)s OR to_node_id = %(id)s)
    RETURNING id
)
SELECT count(*) AS count FROM gone;

-- delete_embeddings_of_node
-- Embeddings are of owners of several kinds and so without a foreign key.
DELETE FROM entity.embedding WHERE tenant_id = %(tenant_id)s AND owner_kind = 'node' AND owner_id = %(id)s;

-- delete_node
-- Input, output and timeline go with it, by their foreign keys.
DELETE FROM entity.node WHERE tenant_id = %(tenant_id)s AND id = %(id)s;
