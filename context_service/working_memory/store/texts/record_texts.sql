-- read
SELECT r.name, r.description, r.memory_type, r.content_type, r.content::text AS content_json, r.content_text,
    b.provider, b.key, b.size_bytes, b.crc32c
FROM context.wm_record r LEFT JOIN context.blob b ON b.tenant_id = r.tenant_id AND b.id = r.blob_id
WHERE r.tenant_id = %s AND r.id = %s;
