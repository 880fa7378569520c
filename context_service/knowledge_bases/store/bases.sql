-- seen
-- Who sees one that is not the tenant's: administrators, and the credential of an agent that has it. It is a part of
-- each statement, so that one that may not be seen costs and answers what none does.
(
    %(is_admin)s OR t.is_of_tenant OR (%(by_agent)s <> '' AND EXISTS (
        SELECT FROM context.agent a
        LEFT JOIN context.agent u ON u.tenant_id = a.tenant_id AND u.is_template AND u.agent_id = a.template_id
        WHERE a.tenant_id = %(tenant_id)s AND NOT a.is_template AND a.agent_id = %(by_agent)s
            AND CASE WHEN a.body -> 'knowledge_bases' = '[]'::jsonb THEN u.body -> 'knowledge_bases' ? t.name
                ELSE a.body -> 'knowledge_bases' ? t.name END
    ))
)

-- counted
UPDATE context.knowledge_base
SET document_count = document_count + %(more)s, size_bytes = size_bytes + %(more_bytes)s
WHERE tenant_id = %(tenant_id)s AND base_id = %(base_id)s
RETURNING document_count, size_bytes;

-- states
SELECT state, count(*) AS documents FROM context.knowledge_document WHERE tenant_id = %s AND base_id = %s GROUP BY state;

-- delete
WITH documents AS (
    DELETE FROM context.knowledge_document WHERE tenant_id = %(tenant_id)s AND base_id = %(base_id)s
    RETURNING document_id
), files AS (
    DELETE FROM context.knowledge_file f USING documents d
    WHERE f.tenant_id = %(tenant_id)s AND f.document_id = d.document_id
), owed AS (
    DELETE FROM context.outbox o USING documents d
    WHERE o.tenant_id = %(tenant_id)s AND o.topic = %(topic)s AND o.subject_id = d.document_id
)
DELETE FROM context.knowledge_base WHERE tenant_id = %(tenant_id)s AND base_id = %(base_id)s;
