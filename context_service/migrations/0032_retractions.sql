-- Whoever watches a context is told what is taken back, and what changes of its header: both take numbers of its changes.

ALTER TABLE context.context
    ADD COLUMN header_change bigint NOT NULL DEFAULT 0;

ALTER TABLE context.message
    ADD COLUMN retracted_change bigint;

GRANT UPDATE (retracted_change) ON context.message TO :"service_role";
