-- What went into a node and what came out of it. A table of its own: walks that do not ask for it never touch it, and a
-- new output writes neither the node's data nor its version again.

CREATE TABLE entity.node_io (
    tenant_id uuid NOT NULL,
    node_id uuid NOT NULL,
    modified_at timestamptz NOT NULL,
    context_id uuid,
    -- Any JSON; SQL's null is a side that was never set, JSON's null is a value.
    input jsonb,
    output jsonb,
    PRIMARY KEY (tenant_id, node_id),
    FOREIGN KEY (tenant_id, node_id) REFERENCES entity.node (tenant_id, id) ON DELETE CASCADE
);

ALTER TABLE entity.node_io ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON entity.node_io
    USING (tenant_id = (SELECT nullif(current_setting('app.tenant', true), '')::uuid));
GRANT SELECT, INSERT, UPDATE, DELETE ON entity.node_io TO :"service_role";
