-- turn
-- The row is the lock: who else writes memories of the user, the app and the agent bundle waits here.
INSERT INTO context.memory_user AS u (
    tenant_id, scope_id, owner_user_id, app_id, agent_bundle_id, memory_count
)
VALUES (%(tenant_id)s, %(scope_id)s, %(owner_user_id)s, %(app_id)s, %(agent_bundle_id)s, greatest(%(more)s, 0))
ON CONFLICT (tenant_id, owner_user_id, app_id, agent_bundle_id) DO UPDATE
    SET memory_count = greatest(u.memory_count + %(more)s, 0)
RETURNING memory_count;

-- insert
INSERT INTO context.memory (
    tenant_id, memory_id, happened_at, confidence, passage_count, quality, owner_user_id, app_id, agent_bundle_id,
    created_by, kind, key, text, goal, outcome, sources, statement_sha256, subject, placed_at, valid_from, ends_at,
    expires_at, metadata, tags, is_learned
)
VALUES (
    %(tenant_id)s, %(memory_id)s, coalesce(%(happened_at)s::timestamptz, now()), %(confidence)s, %(passage_count)s,
    %(quality)s, %(owner_user_id)s, %(app_id)s, %(agent_bundle_id)s, %(created_by)s, %(kind)s, %(key)s, %(text)s,
    %(goal)s, %(outcome)s, %(sources)s, %(statement_sha256)s, %(subject)s, %(placed_at)s, %(valid_from)s, %(ends_at)s,
    %(expires_at)s, %(metadata)s, %(tags)s, %(is_learned)s
)
RETURNING seq, happened_at, placed_at;

-- of_subject
tenant_id = %(tenant_id)s AND owner_user_id = %(owner_user_id)s AND app_id = %(app_id)s
    AND agent_bundle_id = %(agent_bundle_id)s AND subject = %(subject)s AND subject <> ''

-- link
WITH newer AS (
    SELECT memory_id FROM context.memory
    WHERE {{of_subject}} AND (placed_at, seq) > (%(placed_at)s, %(seq)s)
    ORDER BY placed_at, seq
    LIMIT 1
), older AS (
    SELECT memory_id FROM context.memory
    WHERE {{of_subject}} AND (placed_at, seq) < (%(placed_at)s, %(seq)s)
    ORDER BY placed_at DESC, seq DESC
    LIMIT 1
)
UPDATE context.memory
SET superseded_by = CASE
    WHEN memory_id = %(memory_id)s THEN (SELECT memory_id FROM newer)
    ELSE %(memory_id)s
END
WHERE tenant_id = %(tenant_id)s
    AND memory_id = ANY (ARRAY(SELECT %(memory_id)s::uuid UNION ALL SELECT memory_id FROM older));

-- set_subject
UPDATE context.memory SET subject = %(subject)s WHERE tenant_id = %(tenant_id)s AND memory_id = %(memory_id)s;

-- unlink
-- The memory that it superseded is superseded by the next one of the subject.
UPDATE context.memory m SET superseded_by = x.superseded_by
FROM context.memory x
WHERE x.tenant_id = %(tenant_id)s AND x.memory_id = %(memory_id)s
    AND m.tenant_id = %(tenant_id)s AND m.owner_user_id = x.owner_user_id AND m.app_id = x.app_id
    AND m.agent_bundle_id = x.agent_bundle_id AND m.subject = x.subject AND m.subject <> '' AND m.superseded_by = x.memory_id;

-- keep_revision
INSERT INTO context.memory_revision (
    tenant_id, memory_id, version, happened_at, valid_from, valid_to, expires_at, confidence, quality, owner_user_id,
    app_id, agent_bundle_id, updated_by, kind, key, text, goal, outcome, sources, metadata, tags
)
SELECT m.tenant_id, m.memory_id, m.version, m.happened_at, m.valid_from, m.ends_at, m.expires_at, m.confidence,
    m.quality, m.owner_user_id, m.app_id, m.agent_bundle_id, %(updated_by)s, m.kind, m.key, m.text, m.goal, m.outcome,
    m.sources, m.metadata, m.tags
FROM context.memory m
WHERE m.tenant_id = %(tenant_id)s AND m.memory_id = %(memory_id)s;

-- count_revisions
SELECT count(*) AS revisions FROM context.memory_revision WHERE tenant_id = %(tenant_id)s AND memory_id = %(memory_id)s;

-- revisions
SELECT r.version, r.happened_at, r.valid_from, r.valid_to, r.expires_at, r.replaced_at, r.confidence, r.quality,
    r.updated_by AS replaced_by, r.kind, r.key, r.text, r.goal, r.outcome, r.sources::text AS sources,
    r.metadata::text AS metadata_json, r.tags, r.imported::text AS imported_json
FROM context.memory_revision r
WHERE r.tenant_id = %(tenant_id)s AND r.memory_id = %(memory_id)s AND r.version < %(before)s
ORDER BY r.version DESC
LIMIT %(count)s;

-- update
UPDATE context.memory
SET happened_at = %(happened_at)s, confidence = %(confidence)s, passage_count = %(passage_count)s,
    quality = %(quality)s, kind = %(kind)s, key = %(key)s, text = %(text)s, goal = %(goal)s, outcome = %(outcome)s,
    sources = %(sources)s, statement_sha256 = %(statement_sha256)s, subject = %(subject)s, placed_at = %(placed_at)s,
    valid_from = %(valid_from)s, ends_at = %(ends_at)s, expires_at = %(expires_at)s, metadata = %(metadata)s,
    tags = %(tags)s, superseded_by = NULL, version = version + 1, updated_at = now()
WHERE tenant_id = %(tenant_id)s AND memory_id = %(memory_id)s;

-- join
UPDATE context.memory
SET sources = %(sources)s, confidence = %(confidence)s, metadata = coalesce(%(metadata)s::jsonb, metadata),
    tags = coalesce(%(tags)s::text[], tags), is_learned = is_learned AND %(is_learned)s, version = version + 1, updated_at = now()
WHERE tenant_id = %(tenant_id)s AND memory_id = %(memory_id)s;

-- delete
WITH revisions AS (
    DELETE FROM context.memory_revision WHERE tenant_id = %(tenant_id)s AND memory_id = %(memory_id)s
)
DELETE FROM context.memory WHERE tenant_id = %(tenant_id)s AND memory_id = %(memory_id)s;

-- columns
m.memory_id, m.seq, m.happened_at, m.created_at, m.updated_at, m.superseded_by, m.confidence, m.version,
m.passage_count, m.quality, m.owner_user_id, m.app_id, m.agent_bundle_id, m.created_by, m.kind, m.key, m.text,
m.goal, m.outcome, m.subject, m.placed_at, m.valid_from, m.ends_at, m.expires_at, m.tags,
m.is_learned

-- is_live
(m.expires_at IS NULL OR m.expires_at > now())

-- held_at(time)
-- Whether a memory held at a time: it had begun, and neither its stated end nor its successor had come.
m.valid_from <= {{time}} AND (m.ends_at IS NULL OR m.ends_at > {{time}})
    AND NOT EXISTS (
        SELECT FROM context.memory n
        WHERE n.tenant_id = m.tenant_id AND n.memory_id = m.superseded_by AND n.valid_from <= {{time}}
    )

-- selected
-- The memories of a filter.
m.owner_user_id = %(owner_user_id)s AND {{is_live}}
    AND (%(kinds)s::text[] = '{}' OR m.kind = ANY (%(kinds)s::text[]))
    AND (%(key)s = '' OR m.key = %(key)s)
    AND (NOT %(holding_only)s OR (m.superseded_by IS NULL AND (m.ends_at IS NULL OR m.ends_at > now())))
    AND (%(happened_from)s::timestamptz IS NULL OR m.happened_at >= %(happened_from)s::timestamptz)
    AND (%(happened_to)s::timestamptz IS NULL OR m.happened_at < %(happened_to)s::timestamptz)
    AND (%(as_of)s::timestamptz IS NULL OR ({{held_at(%(as_of)s::timestamptz)}}))
    AND m.tags @> %(tags)s::text[]
    AND (%(metadata_contains)s::jsonb = '{}' OR m.metadata @> %(metadata_contains)s::jsonb)

-- told(which)
-- reads memories `m` with their related rows; `which` selects and sorts them.
SELECT {{columns}}, m.sources, m.metadata_json, m.imported_json, least(m.ends_at, n.valid_from) AS valid_to, coalesce(c.memory_ids, '{}') AS contradicts, v.made, v.failed
FROM (
    SELECT {{columns}}, m.tenant_id, m.statement_sha256, m.sources::text AS sources,
        m.metadata::text AS metadata_json, m.imported::text AS imported_json
    FROM context.memory m
    WHERE m.tenant_id = %(tenant_id)s AND {{is_live}} AND {{which}}
) m
    LEFT JOIN context.memory n ON n.tenant_id = m.tenant_id AND n.memory_id = m.superseded_by
    LEFT JOIN LATERAL (
        SELECT array_agg(o.memory_id ORDER BY o.happened_at DESC, o.seq DESC) AS memory_ids
        FROM (
            SELECT o.memory_id, o.happened_at, o.seq
            FROM context.memory o
            WHERE o.tenant_id = m.tenant_id AND o.owner_user_id = m.owner_user_id AND o.app_id = m.app_id
                AND o.agent_bundle_id = m.agent_bundle_id AND o.subject = m.subject AND o.subject <> ''
                AND o.statement_sha256 <> m.statement_sha256
            ORDER BY o.happened_at DESC, o.seq DESC
            LIMIT {{contradictions_max}}
        ) o
    ) c ON m.subject <> ''
    CROSS JOIN LATERAL (
        SELECT count(*) FILTER (WHERE v.error = '') AS made, count(*) FILTER (WHERE v.error <> '') AS failed
        FROM context.passage_vector v
        WHERE v.tenant_id = m.tenant_id AND v.scope_id = %(scope_id)s AND v.scope_kind = '{{memory}}' AND v.seq = m.seq
            AND v.model = %(model)s
    ) v

-- read
{{told(m.memory_id = ANY (%(memory_ids)s))}};

-- at
{{told(m.owner_user_id = %(owner_user_id)s AND m.seq = ANY (%(seqs)s))}};

-- list
-- What a page holds: as many as fit, and one at least. The last row says whether more follow.
SELECT seq, upto <= %(bytes_max)s OR place = 1 AS fits
FROM (
    SELECT seq, sum(size_bytes) OVER w AS upto, row_number() OVER w AS place
    FROM (
        SELECT m.seq, octet_length(m.text) + octet_length(m.goal) + octet_length(m.outcome)
            + octet_length(m.sources::text) + octet_length(m.metadata::text) AS size_bytes
        FROM context.memory m
        WHERE m.tenant_id = %(tenant_id)s AND m.seq < %(before)s AND {{selected}}
        ORDER BY m.seq DESC
        LIMIT %(count)s
    ) m
    WINDOW w AS (ORDER BY seq DESC)
) m
ORDER BY seq DESC;

-- seqs
SELECT m.seq FROM context.memory m WHERE m.tenant_id = %(tenant_id)s AND {{selected}};

-- refuse
INSERT INTO context.memory_refusal (tenant_id, owner_user_id, app_id, agent_bundle_id, statement_sha256)
VALUES (%(tenant_id)s, %(owner_user_id)s, %(app_id)s, %(agent_bundle_id)s, %(statement_sha256)s)
ON CONFLICT DO NOTHING;

-- is_refused
SELECT FROM context.memory_refusal
WHERE tenant_id = %(tenant_id)s AND owner_user_id = %(owner_user_id)s AND app_id = %(app_id)s
    AND agent_bundle_id = %(agent_bundle_id)s AND statement_sha256 = %(statement_sha256)s;

-- same
-- Memories that may be the same statement as a new one, the newest first. If the new one has a subject, none of them has
-- another statement of it between the two: a fact that changed and is so again is no repetition.
{{told(
    m.owner_user_id = %(owner_user_id)s AND m.app_id = %(app_id)s AND m.agent_bundle_id = %(agent_bundle_id)s
        AND m.kind = %(kind)s AND m.key = %(key)s
        AND m.statement_sha256 = %(statement_sha256)s
        AND (m.ends_at IS NULL OR m.ends_at > coalesce(%(placed_at)s::timestamptz, now()))
        AND NOT EXISTS (
            SELECT FROM context.memory o
            WHERE o.tenant_id = m.tenant_id AND o.owner_user_id = m.owner_user_id AND o.app_id = m.app_id
                AND o.agent_bundle_id = m.agent_bundle_id AND o.subject = m.subject AND o.subject <> ''
                AND o.statement_sha256 <> m.statement_sha256
                AND o.placed_at BETWEEN least(m.placed_at, coalesce(%(placed_at)s::timestamptz, now()))
                    AND greatest(m.placed_at, coalesce(%(placed_at)s::timestamptz, now()))
        )
    ORDER BY m.seq DESC
    LIMIT 10
)}};

-- users_with_expired
SELECT DISTINCT m.owner_user_id
FROM (
    SELECT m.owner_user_id FROM context.memory m
    WHERE m.tenant_id = %(tenant_id)s AND m.expires_at <= now()
    ORDER BY m.expires_at
    LIMIT %(count)s
) m;

-- expired
SELECT m.memory_id, m.seq, m.owner_user_id, m.app_id, m.agent_bundle_id
FROM context.memory m
WHERE m.tenant_id = %(tenant_id)s AND m.owner_user_id = %(owner_user_id)s AND m.expires_at <= now()
ORDER BY m.app_id, m.agent_bundle_id, m.memory_id
LIMIT %(count)s;

-- duplicates
-- With a subject only if no other statement lies between: a fact that changed and became true again is no duplicate.
SELECT g.memory_ids
FROM (
    SELECT m.app_id, m.agent_bundle_id, m.subject, m.statement_sha256, min(m.seq) AS seq,
        min(m.placed_at) AS placed_from, max(m.placed_at) AS placed_to,
        array_agg(m.memory_id ORDER BY m.happened_at DESC, m.seq DESC) AS memory_ids
    FROM context.memory m
    WHERE m.tenant_id = %(tenant_id)s AND m.owner_user_id = %(owner_user_id)s AND {{is_live}}
    GROUP BY m.app_id, m.agent_bundle_id, m.kind, m.key, m.subject, m.statement_sha256
    HAVING count(*) > 1
) g
WHERE NOT EXISTS (
    SELECT FROM context.memory o
    WHERE o.tenant_id = %(tenant_id)s AND o.owner_user_id = %(owner_user_id)s AND o.app_id = g.app_id
        AND o.agent_bundle_id = g.agent_bundle_id AND o.subject = g.subject AND o.subject <> ''
        AND o.statement_sha256 <> g.statement_sha256 AND o.placed_at BETWEEN g.placed_from AND g.placed_to
)
ORDER BY g.seq
LIMIT %(count)s;

-- of_runs
{{told(
    m.owner_user_id = %(owner_user_id)s AND m.kind = 'experience' AND EXISTS (
        SELECT FROM jsonb_array_elements(m.sources) s WHERE s ->> 'context_id' = ANY (%(runs)s::text[])
    )
    ORDER BY m.seq
    LIMIT %(count)s
)}};

-- observed
SELECT m.app_id, m.agent_bundle_id, m.statement_sha256
FROM context.memory m
WHERE m.tenant_id = %(tenant_id)s AND m.owner_user_id = %(owner_user_id)s AND m.kind = 'observation'
    AND m.statement_sha256 = ANY (%(statements)s);

-- forget_answers
-- The answer to a correction has the text as it was then, which the repeat does not say again.
UPDATE context.request SET {{erased}}
WHERE tenant_id = %s AND about_id = %s AND rpc = 'UpdateMemory' AND answer ->> 'memory_id' = %s;
