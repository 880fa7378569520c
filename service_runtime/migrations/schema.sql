-- What the migrations add up to; written by `make schema`, never by hand.

CREATE SCHEMA access;

ALTER SCHEMA access OWNER TO contextgraph_owner;

CREATE TABLE access.migration (
    version integer NOT NULL,
    name text NOT NULL,
    sha256 text NOT NULL,
    applied_at timestamp with time zone DEFAULT now() NOT NULL
);

ALTER TABLE access.migration OWNER TO contextgraph_owner;

CREATE TABLE access.tenant (
    id uuid NOT NULL,
    name text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL
);

ALTER TABLE access.tenant OWNER TO contextgraph_owner;

ALTER TABLE ONLY access.migration
    ADD CONSTRAINT migration_pkey PRIMARY KEY (version);

ALTER TABLE ONLY access.tenant
    ADD CONSTRAINT tenant_name_key UNIQUE (name);

ALTER TABLE ONLY access.tenant
    ADD CONSTRAINT tenant_pkey PRIMARY KEY (id);

GRANT USAGE ON SCHEMA access TO contextgraph_service;

GRANT SELECT ON TABLE access.tenant TO contextgraph_service;
