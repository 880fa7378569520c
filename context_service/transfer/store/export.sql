-- begun
-- By the clock that stamps erasures: an import compares both.
SELECT max(version) AS version, now() AS begun_at FROM context.migration;

-- tree
-- With those that were forked from it, whatever they are below it.
-- The index has only contexts that were forked.
WITH named AS (
    SELECT c.tenant_id, c.context_id, c.ancestors FROM context.context c
    WHERE c.tenant_id = %s AND c.context_id = %s AND c.deleted_at IS NULL
)
SELECT context_id FROM named
UNION
SELECT b.context_id FROM named JOIN context.context b
    ON b.tenant_id = named.tenant_id AND b.ancestors[1] = named.ancestors[1] AND b.ancestors[2] IS NOT NULL
        AND named.context_id = ANY (b.ancestors)
WHERE b.deleted_at IS NULL
ORDER BY context_id;

-- files
SELECT r.id, b.sha256, b.size_bytes, b.damaged_at IS NOT NULL AS is_damaged
FROM context.wm_record r JOIN context.blob b ON b.tenant_id = r.tenant_id AND b.id = r.blob_id
WHERE r.tenant_id = %s AND r.id = ANY (%s);

-- file
SELECT b.provider, b.key, b.size_bytes, b.crc32c
FROM context.wm_record r JOIN context.blob b ON b.tenant_id = r.tenant_id AND b.id = r.blob_id
WHERE r.tenant_id = %s AND r.id = %s;

-- windows_now
-- What a pack, a fold or an edit changes of windows: two readings that give the same have seen the same windows.
SELECT md5(coalesce(string_agg(w::text, ',' ORDER BY window_id), '')) AS state
FROM (
    SELECT window_id, updated_at, reached_seq, epoch, entry_count, block_count, packed_at, checkpoint_count
    FROM context.context_window WHERE tenant_id = %s AND context_id = %s
) w;

-- records_of
t.context_id = ANY (%(context_ids)s::uuid[]) OR t.id IN (
    SELECT m.record_id FROM context.message_record m
    WHERE m.tenant_id = %(tenant_id)s AND m.context_id = ANY (%(context_ids)s::uuid[])
)

-- contexts_of_user
-- The index of owners has only contexts with an owner.
SELECT c.context_id FROM context.context c
WHERE c.tenant_id = %(tenant_id)s AND c.owner_user_id = %(user_id)s AND c.owner_user_id <> '';

-- records_of_user
-- Records without an owner go with the contexts and the messages of the user that point at them.
(t.owner_user_id = %(user_id)s OR (t.owner_user_id = '' AND (t.context_id IN ({{contexts_of_user}}) OR t.id IN (
    SELECT m.record_id FROM context.message_record m
    WHERE m.tenant_id = %(tenant_id)s AND m.owner_user_id = %(user_id)s
))))
