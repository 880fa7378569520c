-- The size of a document as it is read, about: what TOAST compressed can be a hundred times what is stored, and pages
-- that are cut by the stored size would fill the service's memory. Looking at it costs no more than unpacking it, and
-- nothing where it is not compressed. (`#> '{}'` is the document itself, unpacked.)
CREATE FUNCTION entity.document_bytes(document jsonb) RETURNS integer LANGUAGE sql STABLE PARALLEL SAFE RETURN
    CASE
        WHEN pg_column_compression(document) IS NULL THEN pg_column_size(document)
        ELSE pg_column_size(document #> '{}')
    END;
