-- left
-- Finds the remains of a cancelled REINDEX: an index that is written and never read.
SELECT format('%I.%I', n.nspname, c.relname) AS name
FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE i.indrelid = 'context.passage'::regclass AND NOT i.indisvalid AND c.relname ~ '^passage_terms_cc(new|old)';

-- size
SELECT pg_relation_size(%s::regclass);
