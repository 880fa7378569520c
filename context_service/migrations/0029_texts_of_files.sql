-- Texts of files that are no texts as they are (PDF, Office, HTML): read behind the upload, and found like those that are.

ALTER TABLE context.wm_record
    ADD COLUMN text_state text NOT NULL DEFAULT 'NONE' CHECK (text_state IN ('NONE', 'PENDING', 'INDEXED', 'FAILED')),
    ADD COLUMN text_error text NOT NULL DEFAULT '';
