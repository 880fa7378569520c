-- What a key is bound to: graphs, an agent bundle. The service sets `app.bounds` beside `app.tenant`, for the transaction: JSON
-- with what the key is bound to and nothing else. Where it is not set, or reads '' because it was and is gone, nothing is
-- bound: it is asked once a statement, and the functions are not called.

CREATE FUNCTION entity.in_bounds(graph_name text, agent_bundle_id text) RETURNS boolean
LANGUAGE plpgsql STABLE PARALLEL SAFE AS $$
DECLARE
    bounds jsonb := current_setting('app.bounds')::jsonb;
BEGIN
    RETURN coalesce((bounds -> 'graph_names') ? graph_name, true)
        AND coalesce(bounds ->> 'agent_bundle_id' = agent_bundle_id, true);
END
$$;

-- Below the policies of whoever asks.
CREATE FUNCTION entity.sees_node(node_id uuid) RETURNS boolean
LANGUAGE plpgsql STABLE PARALLEL SAFE AS $$
BEGIN
    RETURN EXISTS (
        SELECT FROM entity.node n
        WHERE n.tenant_id = nullif(current_setting('app.tenant', true), '')::uuid AND n.id = node_id
    );
END
$$;

-- What stands in a graph and has no agent bundle of its own: it has that of its nodes, all of which are in the graph.
CREATE FUNCTION entity.in_bounds_of_nodes(graph_name text, VARIADIC node_ids uuid[]) RETURNS boolean
LANGUAGE plpgsql STABLE PARALLEL SAFE AS $$
DECLARE
    bounds jsonb := current_setting('app.bounds')::jsonb;
    node_id uuid;
BEGIN
    IF NOT coalesce((bounds -> 'graph_names') ? graph_name, true) THEN
        RETURN false;
    END IF;
    IF bounds ? 'agent_bundle_id' THEN
        FOREACH node_id IN ARRAY node_ids LOOP
            IF NOT entity.sees_node(node_id) THEN
                RETURN false;
            END IF;
        END LOOP;
    END IF;
    RETURN true;
END
$$;

-- Restrictive: beside the tenant, not instead of it. `nullif … IS NOT NULL` is `is true`, in words of which the planner
-- believes that nearly all rows pass: nobody's plan changes because somebody's keys are bound.
CREATE POLICY bounds ON entity.node AS RESTRICTIVE
    USING (nullif((SELECT coalesce(current_setting('app.bounds', true), '') = '')
        OR entity.in_bounds(graph_name, agent_bundle_id), false) IS NOT NULL);
-- A new edge is not asked for its nodes here: they may be new in the same statement. The trigger below asks.
CREATE POLICY bounds ON entity.edge AS RESTRICTIVE
    USING (nullif((SELECT coalesce(current_setting('app.bounds', true), '') = '')
        OR entity.in_bounds_of_nodes(graph_name, from_node_id, to_node_id), false) IS NOT NULL)
    WITH CHECK (nullif((SELECT coalesce(current_setting('app.bounds', true), '') = '')
        OR entity.in_bounds(graph_name, NULL), false) IS NOT NULL);
CREATE POLICY bounds ON entity.embedding AS RESTRICTIVE
    USING (nullif((SELECT coalesce(current_setting('app.bounds', true), '') = '')
        OR entity.in_bounds_of_nodes(graph_name, owner_id), false) IS NOT NULL);
CREATE POLICY bounds ON entity.node_io AS RESTRICTIVE
    USING (nullif((SELECT coalesce(current_setting('app.bounds', true), '') = '')
        OR entity.sees_node(node_id), false) IS NOT NULL);
CREATE POLICY bounds ON entity.progress AS RESTRICTIVE
    USING (nullif((SELECT coalesce(current_setting('app.bounds', true), '') = '')
        OR entity.sees_node(node_id), false) IS NOT NULL);

-- Foreign keys look below all policies: a node that a key does not see must not get an edge by it. Nodes of the same
-- statement are there by now. An edge without `child_seq` has an end that is missing, and is refused for that.
CREATE FUNCTION entity.refuse_edge_out_of_bounds() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT (entity.sees_node(NEW.from_node_id) AND entity.sees_node(NEW.to_node_id)) THEN
        RAISE insufficient_privilege
            USING MESSAGE = 'new row violates row-level security policy "bounds" for table "edge"';
    END IF;
    RETURN NEW;
END
$$;
CREATE TRIGGER bounds BEFORE INSERT ON entity.edge FOR EACH ROW
    WHEN (coalesce(current_setting('app.bounds', true), '') <> '' AND NEW.child_seq IS NOT NULL)
    EXECUTE FUNCTION entity.refuse_edge_out_of_bounds();

-- Whose answer it is: a key's with other bounds gets none.
ALTER TABLE entity.request ADD COLUMN bounds text NOT NULL DEFAULT coalesce(current_setting('app.bounds', true), '');
CREATE POLICY bounds ON entity.request AS RESTRICTIVE
    USING (nullif((SELECT coalesce(current_setting('app.bounds', true), '') = '')
        OR bounds = (SELECT current_setting('app.bounds', true)), false) IS NOT NULL);

CREATE OR REPLACE VIEW entity.node_of_tenant AS
SELECT
    tenant_id, id, created_at, modified_at, seq, version, is_archived, context_id, external_id, graph_name,
    general_type_name, specific_type_name, agent_bundle_id, name, status, created_by, owner_user_id, agent_id, data
FROM entity.node
WHERE tenant_id = (SELECT nullif(current_setting('app.tenant', true), '')::uuid)
    AND nullif((SELECT coalesce(current_setting('app.bounds', true), '') = '')
        OR entity.in_bounds(graph_name, agent_bundle_id), false) IS NOT NULL;

-- What is counted in an index alone, by callers who are not bound; the policies read columns that the indexes do not have.
CREATE VIEW entity.node_to_count AS
SELECT tenant_id, graph_name
FROM entity.node
WHERE tenant_id = (SELECT nullif(current_setting('app.tenant', true), '')::uuid)
    AND nullif((SELECT coalesce(current_setting('app.bounds', true), '') = ''), false) IS NOT NULL;
CREATE VIEW entity.edge_to_count AS
SELECT tenant_id, graph_name, edge_type
FROM entity.edge
WHERE tenant_id = (SELECT nullif(current_setting('app.tenant', true), '')::uuid)
    AND nullif((SELECT coalesce(current_setting('app.bounds', true), '') = ''), false) IS NOT NULL;

GRANT SELECT ON entity.node_to_count, entity.edge_to_count TO :"service_role";
