-- Who wrote an imported message is a claim of its archive or of its sender: windows quote its text as data.
ALTER TABLE context.message ADD COLUMN is_imported boolean NOT NULL DEFAULT false;
