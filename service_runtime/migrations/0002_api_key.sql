-- Keys, found by their hash before it is known whose they are: hence no tenant in front and no policy. The services read
-- them and note their use; only the owner makes and revokes them.
CREATE TABLE access.api_key (
    id uuid PRIMARY KEY,
    -- Of the whole key, which is 256 random bits: a slow hash would protect nothing more.
    key_sha256 bytea NOT NULL UNIQUE,
    -- The beginning of the key, shown in lists and logs.
    prefix text NOT NULL,
    tenant_id uuid NOT NULL REFERENCES access.tenant (id),
    -- Whom the key stands for; rows keep it as `created_by`.
    subject text NOT NULL,
    scopes text[] NOT NULL CHECK (scopes <@ ARRAY['read', 'write', 'admin'] AND cardinality(scopes) > 0),
    user_id text NOT NULL DEFAULT '',
    agent_id text NOT NULL DEFAULT '',
    created_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz,
    revoked_at timestamptz,
    -- To the minute.
    last_used_at timestamptz
);
CREATE INDEX api_key_tenant ON access.api_key (tenant_id, created_at);

GRANT SELECT ON access.api_key TO :"service_role";
GRANT UPDATE (last_used_at) ON access.api_key TO :"service_role";
