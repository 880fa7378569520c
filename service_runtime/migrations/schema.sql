-- What the migrations add up to; written by `make schema`, never by hand.

CREATE SCHEMA access;

ALTER SCHEMA access OWNER TO contextkeep_owner;

CREATE FUNCTION access.context_in_bounds(ancestors uuid[], agent_bundle_id text, app_id text) RETURNS boolean
    LANGUAGE plpgsql STABLE PARALLEL SAFE
    AS $$
DECLARE
    bounds jsonb := current_setting('app.bounds')::jsonb;
BEGIN
    RETURN bounds - '{context_id,agent_bundle_id,app_ids}'::text[] = '{}'
        AND coalesce((bounds ->> 'context_id')::uuid = ANY (ancestors), NOT bounds ? 'context_id')
        AND coalesce(bounds ->> 'agent_bundle_id' = agent_bundle_id, NOT bounds ? 'agent_bundle_id')
        AND coalesce((bounds -> 'app_ids') ? app_id, NOT bounds ? 'app_ids');
END
$$;

ALTER FUNCTION access.context_in_bounds(ancestors uuid[], agent_bundle_id text, app_id text) OWNER TO contextkeep_owner;

CREATE FUNCTION access.sees_all_contexts() RETURNS boolean
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN COALESCE((current_setting('app.context'::text, true) = '*'::text), false);

ALTER FUNCTION access.sees_all_contexts() OWNER TO contextkeep_owner;

CREATE FUNCTION access.context_seen() RETURNS uuid
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN CASE WHEN (NOT access.sees_all_contexts()) THEN (NULLIF(current_setting('app.context'::text, true), ''::text))::uuid ELSE NULL::uuid END;

ALTER FUNCTION access.context_seen() OWNER TO contextkeep_owner;

CREATE FUNCTION access.owners_seen() RETURNS text[]
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN CASE WHEN starts_with(current_setting('app.subject'::text, true), '='::text) THEN ARRAY[''::text, substr(current_setting('app.subject'::text, true), 2)] ELSE NULL::text[] END;

ALTER FUNCTION access.owners_seen() OWNER TO contextkeep_owner;

CREATE FUNCTION access.sees_all_subjects() RETURNS boolean
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN COALESCE((current_setting('app.subject'::text, true) = '*'::text), false);

ALTER FUNCTION access.sees_all_subjects() OWNER TO contextkeep_owner;

CREATE TABLE access.api_key (
    id uuid NOT NULL,
    key_sha256 bytea NOT NULL,
    prefix text NOT NULL,
    tenant_id uuid NOT NULL,
    subject text NOT NULL,
    scopes text[] NOT NULL,
    user_id text DEFAULT ''::text NOT NULL,
    agent_id text DEFAULT ''::text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    expires_at timestamp with time zone,
    revoked_at timestamp with time zone,
    last_used_at timestamp with time zone,
    app_ids text[] DEFAULT '{}'::text[] NOT NULL,
    agent_bundle_id text DEFAULT ''::text NOT NULL,
    graph_names text[] DEFAULT '{}'::text[] NOT NULL,
    CONSTRAINT api_key_scopes_check CHECK (((scopes <@ ARRAY['read'::text, 'write'::text, 'admin'::text]) AND (cardinality(scopes) > 0)))
);

ALTER TABLE access.api_key OWNER TO contextkeep_owner;

CREATE TABLE access.migration (
    version integer NOT NULL,
    name text NOT NULL,
    sha256 text NOT NULL,
    applied_at timestamp with time zone DEFAULT now() NOT NULL
);

ALTER TABLE access.migration OWNER TO contextkeep_owner;

CREATE TABLE access.tenant (
    id uuid NOT NULL,
    name text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL
);

ALTER TABLE access.tenant OWNER TO contextkeep_owner;

ALTER TABLE ONLY access.api_key
    ADD CONSTRAINT api_key_key_sha256_key UNIQUE (key_sha256);

ALTER TABLE ONLY access.api_key
    ADD CONSTRAINT api_key_pkey PRIMARY KEY (id);

ALTER TABLE ONLY access.migration
    ADD CONSTRAINT migration_pkey PRIMARY KEY (version);

ALTER TABLE ONLY access.tenant
    ADD CONSTRAINT tenant_name_key UNIQUE (name);

ALTER TABLE ONLY access.tenant
    ADD CONSTRAINT tenant_pkey PRIMARY KEY (id);

CREATE INDEX api_key_tenant ON access.api_key USING btree (tenant_id, created_at);

ALTER TABLE ONLY access.api_key
    ADD CONSTRAINT api_key_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES access.tenant(id);

GRANT USAGE ON SCHEMA access TO contextkeep_service;

GRANT SELECT ON TABLE access.api_key TO contextkeep_service;

GRANT UPDATE(last_used_at) ON TABLE access.api_key TO contextkeep_service;

GRANT SELECT ON TABLE access.migration TO contextkeep_service;

GRANT SELECT ON TABLE access.tenant TO contextkeep_service;
