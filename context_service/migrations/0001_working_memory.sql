-- Working memory: records, and the blobs that they point to. The tenant leads every key.

-- Bytes in object storage. A row exists before the first byte and until after the last one, so that nothing in a
-- bucket is ever unknown: `writing` (an upload with a lease), `live` (records may point to it), `deleting`.
CREATE TABLE context.blob (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    -- `writing`: the upload is abandoned after this. `deleting`: the bytes go after this. `live`: null.
    due_at timestamptz,
    size_bytes bigint NOT NULL DEFAULT 0,
    state text NOT NULL DEFAULT 'writing' CHECK (state IN ('writing', 'live', 'deleting')),
    provider text NOT NULL,
    -- Where the bytes are. Made by the server, random, never used twice, never shown.
    key text NOT NULL,
    sha256 bytea,
    -- The crc32c of each MiB, four bytes each, big-endian.
    crc32c bytea,
    PRIMARY KEY (tenant_id, id),
    CHECK (state = 'live' OR due_at IS NOT NULL),
    CHECK (state <> 'live' OR (sha256 IS NOT NULL AND crc32c IS NOT NULL AND due_at IS NULL))
);
CREATE UNIQUE INDEX blob_key ON context.blob (tenant_id, provider, key);
-- Identical content of one tenant on one provider is stored once.
CREATE UNIQUE INDEX blob_content ON context.blob (tenant_id, provider, sha256, size_bytes) WHERE state = 'live';
CREATE INDEX blob_due ON context.blob (tenant_id, due_at) WHERE state <> 'live';

CREATE TABLE context.wm_record (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    entity_node_id uuid,
    blob_id uuid,
    context_id uuid,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz,
    archived_at timestamptz,
    seq bigint GENERATED ALWAYS AS IDENTITY,
    size_bytes bigint NOT NULL DEFAULT 0,
    version integer NOT NULL DEFAULT 1,
    -- Names the blob to callers; unique to the record, also when several share the bytes.
    blob_key text,
    provider text NOT NULL DEFAULT '',
    sha256 bytea,
    memory_type text NOT NULL,
    subtype text NOT NULL DEFAULT '',
    semantic_purpose text NOT NULL DEFAULT '',
    name text NOT NULL,
    description text NOT NULL DEFAULT '',
    reasoning text NOT NULL DEFAULT '',
    content_type text NOT NULL DEFAULT '',
    graph_name text NOT NULL DEFAULT 'default',
    agent_bundle_id text NOT NULL DEFAULT '',
    app_id text NOT NULL DEFAULT '',
    created_by text NOT NULL,
    owner_user_id text NOT NULL DEFAULT '',
    agent_id text NOT NULL DEFAULT '',
    index_state text NOT NULL DEFAULT 'NONE' CHECK (index_state IN ('NONE', 'PENDING', 'INDEXED', 'FAILED')),
    index_error text NOT NULL DEFAULT '',
    tags text[] NOT NULL DEFAULT '{}',
    metadata jsonb NOT NULL DEFAULT '{}',
    -- json, not jsonb: it is given back byte for byte.
    content json,
    PRIMARY KEY (tenant_id, id),
    FOREIGN KEY (tenant_id, blob_id) REFERENCES context.blob (tenant_id, id),
    CHECK (blob_id IS NULL OR content IS NULL),
    CHECK ((blob_id IS NULL) = (blob_key IS NULL))
);
CREATE UNIQUE INDEX wm_record_blob_key ON context.wm_record (tenant_id, blob_key) WHERE blob_key IS NOT NULL;
CREATE INDEX wm_record_entity ON context.wm_record (tenant_id, entity_node_id, created_at DESC, seq DESC);
CREATE INDEX wm_record_blob ON context.wm_record (tenant_id, blob_id) WHERE blob_id IS NOT NULL;
CREATE INDEX wm_record_expiry ON context.wm_record (tenant_id, expires_at) WHERE expires_at IS NOT NULL;

CREATE TABLE context.embedding (
    tenant_id uuid NOT NULL,
    owner_kind text NOT NULL CHECK (owner_kind IN ('record')),
    owner_id uuid NOT NULL,
    name text NOT NULL DEFAULT '',
    context_id uuid,
    created_at timestamptz NOT NULL DEFAULT now(),
    dimension integer NOT NULL,
    model text NOT NULL DEFAULT '',
    text_sha256 bytea,
    vector public.halfvec NOT NULL,
    PRIMARY KEY (tenant_id, owner_kind, owner_id, name)
);
ALTER TABLE context.embedding ALTER COLUMN vector SET STORAGE PLAIN;

-- What happened to a record; appended only, and kept when the record is purged: hence no foreign key.
CREATE TABLE context.action (
    tenant_id uuid NOT NULL,
    record_id uuid NOT NULL,
    seq bigint GENERATED ALWAYS AS IDENTITY,
    created_at timestamptz NOT NULL DEFAULT now(),
    request_id uuid,
    kind text NOT NULL CHECK (kind IN ('created', 'updated', 'archived', 'restored', 'moved', 'purged')),
    principal text NOT NULL,
    details jsonb NOT NULL DEFAULT '{}',
    PRIMARY KEY (tenant_id, record_id, seq)
);

-- Work that a committed write owes: leased, retried, visible.
CREATE TABLE context.outbox (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    due_at timestamptz NOT NULL DEFAULT now(),
    attempts integer NOT NULL DEFAULT 0,
    topic text NOT NULL,
    subject_id uuid NOT NULL,
    payload jsonb NOT NULL DEFAULT '{}',
    last_error text NOT NULL DEFAULT '',
    PRIMARY KEY (tenant_id, id)
);
CREATE INDEX outbox_due ON context.outbox (tenant_id, due_at);

CREATE TABLE context.request (
    tenant_id uuid NOT NULL,
    request_id uuid NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    rpc text NOT NULL,
    fingerprint bytea NOT NULL,
    answer jsonb NOT NULL,
    PRIMARY KEY (tenant_id, request_id)
);
CREATE INDEX request_age ON context.request (tenant_id, created_at);

ALTER TABLE context.blob ENABLE ROW LEVEL SECURITY;
ALTER TABLE context.wm_record ENABLE ROW LEVEL SECURITY;
ALTER TABLE context.embedding ENABLE ROW LEVEL SECURITY;
ALTER TABLE context.action ENABLE ROW LEVEL SECURITY;
ALTER TABLE context.outbox ENABLE ROW LEVEL SECURITY;
ALTER TABLE context.request ENABLE ROW LEVEL SECURITY;

CREATE POLICY tenant ON context.blob
    USING (tenant_id = (SELECT nullif(current_setting('app.tenant', true), '')::uuid));
CREATE POLICY tenant ON context.wm_record
    USING (tenant_id = (SELECT nullif(current_setting('app.tenant', true), '')::uuid));
CREATE POLICY tenant ON context.embedding
    USING (tenant_id = (SELECT nullif(current_setting('app.tenant', true), '')::uuid));
CREATE POLICY tenant ON context.action
    USING (tenant_id = (SELECT nullif(current_setting('app.tenant', true), '')::uuid));
CREATE POLICY tenant ON context.outbox
    USING (tenant_id = (SELECT nullif(current_setting('app.tenant', true), '')::uuid));
CREATE POLICY tenant ON context.request
    USING (tenant_id = (SELECT nullif(current_setting('app.tenant', true), '')::uuid));

GRANT USAGE ON SCHEMA context TO :"service_role";
GRANT SELECT, INSERT, UPDATE, DELETE ON context.blob, context.wm_record, context.embedding, context.outbox,
    context.request TO :"service_role";
-- The log is append-only for the service, whatever its code says.
GRANT SELECT, INSERT ON context.action TO :"service_role";
