-- Since when and until when a memory holds, when it expires, and the caller's own labels of it.
ALTER TABLE context.memory
    ADD COLUMN valid_from timestamptz,
    -- As the caller stated it. A memory also ends at the `valid_from` of the one that supersedes it.
    ADD COLUMN ends_at timestamptz,
    ADD COLUMN expires_at timestamptz,
    ADD COLUMN metadata jsonb NOT NULL DEFAULT '{}',
    ADD COLUMN tags text[] NOT NULL DEFAULT '{}',
    -- What the memory is about: "key: …" with its key, "rule: …" where a rule finds it in the text, else empty. The
    -- memories of one subject supersede each other, in the order of `placed_at`.
    ADD COLUMN subject text NOT NULL DEFAULT '',
    ADD COLUMN placed_at timestamptz,
    -- The service learned the memory from messages; no caller retained it.
    ADD COLUMN is_learned boolean NOT NULL DEFAULT false,
    DROP CONSTRAINT memory_kind_check,
    ADD CONSTRAINT memory_kind_check
        CHECK (kind IN ('fact', 'preference', 'experience', 'observation', 'event', 'commitment'));

-- Rows of older archives have none of these columns.
CREATE FUNCTION context.complete_memory() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    NEW.valid_from := coalesce(NEW.valid_from, NEW.happened_at);
    NEW.placed_at := coalesce(NEW.placed_at, NEW.happened_at);
    IF NEW.subject = '' AND NEW.key <> '' THEN
        NEW.subject := 'key: ' || NEW.key;
    END IF;
    RETURN NEW;
END
$$;
REVOKE ALL ON FUNCTION context.complete_memory FROM PUBLIC;
CREATE TRIGGER completed BEFORE INSERT ON context.memory FOR EACH ROW EXECUTE FUNCTION context.complete_memory();
UPDATE context.memory
SET valid_from = happened_at, placed_at = happened_at, subject = CASE WHEN key = '' THEN '' ELSE 'key: ' || key END;
ALTER TABLE context.memory ALTER COLUMN valid_from SET NOT NULL, ALTER COLUMN placed_at SET NOT NULL;

DROP INDEX context.memory_key;
CREATE INDEX memory_subject
    ON context.memory (tenant_id, owner_user_id, app_id, agent_bundle_id, subject, placed_at, seq) WHERE subject <> '';
CREATE INDEX memory_expiry ON context.memory (tenant_id, expires_at) WHERE expires_at IS NOT NULL;

-- The values of a memory before each of its corrections.
CREATE TABLE context.memory_revision (
    tenant_id uuid NOT NULL,
    memory_id uuid NOT NULL,
    version integer NOT NULL,
    happened_at timestamptz NOT NULL,
    valid_from timestamptz NOT NULL,
    valid_to timestamptz,
    expires_at timestamptz,
    replaced_at timestamptz NOT NULL DEFAULT now(),
    confidence double precision NOT NULL,
    quality double precision,
    owner_user_id text NOT NULL CHECK (owner_user_id <> ''),
    app_id text NOT NULL,
    agent_bundle_id text NOT NULL,
    -- Who replaced the values.
    updated_by text NOT NULL,
    kind text NOT NULL CHECK (kind IN ('fact', 'preference', 'experience', 'observation', 'event', 'commitment')),
    key text NOT NULL,
    text text NOT NULL,
    goal text NOT NULL,
    outcome text NOT NULL,
    sources jsonb NOT NULL,
    metadata jsonb NOT NULL,
    tags text[] NOT NULL,
    imported jsonb,
    PRIMARY KEY (tenant_id, memory_id, version)
);
CREATE INDEX memory_revision_owner ON context.memory_revision (tenant_id, owner_user_id);
SELECT access.policy('context.memory_revision', 'tenant', 'subject', 'bounds:user');
GRANT SELECT, INSERT, DELETE ON context.memory_revision TO :"service_role";
GRANT UPDATE (updated_by, imported) ON context.memory_revision TO :"service_role";
