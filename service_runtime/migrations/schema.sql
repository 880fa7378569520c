-- What the migrations add up to; written by `make schema`, never by hand.

CREATE SCHEMA access;

ALTER SCHEMA access OWNER TO contextkeep_owner;

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
