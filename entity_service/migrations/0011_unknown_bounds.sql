-- Bounds fail closed: one that is not known here hides every row, as one does that is known and cannot be read. Before this,
-- what these functions had never heard of bound nothing. So a key of a context, which is bound to nothing of a graph, sees
-- nothing of one.

CREATE FUNCTION entity.knows_bounds(bounds jsonb) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN bounds - '{graph_names,agent_bundle_id,app_ids}'::text[] = '{}';

-- Of what has no agent bundle of its own.
CREATE FUNCTION entity.graph_in_bounds(graph_name text) RETURNS boolean
LANGUAGE plpgsql STABLE PARALLEL SAFE AS $$
DECLARE
    bounds jsonb := current_setting('app.bounds')::jsonb;
BEGIN
    RETURN entity.knows_bounds(bounds) AND coalesce((bounds -> 'graph_names') ? graph_name, NOT bounds ? 'graph_names');
END
$$;

CREATE OR REPLACE FUNCTION entity.in_bounds(graph_name text, agent_bundle_id text) RETURNS boolean
LANGUAGE plpgsql STABLE PARALLEL SAFE AS $$
DECLARE
    bounds jsonb := current_setting('app.bounds')::jsonb;
BEGIN
    RETURN entity.knows_bounds(bounds)
        AND coalesce((bounds -> 'graph_names') ? graph_name, NOT bounds ? 'graph_names')
        AND coalesce(bounds ->> 'agent_bundle_id' = agent_bundle_id, NOT bounds ? 'agent_bundle_id');
END
$$;

CREATE OR REPLACE FUNCTION entity.in_bounds_of_nodes(graph_name text, VARIADIC node_ids uuid[]) RETURNS boolean
LANGUAGE plpgsql STABLE PARALLEL SAFE AS $$
DECLARE
    bounds jsonb := current_setting('app.bounds')::jsonb;
    node_id uuid;
BEGIN
    IF (entity.knows_bounds(bounds) AND coalesce((bounds -> 'graph_names') ? graph_name, NOT bounds ? 'graph_names'))
        IS NOT TRUE
    THEN
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

ALTER POLICY bounds ON entity.edge
    WITH CHECK (nullif((SELECT coalesce(current_setting('app.bounds', true), '') = '')
        OR entity.graph_in_bounds(graph_name), false) IS NOT NULL);
