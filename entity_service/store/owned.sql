-- columns
nodes_removed AS nodes, edges_removed AS edges, answers_removed AS answers, names_replaced AS names

-- read
SELECT {{columns}}, finished_at FROM entity.erasure WHERE tenant_id = %s AND erasure_id = %s;

-- begin
INSERT INTO entity.erasure (tenant_id, erasure_id, subject) VALUES (%s, %s, %s)
ON CONFLICT (tenant_id, erasure_id) DO NOTHING;

-- count
WITH owned AS MATERIALIZED (
    SELECT id FROM entity.node WHERE tenant_id = %(tenant_id)s AND owner_user_id = %(subject)s
)
SELECT (SELECT count(*) FROM owned) AS nodes,
    (
        SELECT count(*) FROM (
            SELECT e.id FROM owned JOIN entity.edge e ON e.tenant_id = %(tenant_id)s AND e.from_node_id = owned.id
            UNION
            SELECT e.id FROM owned JOIN entity.edge e ON e.tenant_id = %(tenant_id)s AND e.to_node_id = owned.id
        ) either
    ) AS edges,
    (SELECT count(*) FROM entity.request WHERE tenant_id = %(tenant_id)s AND subject = '=' || %(subject)s) AS answers,
    0::bigint AS names, NULL::timestamptz AS finished_at;

-- claim
WITH due AS (
    SELECT erasure_id FROM entity.erasure
    WHERE tenant_id = %(tenant_id)s AND finished_at IS NULL AND due_at <= now()
    ORDER BY created_at LIMIT 1
    FOR UPDATE SKIP LOCKED
)
UPDATE entity.erasure e SET due_at = now() + %(lease)s FROM due
WHERE e.tenant_id = %(tenant_id)s AND e.erasure_id = due.erasure_id
RETURNING e.erasure_id, e.subject;

-- owed
SELECT extract(epoch FROM now() - min(created_at))::float AS since_s FROM entity.erasure
WHERE tenant_id = %s AND finished_at IS NULL;

-- find
SELECT id FROM entity.node
WHERE ctid >= %(first)s::tid AND ctid < %(end)s::tid AND tenant_id = %(tenant_id)s AND owner_user_id = %(subject)s;

-- lock
SELECT id FROM entity.node WHERE tenant_id = %s AND id = ANY (%s) ORDER BY id FOR UPDATE;

-- remove_edges
-- No new edge can come: it would have to lock the node that is locked. Each side is an index scan of its own.
WITH gone AS (
    DELETE FROM entity.edge
    WHERE tenant_id = %(tenant_id)s AND (from_node_id = ANY (%(ids)s) OR to_node_id = ANY (%(ids)s))
    RETURNING true
)
SELECT count(*) AS edges FROM gone;

-- remove_embeddings
DELETE FROM entity.embedding WHERE tenant_id = %(tenant_id)s AND owner_kind = 'node' AND owner_id = ANY (%(ids)s);

-- remove_nodes
-- Input, output and timeline go with it, by their foreign keys.
WITH gone AS (DELETE FROM entity.node WHERE tenant_id = %(tenant_id)s AND id = ANY (%(ids)s) RETURNING true)
UPDATE entity.erasure SET nodes_removed = nodes_removed + (SELECT count(*) FROM gone),
    edges_removed = edges_removed + %(edges)s, due_at = now() + %(lease)s
WHERE tenant_id = %(tenant_id)s AND erasure_id = %(erasure_id)s;

-- say_no_types
-- Types are words of the node's author. The changes are those of this transaction; a reader knows a node by its
-- id.
UPDATE entity.change SET general_type_name = '', specific_type_name = ''
WHERE tenant_id = %(tenant_id)s AND transaction_id = pg_current_xact_id();

-- of_what_is_gone
c.ctid >= %(first)s::tid AND c.ctid < %(end)s::tid AND c.tenant_id = %(tenant_id)s
AND NOT EXISTS (SELECT FROM entity.node n WHERE n.tenant_id = c.tenant_id AND n.id = c.id)
AND NOT EXISTS (SELECT FROM entity.edge e WHERE e.tenant_id = c.tenant_id AND e.id = c.id)

-- forget_changes
-- Changes of removed nodes and edges from while they were there; their removal is a later change.
DELETE FROM entity.change c WHERE {{of_what_is_gone}} AND NOT c.is_removed;

-- say_no_older_types
-- And of those that were removed earlier: nothing says who owned them.
UPDATE entity.change c SET general_type_name = '', specific_type_name = ''
WHERE {{of_what_is_gone}} AND c.is_removed AND c.general_type_name <> '';

-- counting(counter, change)
-- does something to some pages of a table, and counts it on the receipt.
WITH gone AS ({{change}} RETURNING true), counted AS (SELECT count(*) AS rows FROM gone)
UPDATE entity.erasure SET {{counter}} = {{counter}} + counted.rows, due_at = now() + %(lease)s
FROM counted
WHERE tenant_id = %(tenant_id)s AND erasure_id = %(erasure_id)s AND counted.rows > 0

-- pages
ctid >= %(first)s::tid AND ctid < %(end)s::tid AND tenant_id = %(tenant_id)s

-- remove_answers
{{counting(answers_removed, UPDATE entity.request SET {{erased}} WHERE {{pages}} AND subject = '=' || %(subject)s)}};

-- rename(table, column)
{{counting(names_replaced,
    UPDATE {{table}} SET {{column}} = %(pseudonym)s WHERE {{pages}} AND {{column}} = %(subject)s)}};

-- renew
UPDATE entity.erasure SET due_at = now() + %(lease)s WHERE tenant_id = %(tenant_id)s AND erasure_id = %(erasure_id)s;

-- finish
UPDATE entity.erasure SET finished_at = now(), subject = NULL
WHERE tenant_id = %(tenant_id)s AND erasure_id = %(erasure_id)s;

-- known_erasures
SELECT erasure_id FROM entity.erasure WHERE tenant_id = %s AND erasure_id = ANY (%s::uuid[]);

-- begin_replayed
INSERT INTO entity.erasure (tenant_id, erasure_id, subject, finished_at)
VALUES (%(tenant_id)s, %(erasure_id)s, %(subject)s::text, CASE WHEN %(subject)s::text IS NULL THEN now() END)
ON CONFLICT DO NOTHING;

-- still_open
SELECT erasure_id FROM entity.erasure
WHERE tenant_id = %s AND erasure_id = ANY (%s::uuid[]) AND finished_at IS NULL
LIMIT 1;

-- subjects_in(table, source)
SELECT DISTINCT whom.subject FROM {{table}} t CROSS JOIN LATERAL ({{source}}) whom (subject)
WHERE t.ctid >= %(first)s::tid AND t.ctid < %(end)s::tid AND t.tenant_id = %(tenant_id)s
    AND whom.subject <> '';
