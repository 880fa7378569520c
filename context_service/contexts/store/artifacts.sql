-- columns
a.context_id, a.task_id, a.artifact_id, a.version, a.name, a.description, a.is_complete, a.is_newest, a.part_count,
a.passage_count, a.tokens, a.size_bytes, a.place, a.created_by, a.created_at, a.updated_at,
a.imported::text AS imported_json

-- audience
a.owner_user_id, a.ancestors, a.agent_bundle_id, a.app_id

-- header
UPDATE context.context
SET artifact_count = artifact_count + %(added)s, last_change = last_change + 1, updated_at = now()
WHERE tenant_id = %(tenant_id)s AND context_id = %(context_id)s AND closed_at IS NULL AND {{log.alive}}
    AND artifact_count + %(added)s <= %(artifacts_max)s
RETURNING *

-- begin
WITH header AS ({{header}}), replaced AS (
    UPDATE context.artifact a SET is_newest = false
    FROM header h
    WHERE a.tenant_id = h.tenant_id AND a.task_id = %(task_id)s AND a.artifact_id = %(artifact_id)s AND a.is_newest
    RETURNING a.version
)
INSERT INTO context.artifact AS a (
    tenant_id, context_id, task_id, ancestors, change, place, version, part_count, passage_count, tokens, size_bytes,
    is_complete, owner_user_id, app_id, agent_bundle_id, created_by, artifact_id, name, description, parts, metadata
)
SELECT h.tenant_id, h.context_id, %(task_id)s, h.ancestors, h.last_change, -h.last_change,
    coalesce((SELECT version FROM replaced), 0) + 1, %(part_count)s, %(passage_count)s, %(tokens)s, %(size_bytes)s,
    %(is_complete)s, h.owner_user_id, h.app_id, h.agent_bundle_id, %(created_by)s, %(artifact_id)s, %(name)s,
    %(description)s, %(parts)s::json, %(metadata)s::json
FROM header h
RETURNING {{columns}}, {{audience}};

-- extend
-- Both are lists that `to_json` wrote, with an element each: joined as texts, nothing is read.
WITH header AS ({{header}})
UPDATE context.artifact a
SET change = h.last_change, updated_at = now(), part_count = a.part_count + %(part_count)s,
    passage_count = a.passage_count + %(passage_count)s, tokens = a.tokens + %(tokens)s,
    size_bytes = a.size_bytes + %(size_bytes)s, is_complete = %(is_complete)s,
    parts = (left(a.parts::text, -1) || ',' || substr(%(parts)s, 2))::json
FROM header h
WHERE a.tenant_id = h.tenant_id AND a.task_id = %(task_id)s AND a.artifact_id = %(artifact_id)s AND a.is_newest
RETURNING {{columns}}, {{audience}};

-- newest
SELECT {{columns}} FROM context.artifact a
WHERE a.tenant_id = %s AND a.context_id = %s AND a.task_id = %s AND a.artifact_id = %s AND a.is_newest;

-- count
SELECT count(*) AS artifacts FROM context.artifact
WHERE tenant_id = %s AND context_id = %s AND task_id = %s AND is_newest;

-- list
SELECT {{columns}} FROM context.artifact a
WHERE a.tenant_id = %s AND a.context_id = %s AND a.task_id = %s AND a.is_newest
ORDER BY a.place DESC;

-- read
-- Joined to the task: if only the artifact is missing, there is a row; if the task is missing, there is none.
SELECT {{columns}}, a.parts::text AS parts, a.metadata::text AS metadata
FROM context.task t
JOIN context.context c ON c.tenant_id = t.tenant_id AND c.context_id = t.context_id AND {{log.alive}}
LEFT JOIN context.artifact a ON a.tenant_id = t.tenant_id AND a.task_id = t.task_id AND a.context_id = t.context_id
    AND a.artifact_id = %(artifact_id)s
    AND CASE WHEN %(version)s = 0 THEN a.is_newest ELSE a.version = %(version)s END
WHERE t.tenant_id = %(tenant_id)s AND t.context_id = %(context_id)s AND t.task_id = %(task_id)s;

-- read_at
-- Joined to the context: if only the artifact is missing, there is a row. A replaced version still has its place.
SELECT {{columns}}, a.parts::text AS parts, a.metadata::text AS metadata
FROM context.context c
LEFT JOIN context.artifact a ON a.tenant_id = c.tenant_id AND a.context_id = c.context_id AND a.place = %(place)s
WHERE c.tenant_id = %(tenant_id)s AND c.context_id = %(context_id)s AND {{log.alive}};

-- changed
SELECT {{columns}}, a.change FROM context.artifact a
WHERE a.tenant_id = %s AND a.context_id = %s AND a.change > %s AND a.change <= %s AND a.is_newest
ORDER BY a.change
LIMIT %s;

-- at
SELECT {{columns}} FROM context.artifact a
WHERE a.tenant_id = %s AND a.context_id = %s AND a.place = ANY (%s) AND a.is_newest;

-- of_tasks
SELECT t.task_id, a.place
FROM context.task t
LEFT JOIN context.artifact a ON a.tenant_id = t.tenant_id AND a.task_id = t.task_id AND a.is_newest
WHERE t.tenant_id = %s AND t.context_id = %s AND t.task_id = ANY (%s);
