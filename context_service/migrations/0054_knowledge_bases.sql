-- Knowledge bases: documents that are found together, for all of a tenant or for agents that name them. A document is read behind the call
-- that adds it, in a process of its own; what it says is found by passages in the scope of its base, at its `seq`. What policies read (graph,
-- app, bundle) is that of the base, stands on every row, and never changes.

CREATE TABLE context.knowledge_base (
    tenant_id uuid NOT NULL,
    -- Of the scope of its passages, too: a base of the same name that is put later has another.
    base_id uuid NOT NULL,
    name text NOT NULL,
    description text NOT NULL,
    is_of_tenant boolean NOT NULL,
    version integer NOT NULL DEFAULT 1,
    -- Who adds and removes documents takes turns at this row, which counts them, and the bytes that came with them.
    document_count integer NOT NULL DEFAULT 0,
    size_bytes bigint NOT NULL DEFAULT 0,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    updated_by text NOT NULL,
    graph_name text NOT NULL,
    agent_bundle_id text NOT NULL,
    app_id text NOT NULL,
    PRIMARY KEY (tenant_id, name)
) WITH (fillfactor = 50);
CREATE UNIQUE INDEX knowledge_base_id ON context.knowledge_base (tenant_id, base_id);

CREATE TABLE context.knowledge_document (
    tenant_id uuid NOT NULL,
    document_id uuid NOT NULL,
    base_id uuid NOT NULL,
    -- Its place among the passages of the base.
    seq bigint GENERATED ALWAYS AS IDENTITY,
    -- The record of working memory that it follows, and the version that was read; null: none was, or it came as bytes.
    record_id uuid,
    record_version integer,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    -- Of what came with it.
    size_bytes bigint NOT NULL,
    passage_count integer NOT NULL DEFAULT 0,
    is_cut boolean NOT NULL DEFAULT false,
    state text NOT NULL DEFAULT 'QUEUED' CHECK (state IN ('QUEUED', 'PARSING', 'INDEXED', 'FAILED')),
    error text NOT NULL DEFAULT '',
    name text NOT NULL,
    uri text NOT NULL,
    content_type text NOT NULL,
    graph_name text NOT NULL,
    agent_bundle_id text NOT NULL,
    app_id text NOT NULL,
    created_by text NOT NULL,
    -- Of each passage, by its `ordinal`: where in the text it begins and ends, in characters, and on which page; 0: pages are not known.
    starts integer[] NOT NULL DEFAULT '{}',
    ends integer[] NOT NULL DEFAULT '{}',
    pages integer[] NOT NULL DEFAULT '{}',
    -- Of its sections: a passage says by its `part` in which of them it stands.
    headings text[] NOT NULL DEFAULT '{}',
    -- What was read of it, and where its pages begin; none: it is not known.
    text text NOT NULL DEFAULT '',
    page_starts integer[] NOT NULL DEFAULT '{}',
    PRIMARY KEY (tenant_id, document_id)
) WITH (fillfactor = 80);
CREATE UNIQUE INDEX knowledge_document_list ON context.knowledge_document (tenant_id, base_id, seq);
-- What is not found, of a base, and what follows a record: few of many.
CREATE INDEX knowledge_document_unread ON context.knowledge_document (tenant_id, base_id, state) WHERE state <> 'INDEXED';
CREATE INDEX knowledge_document_record ON context.knowledge_document (tenant_id, record_id) WHERE record_id IS NOT NULL;

-- The bytes that came with a document, from which it is read again.
CREATE TABLE context.knowledge_file (
    tenant_id uuid NOT NULL,
    document_id uuid NOT NULL,
    graph_name text NOT NULL,
    agent_bundle_id text NOT NULL,
    app_id text NOT NULL,
    data bytea NOT NULL,
    PRIMARY KEY (tenant_id, document_id)
);
-- They are compressed by their own formats, mostly.
ALTER TABLE context.knowledge_file ALTER COLUMN data SET STORAGE EXTERNAL;

ALTER TABLE context.knowledge_base ENABLE ROW LEVEL SECURITY;
ALTER TABLE context.knowledge_document ENABLE ROW LEVEL SECURITY;
ALTER TABLE context.knowledge_file ENABLE ROW LEVEL SECURITY;

CREATE POLICY tenant ON context.knowledge_base
    USING (tenant_id = (SELECT nullif(current_setting('app.tenant', true), '')::uuid));
CREATE POLICY bounds ON context.knowledge_base AS RESTRICTIVE
    USING (nullif((SELECT coalesce(current_setting('app.bounds', true), '') = '')
        OR context.in_bounds(graph_name, agent_bundle_id, app_id), false) IS NOT NULL);
CREATE POLICY tenant ON context.knowledge_document
    USING (tenant_id = (SELECT nullif(current_setting('app.tenant', true), '')::uuid));
CREATE POLICY bounds ON context.knowledge_document AS RESTRICTIVE
    USING (nullif((SELECT coalesce(current_setting('app.bounds', true), '') = '')
        OR context.in_bounds(graph_name, agent_bundle_id, app_id), false) IS NOT NULL);
CREATE POLICY tenant ON context.knowledge_file
    USING (tenant_id = (SELECT nullif(current_setting('app.tenant', true), '')::uuid));
CREATE POLICY bounds ON context.knowledge_file AS RESTRICTIVE
    USING (nullif((SELECT coalesce(current_setting('app.bounds', true), '') = '')
        OR context.in_bounds(graph_name, agent_bundle_id, app_id), false) IS NOT NULL);

GRANT SELECT, INSERT, UPDATE, DELETE ON context.knowledge_base, context.knowledge_document TO :"service_role";
-- Bytes are written once.
GRANT SELECT, INSERT, DELETE ON context.knowledge_file TO :"service_role";
