-- Nodes, edges and what hangs on them. The tenant leads every key, so that it can be the distribution column one day.
-- Column order: fixed-width first, which saves the padding between them.

CREATE TABLE entity.node (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    created_at timestamptz NOT NULL,
    modified_at timestamptz NOT NULL,
    seq bigint GENERATED ALWAYS AS IDENTITY,
    version integer NOT NULL DEFAULT 1,
    is_archived boolean NOT NULL DEFAULT false,
    context_id uuid,
    external_id text,
    graph_name text NOT NULL,
    general_type_name text NOT NULL,
    specific_type_name text NOT NULL,
    agent_bundle_id text NOT NULL DEFAULT '',
    name text NOT NULL DEFAULT '',
    status text NOT NULL,
    created_by text NOT NULL,
    owner_user_id text NOT NULL DEFAULT '',
    agent_id text NOT NULL DEFAULT '',
    data jsonb NOT NULL,
    PRIMARY KEY (tenant_id, id)
);

-- Partial: most nodes have neither, and would pay for an entry each.
CREATE UNIQUE INDEX node_external_id ON entity.node (tenant_id, graph_name, external_id)
    WHERE external_id IS NOT NULL;
CREATE INDEX node_name ON entity.node (tenant_id, graph_name, name, created_at DESC, seq DESC)
    WHERE name <> '' AND NOT is_archived;

CREATE TABLE entity.edge (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    from_node_id uuid NOT NULL,
    to_node_id uuid NOT NULL,
    created_at timestamptz NOT NULL,
    -- Copied from the node it leads to, where they never change: the newest children are one index scan.
    child_created_at timestamptz NOT NULL,
    child_seq bigint NOT NULL,
    version integer NOT NULL DEFAULT 1,
    context_id uuid,
    graph_name text NOT NULL,
    edge_type text NOT NULL,
    data jsonb NOT NULL,
    PRIMARY KEY (tenant_id, id),
    FOREIGN KEY (tenant_id, from_node_id) REFERENCES entity.node (tenant_id, id) ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, to_node_id) REFERENCES entity.node (tenant_id, id) ON DELETE CASCADE
);

-- One edge of a type between two nodes; led by the far end, so that it serves walks against the direction too.
CREATE UNIQUE INDEX edge_ends ON entity.edge (tenant_id, to_node_id, edge_type, from_node_id);
CREATE INDEX edge_children ON entity.edge (tenant_id, from_node_id, edge_type, child_created_at, child_seq)
    INCLUDE (to_node_id);

-- The timeline of a node: envelopes, appended and never changed.
CREATE TABLE entity.progress (
    tenant_id uuid NOT NULL,
    node_id uuid NOT NULL,
    seq bigint GENERATED ALWAYS AS IDENTITY,
    created_at timestamptz NOT NULL,
    context_id uuid,
    type text NOT NULL CHECK (type IN ('STATUS', 'MESSAGE', 'ERROR', 'BOT_PROGRESS', 'VALUE', 'WAITING')),
    status text NOT NULL DEFAULT '',
    sub_type text NOT NULL DEFAULT '',
    message text NOT NULL DEFAULT '',
    value jsonb,
    error jsonb,
    created_by text NOT NULL,
    PRIMARY KEY (tenant_id, node_id, seq),
    FOREIGN KEY (tenant_id, node_id) REFERENCES entity.node (tenant_id, id) ON DELETE CASCADE
);

-- Named vectors of a node. STORAGE PLAIN: an exact scan reads them without a detour through TOAST.
CREATE TABLE entity.embedding (
    tenant_id uuid NOT NULL,
    owner_kind text NOT NULL CHECK (owner_kind IN ('node')),
    owner_id uuid NOT NULL,
    name text NOT NULL,
    context_id uuid,
    created_at timestamptz NOT NULL DEFAULT now(),
    dimension integer NOT NULL,
    model text NOT NULL DEFAULT '',
    text_sha256 bytea,
    metadata jsonb NOT NULL DEFAULT '{}',
    vector public.halfvec NOT NULL,
    PRIMARY KEY (tenant_id, owner_kind, owner_id, name)
);

ALTER TABLE entity.embedding ALTER COLUMN vector SET STORAGE PLAIN;

-- Calls that were answered, kept at least 24 hours: the same id again is answered from here.
CREATE TABLE entity.request (
    tenant_id uuid NOT NULL,
    request_id uuid NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    rpc text NOT NULL,
    fingerprint bytea NOT NULL,
    answer jsonb NOT NULL,
    PRIMARY KEY (tenant_id, request_id)
);
CREATE INDEX request_age ON entity.request (tenant_id, created_at);

ALTER TABLE entity.node ENABLE ROW LEVEL SECURITY;
ALTER TABLE entity.edge ENABLE ROW LEVEL SECURITY;
ALTER TABLE entity.progress ENABLE ROW LEVEL SECURITY;
ALTER TABLE entity.embedding ENABLE ROW LEVEL SECURITY;
ALTER TABLE entity.request ENABLE ROW LEVEL SECURITY;

-- The inner select is evaluated once a statement, not once a row; nullif, because a variable that was set and is
-- gone reads as ''.
CREATE POLICY tenant ON entity.node
    USING (tenant_id = (SELECT nullif(current_setting('app.tenant', true), '')::uuid));
CREATE POLICY tenant ON entity.edge
    USING (tenant_id = (SELECT nullif(current_setting('app.tenant', true), '')::uuid));
CREATE POLICY tenant ON entity.progress
    USING (tenant_id = (SELECT nullif(current_setting('app.tenant', true), '')::uuid));
CREATE POLICY tenant ON entity.embedding
    USING (tenant_id = (SELECT nullif(current_setting('app.tenant', true), '')::uuid));
CREATE POLICY tenant ON entity.request
    USING (tenant_id = (SELECT nullif(current_setting('app.tenant', true), '')::uuid));

GRANT USAGE ON SCHEMA entity TO :"service_role";
GRANT SELECT, INSERT, UPDATE, DELETE ON entity.node, entity.edge, entity.embedding, entity.request
    TO :"service_role";
-- Envelopes are appended, read and cleared, never rewritten.
GRANT SELECT, INSERT, DELETE ON entity.progress TO :"service_role";
