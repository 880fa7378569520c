-- A query reads the standing rules of a context (`retrieval.pure.marks.RULE`), whatever its words are.
CREATE INDEX passage_rules ON context.passage (tenant_id, scope_id, scope_kind, seq) WHERE marks & 16 <> 0;
