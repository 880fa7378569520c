-- columns
t.test_id, t.created_at, t.replay_of, t.owner_user_id, t.created_by, t.label, t.warnings, t.outcome, t.question,
t.imported::text AS imported_json

-- insert
WITH gone AS (
    DELETE FROM context.source_test WHERE tenant_id = %(tenant_id)s AND test_id = ANY (ARRAY(
        SELECT test_id FROM context.source_test
        WHERE tenant_id = %(tenant_id)s
        ORDER BY created_at DESC, test_id DESC
        OFFSET {{kept_max}} - 1
    ))
)
INSERT INTO context.source_test AS t (
    tenant_id, test_id, replay_of, context_ids, owner_user_id, created_by, label, warnings, outcome, question,
    answer
)
VALUES (
    %(tenant_id)s, %(test_id)s, %(replay_of)s, %(context_ids)s, %(owner_user_id)s, %(created_by)s, %(label)s,
    %(warnings)s, %(outcome)s::jsonb, %(question)s, %(answer)s
)
RETURNING {{columns}}, t.answer;

-- read
SELECT {{columns}}, t.answer FROM context.source_test t WHERE t.tenant_id = %(tenant_id)s AND t.test_id = %(test_id)s;

-- page
SELECT {{columns}}, ''::bytea AS answer FROM context.source_test t
WHERE t.tenant_id = %(tenant_id)s
    AND (%(before_at)s::timestamptz IS NULL OR (t.created_at, t.test_id) < (%(before_at)s, %(before_id)s::uuid))
ORDER BY t.created_at DESC, t.test_id DESC
LIMIT %(count)s;

-- delete
DELETE FROM context.source_test WHERE tenant_id = %(tenant_id)s AND test_id = %(test_id)s RETURNING test_id;

-- last
SELECT DISTINCT ON (p.value ->> 'id') p.value AS provider, t.created_at
FROM context.source_test t CROSS JOIN LATERAL jsonb_array_elements(t.outcome -> 'providers') p
WHERE t.tenant_id = %(tenant_id)s
ORDER BY p.value ->> 'id', t.created_at DESC;
