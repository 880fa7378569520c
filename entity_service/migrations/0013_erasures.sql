-- Subjects that are forgotten: their nodes go, in steps. Who it is stands on a receipt while it goes on, and is gone when it is finished.

CREATE TABLE entity.erasure (
    tenant_id uuid NOT NULL,
    erasure_id uuid NOT NULL,
    subject text, -- null: it is finished
    created_at timestamptz NOT NULL DEFAULT now(),
    finished_at timestamptz,
    -- Before this another replica is at it.
    due_at timestamptz NOT NULL DEFAULT now(),
    nodes_removed bigint NOT NULL DEFAULT 0,
    edges_removed bigint NOT NULL DEFAULT 0,
    answers_removed bigint NOT NULL DEFAULT 0,
    names_replaced bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (tenant_id, erasure_id)
);
CREATE INDEX erasure_finished ON entity.erasure (tenant_id, finished_at);

ALTER TABLE entity.erasure ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON entity.erasure
    USING (tenant_id = (SELECT nullif(current_setting('app.tenant', true), '')::uuid));
-- A subject is erased within the whole tenant: of keys without bounds.
CREATE POLICY bounds ON entity.erasure AS RESTRICTIVE
    USING (nullif((SELECT coalesce(current_setting('app.bounds', true), '') = '') OR false, false) IS NOT NULL);
GRANT SELECT, INSERT, UPDATE, DELETE ON entity.erasure TO :"service_role";

-- For whom a call was that will be answered again: "=" and the user's id.
ALTER TABLE entity.request ADD COLUMN subject text DEFAULT nullif(current_setting('app.subject', true), '');

-- A change says that a node is gone, and no word of what it was.
GRANT UPDATE (general_type_name, specific_type_name) ON entity.change TO :"service_role";

-- Who wrote an entry is a name.
GRANT UPDATE (created_by) ON entity.progress TO :"service_role";
