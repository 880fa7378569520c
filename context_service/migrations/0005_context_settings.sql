-- What the service may do with the contexts of a tenant, of an app, or of an agent.
CREATE TABLE context.context_setting (
    tenant_id uuid NOT NULL,
    -- "tenant", "app …" or "agent …", with the id.
    subject text COLLATE "C" NOT NULL,
    -- Whether text may be sent to the operator's model; empty: as the wider settings say.
    models text NOT NULL DEFAULT '' CHECK (models IN ('', 'on', 'off')),
    version integer NOT NULL DEFAULT 1,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    updated_by text NOT NULL,
    imported jsonb,
    PRIMARY KEY (tenant_id, subject)
);
SELECT access.policy('context.context_setting', 'tenant', 'bounds:read', 'bounds:write');
GRANT SELECT, INSERT, UPDATE, DELETE ON context.context_setting TO :"service_role";

ALTER TABLE context.context ADD COLUMN models text NOT NULL DEFAULT '' CHECK (models IN ('', 'on', 'off'));
