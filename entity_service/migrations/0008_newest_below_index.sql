-- no transaction
-- The edges with something below them, newest first, and those of which it is not known. While others are written.
-- `IS TRUE`, so that queries can say the same without asking the index of types.

DROP INDEX CONCURRENTLY IF EXISTS entity.edge_newest_below;

CREATE INDEX CONCURRENTLY IF NOT EXISTS edge_newest_below ON entity.edge
    (tenant_id, from_node_id, edge_type, newest_below)
    WHERE newest_below > '-infinity' AND (edge_type IN ('Contains', 'InResponseTo')) IS TRUE;

DROP INDEX CONCURRENTLY IF EXISTS entity.edge_unknown;

CREATE INDEX CONCURRENTLY IF NOT EXISTS edge_unknown ON entity.edge (tenant_id, from_node_id, id)
    WHERE newest_below IS NULL AND (edge_type IN ('Contains', 'InResponseTo')) IS TRUE;
