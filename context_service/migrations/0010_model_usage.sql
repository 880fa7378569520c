-- The tokens of models that a tenant has spent in a day (UTC), over all replicas: the newest day only.
CREATE TABLE context.model_usage (
    tenant_id uuid NOT NULL PRIMARY KEY,
    day date NOT NULL,
    tokens bigint NOT NULL
) WITH (fillfactor = 50);
SELECT access.policy('context.model_usage', 'tenant', 'bounds:known');
GRANT SELECT, INSERT, UPDATE ON context.model_usage TO :"service_role";
