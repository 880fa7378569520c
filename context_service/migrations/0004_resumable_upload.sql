-- Resumable uploads: a part is a blob of its own, in a state of its own; the upload that it belongs to has the lease.

ALTER TABLE context.blob
    DROP CONSTRAINT blob_state_check,
    DROP CONSTRAINT blob_check,
    DROP CONSTRAINT blob_check1,
    ADD CONSTRAINT blob_state_check CHECK (state IN ('writing', 'part', 'live', 'deleting')),
    -- `part` and `live` have bytes that are known and no time at which they go; the others have such a time.
    ADD CONSTRAINT blob_due_check CHECK ((state IN ('part', 'live')) = (due_at IS NULL)),
    ADD CONSTRAINT blob_bytes_check CHECK (
        state NOT IN ('part', 'live') OR (sha256 IS NOT NULL AND crc32c IS NOT NULL)
    );

CREATE TABLE context.upload (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    -- Abandoned after this; each part moves it on.
    due_at timestamptz NOT NULL,
    -- What the parts are to add up to, where the caller knew it.
    size_bytes bigint,
    sha256 bytea,
    -- What the caller said of the record.
    record jsonb NOT NULL,
    PRIMARY KEY (tenant_id, id)
);
CREATE INDEX upload_due ON context.upload (tenant_id, due_at);

-- Parts lie end to end: the first begins at 0, each other one where the one before it ends.
CREATE TABLE context.upload_part (
    tenant_id uuid NOT NULL,
    upload_id uuid NOT NULL,
    blob_id uuid NOT NULL,
    offset_bytes bigint NOT NULL CHECK (offset_bytes >= 0),
    size_bytes bigint NOT NULL CHECK (size_bytes > 0),
    number integer NOT NULL,
    PRIMARY KEY (tenant_id, upload_id, offset_bytes),
    FOREIGN KEY (tenant_id, upload_id) REFERENCES context.upload (tenant_id, id),
    FOREIGN KEY (tenant_id, blob_id) REFERENCES context.blob (tenant_id, id)
);
CREATE UNIQUE INDEX upload_part_blob ON context.upload_part (tenant_id, blob_id);

ALTER TABLE context.upload ENABLE ROW LEVEL SECURITY;
ALTER TABLE context.upload_part ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON context.upload
    USING (tenant_id = (SELECT nullif(current_setting('app.tenant', true), '')::uuid));
CREATE POLICY tenant ON context.upload_part
    USING (tenant_id = (SELECT nullif(current_setting('app.tenant', true), '')::uuid));
GRANT SELECT, INSERT, UPDATE, DELETE ON context.upload, context.upload_part TO :"service_role";
