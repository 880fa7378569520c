-- Vectors are of more than records: what owns texts names its kind. An owner of several texts has a vector of each by `name`,
-- which is in the key already; searches of records read those of kind 'record' and name ''.
ALTER TABLE context.embedding DROP CONSTRAINT embedding_owner_kind_check;
ALTER TABLE context.embedding ADD CONSTRAINT embedding_owner_kind_check CHECK (owner_kind <> '') NOT VALID;
ALTER TABLE context.embedding VALIDATE CONSTRAINT embedding_owner_kind_check;
