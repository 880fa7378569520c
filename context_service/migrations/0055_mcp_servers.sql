-- MCP servers of tenants, their tools, and which of them context query may ask.

CREATE TABLE context.mcp_server (
    tenant_id uuid NOT NULL,
    server_id text COLLATE "C" NOT NULL,
    version integer NOT NULL DEFAULT 1,
    display_name text NOT NULL,
    url text NOT NULL,
    is_disabled boolean NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    updated_by text NOT NULL,
    -- Encrypted by a key that the database has not, and bound to tenant and server.
    secret bytea,
    -- Which key that is.
    secret_key_id text NOT NULL DEFAULT '',
    -- How it spoke when its tools were discovered.
    protocol text NOT NULL DEFAULT '',
    discovered_at timestamptz,
    PRIMARY KEY (tenant_id, server_id)
);

CREATE TABLE context.mcp_tool (
    tenant_id uuid NOT NULL,
    server_id text COLLATE "C" NOT NULL,
    tool_name text COLLATE "C" NOT NULL,
    -- As context query knows it.
    provider_id text NOT NULL,
    -- JSON of the server's, in which there may be what jsonb has not.
    definition text NOT NULL,
    definition_sha256 text NOT NULL,
    is_gone boolean NOT NULL DEFAULT false,
    discovered_at timestamptz NOT NULL,
    -- What the approval is for: the address of the server and the definition; empty: it is not approved.
    approved_sha256 text NOT NULL DEFAULT '',
    approved_by text NOT NULL DEFAULT '',
    approved_at timestamptz,
    search_safe_recorded_by text NOT NULL DEFAULT '',
    is_default boolean NOT NULL DEFAULT false,
    arguments text NOT NULL DEFAULT '',
    CHECK (approved_sha256 <> '' OR NOT is_default),
    PRIMARY KEY (tenant_id, server_id, tool_name),
    FOREIGN KEY (tenant_id, server_id) REFERENCES context.mcp_server (tenant_id, server_id) ON DELETE CASCADE
);
CREATE UNIQUE INDEX mcp_tool_of_provider ON context.mcp_tool (tenant_id, provider_id);

ALTER TABLE context.mcp_server ENABLE ROW LEVEL SECURITY;
ALTER TABLE context.mcp_tool ENABLE ROW LEVEL SECURITY;

-- They are the tenant's: everybody's to ask whose bounds are known, and of keys without bounds to write.
CREATE POLICY tenant ON context.mcp_server
    USING (tenant_id = (SELECT nullif(current_setting('app.tenant', true), '')::uuid));
CREATE POLICY bounds ON context.mcp_server AS RESTRICTIVE FOR SELECT
    USING (nullif((SELECT coalesce(current_setting('app.bounds', true), '') = '')
        OR (SELECT context.knows_bounds(nullif(current_setting('app.bounds', true), '')::jsonb)), false) IS NOT NULL);
CREATE POLICY bounds_of_insert ON context.mcp_server AS RESTRICTIVE FOR INSERT
    WITH CHECK (nullif((SELECT coalesce(current_setting('app.bounds', true), '') = '') OR false, false) IS NOT NULL);
CREATE POLICY bounds_of_update ON context.mcp_server AS RESTRICTIVE FOR UPDATE
    USING (nullif((SELECT coalesce(current_setting('app.bounds', true), '') = '') OR false, false) IS NOT NULL);
CREATE POLICY bounds_of_delete ON context.mcp_server AS RESTRICTIVE FOR DELETE
    USING (nullif((SELECT coalesce(current_setting('app.bounds', true), '') = '') OR false, false) IS NOT NULL);
CREATE POLICY tenant ON context.mcp_tool
    USING (tenant_id = (SELECT nullif(current_setting('app.tenant', true), '')::uuid));
CREATE POLICY bounds ON context.mcp_tool AS RESTRICTIVE FOR SELECT
    USING (nullif((SELECT coalesce(current_setting('app.bounds', true), '') = '')
        OR (SELECT context.knows_bounds(nullif(current_setting('app.bounds', true), '')::jsonb)), false) IS NOT NULL);
CREATE POLICY bounds_of_insert ON context.mcp_tool AS RESTRICTIVE FOR INSERT
    WITH CHECK (nullif((SELECT coalesce(current_setting('app.bounds', true), '') = '') OR false, false) IS NOT NULL);
CREATE POLICY bounds_of_update ON context.mcp_tool AS RESTRICTIVE FOR UPDATE
    USING (nullif((SELECT coalesce(current_setting('app.bounds', true), '') = '') OR false, false) IS NOT NULL);
CREATE POLICY bounds_of_delete ON context.mcp_tool AS RESTRICTIVE FOR DELETE
    USING (nullif((SELECT coalesce(current_setting('app.bounds', true), '') = '') OR false, false) IS NOT NULL);

GRANT SELECT, INSERT, UPDATE, DELETE ON context.mcp_server TO :"service_role";
GRANT SELECT, INSERT, UPDATE, DELETE ON context.mcp_tool TO :"service_role";
