-- Who wrote a row is never taken from an archive. A row that an import wrote names in its author columns who imported it, and says in
-- `imported` by which import (`import_id`, `imported_by`, `imported_at`), and whom the archive claims as its authors, by column.
ALTER TABLE context.action ADD COLUMN imported jsonb;
ALTER TABLE context.agent ADD COLUMN imported jsonb;
ALTER TABLE context.artifact ADD COLUMN imported jsonb;
ALTER TABLE context.context ADD COLUMN imported jsonb;
ALTER TABLE context.context_window ADD COLUMN imported jsonb;
ALTER TABLE context.definition ADD COLUMN imported jsonb;
ALTER TABLE context.knowledge_base ADD COLUMN imported jsonb;
ALTER TABLE context.knowledge_document ADD COLUMN imported jsonb;
ALTER TABLE context.mapping ADD COLUMN imported jsonb;
ALTER TABLE context.mcp_server ADD COLUMN imported jsonb;
ALTER TABLE context.mcp_tool ADD COLUMN imported jsonb;
ALTER TABLE context.memory ADD COLUMN imported jsonb;
ALTER TABLE context.provider_setting ADD COLUMN imported jsonb;
ALTER TABLE context.source_test ADD COLUMN imported jsonb;
ALTER TABLE context.specialist ADD COLUMN imported jsonb;
ALTER TABLE context.task ADD COLUMN imported jsonb;
ALTER TABLE context.wiki_page ADD COLUMN imported jsonb;
ALTER TABLE context.wiki_page_version ADD COLUMN imported jsonb;
ALTER TABLE context.window_checkpoint ADD COLUMN imported jsonb;
ALTER TABLE context.window_profile_version ADD COLUMN imported jsonb;
ALTER TABLE context.wm_record ADD COLUMN imported jsonb;
GRANT UPDATE (imported) ON context.wiki_page_version TO :"service_role";

-- A context takes along the records that belong to it.
CREATE INDEX wm_record_context ON context.wm_record (tenant_id, context_id) WHERE context_id IS NOT NULL;

-- Whoever is forgotten is named by no archive's claim either.
CREATE FUNCTION context.renamed(imported jsonb, who text, pseudonym text) RETURNS jsonb LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (
    SELECT jsonb_object_agg(
        named.key,
        CASE WHEN named.value = to_jsonb(who) AND named.key NOT IN ('import_id', 'imported_at') THEN to_jsonb(pseudonym) ELSE named.value END
    )
    FROM jsonb_each(imported) named
);
-- Whom it names; none, if it is null.
CREATE FUNCTION context.named_in(imported jsonb) RETURNS text[] LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ARRAY(
    SELECT named.value FROM jsonb_each_text(imported) named WHERE named.key NOT IN ('import_id', 'imported_at')
);
REVOKE ALL ON FUNCTION context.renamed, context.named_in FROM PUBLIC;
GRANT EXECUTE ON FUNCTION context.renamed, context.named_in TO :"service_role";

-- As before, and what archives claim.
CREATE OR REPLACE FUNCTION context.rename_in_actions(first tid, behind tid, who text, pseudonym text) RETURNS bigint
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
    WITH renamed AS (
        UPDATE context.action a
        SET principal = CASE a.principal WHEN who THEN pseudonym ELSE a.principal END,
            imported = context.renamed(a.imported, who, pseudonym)
        WHERE a.ctid >= first AND a.ctid < behind
            AND a.tenant_id = nullif(current_setting('app.tenant', true), '')::uuid
            AND (a.principal = who OR who = ANY (context.named_in(a.imported))) AND who <> ''
        RETURNING true
    )
    SELECT count(*) FROM renamed;
END;
