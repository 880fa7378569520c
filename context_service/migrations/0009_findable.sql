-- Whether searches over several contexts find a context. Null: as the settings of its agents, its app and its tenant
-- say; without any, they do.
ALTER TABLE context.context ADD COLUMN is_findable boolean;
ALTER TABLE context.context_setting ADD COLUMN is_findable boolean;
