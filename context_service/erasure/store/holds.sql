-- columns
hold_id, subject, context_id, reason, created_at, created_by

-- put
INSERT INTO context.hold (tenant_id, hold_id, subject, context_id, reason, created_by)
VALUES (%(tenant_id)s, %(hold_id)s, %(subject)s, %(context_id)s, %(reason)s, %(by)s)
RETURNING {{columns}};

-- count
SELECT count(*) AS holds FROM context.hold WHERE tenant_id = %s;

-- counting
-- One of a tenant at a time counts, and puts.
SELECT pg_advisory_xact_lock(hashtextextended('context.hold ' || %s::text, 0));

-- is_there
SELECT context_id FROM context.context WHERE tenant_id = %s AND context_id = %s AND deleted_at IS NULL;

-- delete
DELETE FROM context.hold WHERE tenant_id = %s AND hold_id = %s RETURNING hold_id;

-- list
SELECT {{columns}} FROM context.hold WHERE tenant_id = %(tenant_id)s AND hold_id < %(before_id)s
ORDER BY hold_id DESC LIMIT %(count)s;

-- against
-- Of the subject, of a context of the subject's, or of one below such.
SELECT {{columns}} FROM context.hold h
WHERE tenant_id = %(tenant_id)s AND (subject = %(subject)s OR EXISTS (
    SELECT FROM context.context held JOIN context.context c
        ON c.tenant_id = held.tenant_id AND c.ancestors[1] = held.ancestors[1]
            AND (c.context_id = ANY (held.ancestors) OR held.context_id = ANY (c.ancestors))
    WHERE held.tenant_id = h.tenant_id AND held.context_id = h.context_id
        AND c.owner_user_id = %(subject)s AND c.owner_user_id <> ''
))
ORDER BY hold_id
LIMIT %(count)s;
