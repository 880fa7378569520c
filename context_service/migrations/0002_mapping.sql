-- Named mappings that apps register, and the number that tells every replica when to read them again.

CREATE TABLE context.mapping (
    tenant_id uuid NOT NULL,
    -- Empty: the tenant's shared scope.
    app_id text NOT NULL,
    name text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    -- The author's own number; 0: none.
    rules_version bigint NOT NULL,
    version integer NOT NULL DEFAULT 1,
    rules jsonb NOT NULL,
    created_by text NOT NULL,
    PRIMARY KEY (tenant_id, app_id, name)
);

ALTER TABLE context.mapping ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON context.mapping
    USING (tenant_id = (SELECT nullif(current_setting('app.tenant', true), '')::uuid));

-- One row without a tenant: it says that something changed, not what. A row and not a sequence, because it must become visible
-- together with the change, never before it.
CREATE TABLE context.mapping_revision (
    singleton boolean PRIMARY KEY DEFAULT true CHECK (singleton),
    revision bigint NOT NULL
);
INSERT INTO context.mapping_revision (revision) VALUES (0);

GRANT SELECT, INSERT, UPDATE, DELETE ON context.mapping TO :"service_role";
GRANT SELECT, UPDATE ON context.mapping_revision TO :"service_role";
