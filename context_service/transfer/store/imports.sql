-- columns
import_id, state, offset_bytes, pieces, seal, manifest, report, created_at, updated_at, open_context_id,
open_context::text AS open_context

-- start
INSERT INTO context.import (tenant_id, import_id, imported_by) VALUES (%s, %s, %s) ON CONFLICT DO NOTHING;

-- read
SELECT {{columns}} FROM context.import WHERE tenant_id = %s AND import_id = %s;

-- save
UPDATE context.import SET state = %(state)s, offset_bytes = %(offset_bytes)s, pieces = %(pieces)s, seal = %(seal)s,
    manifest = %(manifest)s::jsonb, report = %(report)s::jsonb, open_context_id = %(open_context_id)s,
    open_context = %(open_context)s::json, updated_at = now()
WHERE tenant_id = %(tenant_id)s AND import_id = %(import_id)s AND pieces = %(pieces_before)s AND state = 'RUNNING'
RETURNING updated_at;

-- forget
DELETE FROM context.import WHERE tenant_id = %s AND updated_at < now() - %s::interval AND open_context_id IS NULL;

-- give_up
-- A save meanwhile keeps the import running; this update locks the row until it is marked.
UPDATE context.import SET state = 'GIVEN_UP'
WHERE tenant_id = %s AND state = 'RUNNING' AND updated_at < now() - %s::interval;

-- take_over
-- The newest import of a context continues; another import that has begun to write it is given up.
UPDATE context.import SET state = 'GIVEN_UP'
WHERE tenant_id = %s AND open_context_id = %s AND state = 'RUNNING';

-- left_open
SELECT import_id, open_context_id FROM context.import
WHERE tenant_id = %s AND state = 'GIVEN_UP' AND open_context_id IS NOT NULL;

-- close
UPDATE context.import SET open_context_id = NULL, open_context = NULL
WHERE tenant_id = %s AND import_id = %s AND state = 'GIVEN_UP';

-- there
SELECT
    EXISTS (SELECT FROM context.context WHERE tenant_id = %(tenant_id)s AND context_id = %(context_id)s) AS is_there,
    EXISTS (SELECT FROM context.erasure WHERE tenant_id = %(tenant_id)s AND context_id = %(context_id)s) AS is_erased;

-- erased_since
-- Erasures of subjects: an older archive does not restore them. A subject that returned later is in a newer archive.
SELECT erasure_id, subject_sha256 FROM context.subject_erasure
WHERE tenant_id = %s AND created_at > coalesce(%s::timestamptz, '-infinity');

-- reached
SELECT coalesce(min(seq), 1) AS first, coalesce(max(seq), 0) AS last
FROM context.message
WHERE tenant_id = %(tenant_id)s AND context_id = %(context_id)s;

-- agree
-- Rows that changed while a large context was read may have later numbers than its header; the next number follows them.
UPDATE context.context c
SET task_count = (
        SELECT count(*) FROM context.task t WHERE t.tenant_id = c.tenant_id AND t.context_id = c.context_id
    ),
    last_change = greatest(
        c.last_change, c.header_change,
        (SELECT max(t.change) FROM context.task t WHERE t.tenant_id = c.tenant_id AND t.context_id = c.context_id),
        (SELECT max(a.change) FROM context.artifact a WHERE a.tenant_id = c.tenant_id AND a.context_id = c.context_id),
        (
            SELECT max(m.retracted_change) FROM context.message m
            WHERE m.tenant_id = c.tenant_id AND m.context_id = c.context_id AND m.retracted_change IS NOT NULL
        )
    )
WHERE c.tenant_id = %(tenant_id)s AND c.context_id = %(context_id)s;

-- removing(table, whose)
DELETE FROM context.{{table}} WHERE ctid = ANY (ARRAY(
    SELECT t.ctid FROM context.{{table}} t
    WHERE t.tenant_id = %(tenant_id)s AND t.{{whose}} = %(context_id)s AND NOT EXISTS (
        SELECT FROM context.context c WHERE c.tenant_id = t.tenant_id AND c.context_id = %(context_id)s
    )
    LIMIT %(rows)s
))
RETURNING true;
