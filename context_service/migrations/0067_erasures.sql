-- Subjects that are forgotten: what stands of it while it goes on, holds that forbid it, and whose the answers of repeated calls are.

-- The receipts: numbers, times and ids of our own. Who is erased stands on one while it goes on, and is gone when it is finished:
-- then a hash is left, by which an erasure can be done again on a database that was restored from before it.
CREATE TABLE context.subject_erasure (
    tenant_id uuid NOT NULL,
    erasure_id uuid NOT NULL,
    subject text, -- null: it is finished
    subject_sha256 bytea NOT NULL, -- with the id of the erasure
    created_at timestamptz NOT NULL DEFAULT now(),
    finished_at timestamptz,
    -- Before this another replica is at it.
    due_at timestamptz NOT NULL DEFAULT now(),
    removed jsonb NOT NULL DEFAULT '{}', -- by kind
    requested_by text NOT NULL,
    PRIMARY KEY (tenant_id, erasure_id)
);
-- One that is not finished is what another call for the same subject answers.
CREATE UNIQUE INDEX subject_erasure_open ON context.subject_erasure (tenant_id, subject) WHERE finished_at IS NULL;
CREATE INDEX subject_erasure_finished ON context.subject_erasure (tenant_id, finished_at);

-- Blobs that an erasure waits for: it is finished when their bytes are gone.
CREATE TABLE context.erased_blob (
    tenant_id uuid NOT NULL,
    erasure_id uuid NOT NULL,
    blob_id uuid NOT NULL,
    PRIMARY KEY (tenant_id, erasure_id, blob_id)
);

-- What may not be erased, of a subject or of a context with those below it, and why. A released one is gone.
CREATE TABLE context.hold (
    tenant_id uuid NOT NULL,
    hold_id uuid NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    subject text NOT NULL, -- empty: of a context
    context_id uuid,
    reason text NOT NULL,
    created_by text NOT NULL,
    PRIMARY KEY (tenant_id, hold_id),
    CHECK ((subject = '') = (context_id IS NOT NULL))
);

ALTER TABLE context.subject_erasure ENABLE ROW LEVEL SECURITY;
ALTER TABLE context.erased_blob ENABLE ROW LEVEL SECURITY;
ALTER TABLE context.hold ENABLE ROW LEVEL SECURITY;

CREATE POLICY tenant ON context.subject_erasure
    USING (tenant_id = (SELECT nullif(current_setting('app.tenant', true), '')::uuid));
CREATE POLICY tenant ON context.erased_blob
    USING (tenant_id = (SELECT nullif(current_setting('app.tenant', true), '')::uuid));
CREATE POLICY tenant ON context.hold
    USING (tenant_id = (SELECT nullif(current_setting('app.tenant', true), '')::uuid));

-- A subject is erased, and held, within the whole tenant: of keys without bounds.
CREATE POLICY bounds ON context.subject_erasure AS RESTRICTIVE
    USING (nullif((SELECT coalesce(current_setting('app.bounds', true), '') = '') OR false, false) IS NOT NULL);
CREATE POLICY bounds ON context.erased_blob AS RESTRICTIVE
    USING (nullif((SELECT coalesce(current_setting('app.bounds', true), '') = '') OR false, false) IS NOT NULL);
CREATE POLICY bounds ON context.hold AS RESTRICTIVE
    USING (nullif((SELECT coalesce(current_setting('app.bounds', true), '') = '') OR false, false) IS NOT NULL);

GRANT SELECT, INSERT, UPDATE, DELETE ON context.subject_erasure TO :"service_role";
GRANT SELECT, INSERT, DELETE ON context.erased_blob, context.hold TO :"service_role";
-- Who wrote something of others is a name, and who is forgotten has none.
GRANT UPDATE (created_by) ON context.hold, context.wiki_page_version TO :"service_role";

-- For whom a call was that will be answered again, and an upload that is not finished: "=" and the user's id.
ALTER TABLE context.request ADD COLUMN subject text DEFAULT nullif(current_setting('app.subject', true), '');
ALTER TABLE context.upload ADD COLUMN subject text DEFAULT nullif(current_setting('app.subject', true), '');

-- The log of records takes entries from the services and gives none away, but those of records of somebody who is forgotten.
CREATE FUNCTION context.forget_actions(record_ids uuid[]) RETURNS bigint
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
    WITH gone AS (
        DELETE FROM context.action a
        WHERE a.tenant_id = nullif(current_setting('app.tenant', true), '')::uuid AND a.record_id = ANY (record_ids)
        RETURNING true
    )
    SELECT count(*) FROM gone;
END;

-- Who is forgotten is named by no entry of others' records, in some pages of the table.
CREATE FUNCTION context.rename_in_actions(first tid, behind tid, who text, pseudonym text) RETURNS bigint
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
    WITH renamed AS (
        UPDATE context.action a SET principal = pseudonym
        WHERE a.ctid >= first AND a.ctid < behind
            AND a.tenant_id = nullif(current_setting('app.tenant', true), '')::uuid AND a.principal = who AND who <> ''
        RETURNING true
    )
    SELECT count(*) FROM renamed;
END;

-- The holds that forbid to delete a context: of it or one above it, of one below it, or of whoever owns it or one of those. As the
-- owner: a hold holds against whoever may not see what it is of.
CREATE FUNCTION context.holds_of(of_context_id uuid) RETURNS SETOF uuid
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
    SELECT h.hold_id
    FROM context.hold h
    JOIN context.context c ON c.tenant_id = h.tenant_id AND c.context_id = of_context_id
    WHERE h.tenant_id = nullif(current_setting('app.tenant', true), '')::uuid AND (
        h.context_id = ANY (c.ancestors)
        OR (h.subject <> '' AND h.subject = c.owner_user_id)
        OR EXISTS (
            SELECT FROM context.context b
            WHERE b.tenant_id = c.tenant_id AND b.ancestors[1] = c.ancestors[1] AND c.context_id = ANY (b.ancestors)
                AND (b.context_id = h.context_id OR (h.subject <> '' AND h.subject = b.owner_user_id))
        )
    );
END;

REVOKE ALL ON FUNCTION context.forget_actions, context.rename_in_actions, context.holds_of FROM PUBLIC;
GRANT EXECUTE ON FUNCTION context.forget_actions, context.rename_in_actions, context.holds_of TO :"service_role";

-- As before, and subjects.
CREATE OR REPLACE FUNCTION context.owed_work(asking_id uuid) RETURNS TABLE (
    kind text, owed bigint, failed bigint, oldest_at timestamptz, last_error text
)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM access.check_operator(asking_id);
    RETURN QUERY
    SELECT o.topic, count(*), count(*) FILTER (WHERE o.last_error <> ''), min(o.created_at), coalesce(max(o.last_error), '')
    FROM context.outbox o GROUP BY o.topic
    UNION ALL
    SELECT 'records of messages', count(*), count(*) FILTER (WHERE r.attempts > 0), min(r.created_at), coalesce(max(r.detail), '')
    FROM context.message_record r WHERE r.state = 'PENDING' HAVING count(*) > 0
    UNION ALL
    SELECT 'erasures', count(*), 0::bigint, min(e.created_at), '' FROM context.erasure e WHERE e.finished_at IS NULL
    HAVING count(*) > 0
    UNION ALL
    SELECT 'erasures of subjects', count(*), 0::bigint, min(s.created_at), '' FROM context.subject_erasure s
    WHERE s.finished_at IS NULL HAVING count(*) > 0
    UNION ALL
    SELECT 'bytes to remove', count(*), 0::bigint, min(b.created_at), '' FROM context.blob b
    WHERE b.state IN ('writing', 'deleting') AND b.due_at < now() HAVING count(*) > 0;
END
$$;
