-- content
-- The content of a row `r`; null unless the parameter `with_content` is true.
CASE WHEN %(with_content)s THEN r.content::text END AS content_json,
CASE WHEN %(with_content)s AND r.content IS NULL THEN r.content_text END AS content_text

-- size_with_content
{{size}} + CASE WHEN %(with_content)s AND r.blob_id IS NULL THEN r.size_bytes ELSE 0 END
