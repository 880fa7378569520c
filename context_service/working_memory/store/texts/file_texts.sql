-- lock
SELECT {{passages.place}} FROM context.wm_record WHERE tenant_id = %s AND id = %s FOR NO KEY UPDATE;

-- node
SELECT entity_node_id FROM context.wm_record WHERE tenant_id = %s AND id = %s;

-- put
UPDATE context.wm_record
SET blob_text = CASE WHEN blob_id IS NOT NULL THEN coalesce(blob_text, %(text)s) END, text_state = 'INDEXED',
    text_error = '', passage_count = coalesce(passage_count, 0)
WHERE tenant_id = %(tenant_id)s AND id = %(id)s;

-- tell
UPDATE context.wm_record
SET text_error = %(error)s, text_state = CASE WHEN %(failed)s THEN 'FAILED' ELSE text_state END
WHERE tenant_id = %(tenant_id)s AND id = %(id)s;
