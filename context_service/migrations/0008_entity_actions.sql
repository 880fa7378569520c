-- Whose record it was: what happened to an entity is told by the records' logs, those of purged records too.

ALTER TABLE context.action ADD COLUMN entity_node_id uuid;
