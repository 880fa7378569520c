-- What changed, for readers that keep something that is made of a graph: see `change_feed.py`. A tenant has a feed once
-- it has asked for one; without, its writes look for the feed once a statement, and write nothing more.

CREATE TABLE entity.change_feed (
    tenant_id uuid PRIMARY KEY,
    started_at timestamptz NOT NULL DEFAULT now(),
    -- Who began to write before the feed was there has a transaction below this: null until that is known.
    started_below xid8,
    -- The last change that is forgotten: a reader that is not as far has missed some.
    forgotten_transaction_id xid8 NOT NULL DEFAULT '0',
    forgotten_seq bigint NOT NULL DEFAULT 0
);

-- In the order of their transactions' ids, which is one in which nothing comes late below the oldest that still runs.
CREATE TABLE entity.change (
    tenant_id uuid NOT NULL,
    transaction_id xid8 NOT NULL DEFAULT pg_current_xact_id(),
    seq bigint GENERATED ALWAYS AS IDENTITY,
    changed_at timestamptz NOT NULL DEFAULT now(),
    id uuid NOT NULL, -- of a node, or of an edge
    from_node_id uuid, -- of an edge; null: it is a node
    to_node_id uuid,
    is_removed boolean NOT NULL,
    graph_name text NOT NULL,
    -- A node's; of an edge, its nodes'. Null: the node is gone already, and no key of an agent bundle sees the change.
    agent_bundle_id text,
    to_agent_bundle_id text,
    general_type_name text NOT NULL, -- of an edge: its type
    specific_type_name text NOT NULL,
    PRIMARY KEY (tenant_id, transaction_id, seq)
);

ALTER TABLE entity.change_feed ENABLE ROW LEVEL SECURITY;
ALTER TABLE entity.change ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON entity.change_feed
    USING (tenant_id = (SELECT nullif(current_setting('app.tenant', true), '')::uuid));
CREATE POLICY tenant ON entity.change
    USING (tenant_id = (SELECT nullif(current_setting('app.tenant', true), '')::uuid));

-- The feed is the tenant's: writes of every key look for it, and one that is bound starts none.
CREATE POLICY bounds ON entity.change_feed AS RESTRICTIVE
    USING (nullif((SELECT coalesce(current_setting('app.bounds', true), '') = '')
        OR entity.knows_bounds(current_setting('app.bounds')::jsonb), false) IS NOT NULL)
    WITH CHECK (nullif((SELECT coalesce(current_setting('app.bounds', true), '') = '') OR false, false) IS NOT NULL);
-- What may be written was asked of the node or the edge.
CREATE POLICY bounds ON entity.change AS RESTRICTIVE
    USING (nullif((SELECT coalesce(current_setting('app.bounds', true), '') = '')
        OR entity.in_bounds(graph_name, agent_bundle_id) AND entity.in_bounds(graph_name, to_agent_bundle_id), false)
        IS NOT NULL)
    WITH CHECK (nullif((SELECT coalesce(current_setting('app.bounds', true), '') = '')
        OR entity.graph_in_bounds(graph_name), false) IS NOT NULL);

GRANT SELECT, INSERT, UPDATE ON entity.change_feed TO :"service_role";
GRANT SELECT, INSERT, DELETE ON entity.change TO :"service_role";

-- Each asks for the feed by itself, when its transaction has an id: so whoever does not see a feed that was just made has
-- an id below `started_below`. A statement writes rows of one tenant: policies see to that.
CREATE FUNCTION entity.note_nodes() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM entity.change_feed f WHERE f.tenant_id = (SELECT c.tenant_id FROM changed c LIMIT 1)) THEN
        INSERT INTO entity.change (
            tenant_id, id, is_removed, graph_name, agent_bundle_id, to_agent_bundle_id, general_type_name,
            specific_type_name
        )
        SELECT
            c.tenant_id, c.id, TG_OP = 'DELETE', c.graph_name, c.agent_bundle_id, c.agent_bundle_id,
            c.general_type_name, c.specific_type_name
        FROM changed c;
    END IF;
    RETURN NULL;
END
$$;

CREATE FUNCTION entity.note_edges() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM entity.change_feed f WHERE f.tenant_id = (SELECT c.tenant_id FROM changed c LIMIT 1)) THEN
        INSERT INTO entity.change (
            tenant_id, id, from_node_id, to_node_id, is_removed, graph_name, agent_bundle_id, to_agent_bundle_id,
            general_type_name, specific_type_name
        )
        SELECT
            c.tenant_id, c.id, c.from_node_id, c.to_node_id, TG_OP = 'DELETE', c.graph_name, parent.agent_bundle_id,
            child.agent_bundle_id, c.edge_type, c.edge_type
        FROM changed c
        LEFT JOIN LATERAL (
            SELECT n.agent_bundle_id FROM entity.node n
            WHERE n.tenant_id = c.tenant_id AND n.id = c.from_node_id
            OFFSET 0
        ) parent ON true
        LEFT JOIN LATERAL (
            SELECT n.agent_bundle_id FROM entity.node n
            WHERE n.tenant_id = c.tenant_id AND n.id = c.to_node_id
            OFFSET 0
        ) child ON true;
    END IF;
    RETURN NULL;
END
$$;

-- One row: a statement that changes other columns of edges, as appends do to the edges above them, does not come here.
CREATE FUNCTION entity.note_edge() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM entity.change_feed f WHERE f.tenant_id = NEW.tenant_id) THEN
        INSERT INTO entity.change (
            tenant_id, id, from_node_id, to_node_id, is_removed, graph_name, agent_bundle_id, to_agent_bundle_id,
            general_type_name, specific_type_name
        )
        VALUES (
            NEW.tenant_id, NEW.id, NEW.from_node_id, NEW.to_node_id, false, NEW.graph_name,
            (SELECT n.agent_bundle_id FROM entity.node n WHERE n.tenant_id = NEW.tenant_id AND n.id = NEW.from_node_id),
            (SELECT n.agent_bundle_id FROM entity.node n WHERE n.tenant_id = NEW.tenant_id AND n.id = NEW.to_node_id),
            NEW.edge_type, NEW.edge_type
        );
    END IF;
    RETURN NULL;
END
$$;

-- A node's input and output are read with it.
CREATE FUNCTION entity.note_nodes_of_io() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM entity.change_feed f WHERE f.tenant_id = (SELECT c.tenant_id FROM changed c LIMIT 1)) THEN
        INSERT INTO entity.change (
            tenant_id, id, is_removed, graph_name, agent_bundle_id, to_agent_bundle_id, general_type_name,
            specific_type_name
        )
        SELECT
            n.tenant_id, n.id, false, n.graph_name, n.agent_bundle_id, n.agent_bundle_id, n.general_type_name,
            n.specific_type_name
        FROM changed c
        CROSS JOIN LATERAL (
            SELECT
                n.tenant_id, n.id, n.graph_name, n.agent_bundle_id, n.general_type_name, n.specific_type_name
            FROM entity.node n
            WHERE n.tenant_id = c.tenant_id AND n.id = c.node_id
            OFFSET 0
        ) n;
    END IF;
    RETURN NULL;
END
$$;

CREATE TRIGGER nodes_written_noted AFTER INSERT ON entity.node REFERENCING NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION entity.note_nodes();
CREATE TRIGGER nodes_changed_noted AFTER UPDATE ON entity.node REFERENCING NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION entity.note_nodes();
CREATE TRIGGER nodes_removed_noted AFTER DELETE ON entity.node REFERENCING OLD TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION entity.note_nodes();
CREATE TRIGGER edges_written_noted AFTER INSERT ON entity.edge REFERENCING NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION entity.note_edges();
CREATE TRIGGER edges_changed_noted AFTER UPDATE OF data ON entity.edge
    FOR EACH ROW EXECUTE FUNCTION entity.note_edge();
CREATE TRIGGER edges_removed_noted AFTER DELETE ON entity.edge REFERENCING OLD TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION entity.note_edges();
CREATE TRIGGER io_written_noted AFTER INSERT ON entity.node_io REFERENCING NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION entity.note_nodes_of_io();
CREATE TRIGGER io_changed_noted AFTER UPDATE ON entity.node_io REFERENCING NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION entity.note_nodes_of_io();
