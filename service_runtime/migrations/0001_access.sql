-- What has no tenant: the tenants themselves. Both services migrate this schema; whoever comes first does it.

CREATE TABLE access.tenant (
    id uuid PRIMARY KEY,
    name text NOT NULL UNIQUE,
    created_at timestamptz NOT NULL DEFAULT now()
);

-- The tenant of a single-tenant deployment; its id is a constant of `service_runtime.auth`.
INSERT INTO access.tenant (id, name) VALUES ('00000000-0000-7000-8000-000000000001', 'default');

GRANT USAGE ON SCHEMA access TO :"service_role";
GRANT SELECT ON access.tenant TO :"service_role";
