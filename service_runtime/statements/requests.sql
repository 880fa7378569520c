-- erased
-- The columns after an erasure: a repeat finds that there was an answer, and nothing of it.
answer = '{"erased": true}', fingerprint = '', subject = NULL

-- is_gone(erasures)
EXISTS (SELECT FROM {{erasures}} e WHERE e.tenant_id = r.tenant_id AND e.context_id = r.about_id)

-- claim(schema)
INSERT INTO {{schema}}.request (tenant_id, request_id, rpc, fingerprint, answer)
VALUES (%s, %s, %s, %s, 'null') ON CONFLICT (tenant_id, request_id) DO NOTHING RETURNING request_id;

-- read(is_gone, schema)
-- Several users may have the same bounds: an answer is for the user who got it.
SELECT r.rpc, r.fingerprint, r.answer,
    coalesce(r.subject = current_setting('app.subject', true), true) AS is_own, {{is_gone}} AS is_gone
FROM {{schema}}.request r WHERE r.tenant_id = %s AND r.request_id = %s;

-- answer(schema)
UPDATE {{schema}}.request SET answer = %s WHERE tenant_id = %s AND request_id = %s;

-- answer_about(schema)
UPDATE {{schema}}.request SET answer = %s, about_id = %s WHERE tenant_id = %s AND request_id = %s;

-- complete(schema)
UPDATE {{schema}}.request SET answer = (answer - '{{begun}}') || %s
WHERE tenant_id = %s AND request_id = %s AND rpc = %s AND fingerprint = %s AND answer ? '{{begun}}';

-- sweep(schema)
DELETE FROM {{schema}}.request WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM {{schema}}.request WHERE tenant_id = %(tenant_id)s AND created_at < now() - %(kept)s::interval
    ORDER BY created_at LIMIT %(rows)s
))
RETURNING true;
