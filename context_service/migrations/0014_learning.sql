-- How the service learns memories from contexts; empty: as the wider settings say.
ALTER TABLE context.context ADD COLUMN learning text NOT NULL DEFAULT '' CHECK (learning IN ('', 'off', 'rules'));
ALTER TABLE context.context_setting
    ADD COLUMN learning text NOT NULL DEFAULT '' CHECK (learning IN ('', 'off', 'rules'));

-- Statements that a user has refused: learned memories that were forgotten or corrected. They are not learned again, and
-- no import brings them back. Only a hash is kept.
CREATE TABLE context.memory_refusal (
    tenant_id uuid NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    owner_user_id text NOT NULL CHECK (owner_user_id <> ''),
    app_id text NOT NULL,
    agent_bundle_id text NOT NULL,
    statement_sha256 bytea NOT NULL,
    imported jsonb,
    PRIMARY KEY (tenant_id, owner_user_id, app_id, agent_bundle_id, statement_sha256)
);
SELECT access.policy('context.memory_refusal', 'tenant', 'subject', 'bounds:user');
GRANT SELECT, INSERT, DELETE ON context.memory_refusal TO :"service_role";
GRANT UPDATE (imported) ON context.memory_refusal TO :"service_role";

CREATE FUNCTION context.skip_refused_memory() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF EXISTS (
        SELECT FROM context.memory_refusal r
        WHERE r.tenant_id = NEW.tenant_id AND r.owner_user_id = NEW.owner_user_id AND r.app_id = NEW.app_id
            AND r.agent_bundle_id = NEW.agent_bundle_id AND r.statement_sha256 = NEW.statement_sha256
    ) THEN
        RETURN NULL;
    END IF;
    RETURN NEW;
END
$$;
REVOKE ALL ON FUNCTION context.skip_refused_memory FROM PUBLIC;
CREATE TRIGGER not_refused BEFORE INSERT ON context.memory FOR EACH ROW WHEN (NEW.is_learned)
    EXECUTE FUNCTION context.skip_refused_memory();

-- Finds the learned memories that a context has taught.
CREATE INDEX memory_taught_by ON context.memory USING gin (sources jsonb_path_ops) WHERE is_learned;
