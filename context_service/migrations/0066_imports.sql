-- Archives that are written into a tenant: how far each is, so that it goes on behind a cut, and what it met.
CREATE TABLE context.import (
    tenant_id uuid NOT NULL,
    import_id uuid NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    state text NOT NULL DEFAULT 'RUNNING' CHECK (state IN ('RUNNING', 'DONE', 'GIVEN_UP')),
    imported_by text NOT NULL,
    -- Of the archive, as much as is written.
    offset_bytes bigint NOT NULL DEFAULT 0,
    pieces bigint NOT NULL DEFAULT 0,
    seal bytea NOT NULL DEFAULT '',
    manifest jsonb NOT NULL DEFAULT '{}',
    report jsonb NOT NULL DEFAULT '{}',
    -- The context that is being written: its header, which comes last.
    open_context_id uuid,
    open_context json,
    PRIMARY KEY (tenant_id, import_id)
);
-- Two imports never write the same context.
CREATE UNIQUE INDEX import_open ON context.import (tenant_id, open_context_id) WHERE open_context_id IS NOT NULL;
CREATE INDEX import_age ON context.import (tenant_id, updated_at);
ALTER TABLE context.import ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON context.import
    USING (tenant_id = (SELECT nullif(current_setting('app.tenant', true), '')::uuid));
CREATE POLICY bounds ON context.import AS RESTRICTIVE
    USING (nullif((SELECT coalesce(current_setting('app.bounds', true), '') = '') OR false, false) IS NOT NULL);
GRANT SELECT, INSERT, UPDATE, DELETE ON context.import TO :"service_role";

-- Let what is numbered from now on come behind what an import brought with its number. A number is at most 2^52, so that all
-- that is ever drawn stays a whole number of any client; and drawn numbers never go back: the step is wider than what others
-- draw between the look and the leap.
CREATE FUNCTION context.number_behind(of_table text, seq bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    sequence regclass;
    reached bigint;
BEGIN
    IF of_table NOT IN ('action', 'knowledge_document', 'memory', 'wiki_page_version', 'wm_record') OR seq > 4503599627370496 THEN
        RAISE EXCEPTION 'no number of that table' USING ERRCODE = 'numeric_value_out_of_range';
    END IF;
    sequence := pg_get_serial_sequence('context.' || of_table, 'seq');
    EXECUTE format('SELECT last_value FROM %s', sequence) INTO reached;
    IF reached < seq THEN
        PERFORM setval(sequence, seq + 10000);
    END IF;
END
$$;
REVOKE ALL ON FUNCTION context.number_behind FROM PUBLIC;
GRANT EXECUTE ON FUNCTION context.number_behind TO :"service_role";
