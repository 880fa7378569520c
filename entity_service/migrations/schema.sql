-- What the migrations add up to; written by `make schema`, never by hand.

CREATE SCHEMA entity;

ALTER SCHEMA entity OWNER TO contextgraph_owner;

CREATE FUNCTION entity.document_bytes(document jsonb) RETURNS integer
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN CASE WHEN (pg_column_compression(document) IS NULL) THEN pg_column_size(document) ELSE pg_column_size((document #> '{}'::text[])) END;

ALTER FUNCTION entity.document_bytes(document jsonb) OWNER TO contextgraph_owner;

CREATE FUNCTION entity.in_bounds(graph_name text, agent_bundle_id text) RETURNS boolean
    LANGUAGE plpgsql STABLE PARALLEL SAFE
    AS $$
DECLARE
    bounds jsonb := current_setting('app.bounds')::jsonb;
BEGIN
    RETURN coalesce((bounds -> 'graph_names') ? graph_name, true)
        AND coalesce(bounds ->> 'agent_bundle_id' = agent_bundle_id, true);
END
$$;

ALTER FUNCTION entity.in_bounds(graph_name text, agent_bundle_id text) OWNER TO contextgraph_owner;

CREATE FUNCTION entity.in_bounds_of_nodes(graph_name text, VARIADIC node_ids uuid[]) RETURNS boolean
    LANGUAGE plpgsql STABLE PARALLEL SAFE
    AS $$
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

ALTER FUNCTION entity.in_bounds_of_nodes(graph_name text, VARIADIC node_ids uuid[]) OWNER TO contextgraph_owner;

CREATE FUNCTION entity.refuse_edge_out_of_bounds() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF NOT (entity.sees_node(NEW.from_node_id) AND entity.sees_node(NEW.to_node_id)) THEN
        RAISE insufficient_privilege
            USING MESSAGE = 'new row violates row-level security policy "bounds" for table "edge"';
    END IF;
    RETURN NEW;
END
$$;

ALTER FUNCTION entity.refuse_edge_out_of_bounds() OWNER TO contextgraph_owner;

CREATE FUNCTION entity.sees_node(node_id uuid) RETURNS boolean
    LANGUAGE plpgsql STABLE PARALLEL SAFE
    AS $$
BEGIN
    RETURN EXISTS (
        SELECT FROM entity.node n
        WHERE n.tenant_id = nullif(current_setting('app.tenant', true), '')::uuid AND n.id = node_id
    );
END
$$;

ALTER FUNCTION entity.sees_node(node_id uuid) OWNER TO contextgraph_owner;

CREATE TABLE entity.edge (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    from_node_id uuid NOT NULL,
    to_node_id uuid NOT NULL,
    created_at timestamp with time zone NOT NULL,
    child_created_at timestamp with time zone NOT NULL,
    child_seq bigint NOT NULL,
    version integer DEFAULT 1 NOT NULL,
    context_id uuid,
    graph_name text NOT NULL,
    edge_type text NOT NULL,
    data jsonb NOT NULL
);

ALTER TABLE entity.edge OWNER TO contextgraph_owner;

CREATE VIEW entity.edge_to_count AS
 SELECT tenant_id,
    graph_name,
    edge_type
   FROM entity.edge
  WHERE ((tenant_id = ( SELECT (NULLIF(current_setting('app.tenant'::text, true), ''::text))::uuid AS "nullif")) AND (NULLIF(( SELECT (COALESCE(current_setting('app.bounds'::text, true), ''::text) = ''::text)), false) IS NOT NULL));

ALTER VIEW entity.edge_to_count OWNER TO contextgraph_owner;

CREATE TABLE entity.embedding (
    tenant_id uuid NOT NULL,
    owner_kind text NOT NULL,
    owner_id uuid NOT NULL,
    name text NOT NULL,
    context_id uuid,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    dimension integer NOT NULL,
    model text DEFAULT ''::text NOT NULL,
    text_sha256 bytea,
    metadata jsonb DEFAULT '{}'::jsonb NOT NULL,
    vector public.halfvec NOT NULL,
    graph_name text NOT NULL,
    CONSTRAINT embedding_owner_kind_check CHECK ((owner_kind = 'node'::text))
);
ALTER TABLE ONLY entity.embedding ALTER COLUMN vector SET STORAGE MAIN;

ALTER TABLE entity.embedding OWNER TO contextgraph_owner;

CREATE TABLE entity.migration (
    version integer NOT NULL,
    name text NOT NULL,
    sha256 text NOT NULL,
    applied_at timestamp with time zone DEFAULT now() NOT NULL
);

ALTER TABLE entity.migration OWNER TO contextgraph_owner;

CREATE TABLE entity.node (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    created_at timestamp with time zone NOT NULL,
    modified_at timestamp with time zone NOT NULL,
    seq bigint NOT NULL,
    version integer DEFAULT 1 NOT NULL,
    is_archived boolean DEFAULT false NOT NULL,
    context_id uuid,
    external_id text,
    graph_name text NOT NULL,
    general_type_name text NOT NULL,
    specific_type_name text NOT NULL,
    agent_bundle_id text DEFAULT ''::text NOT NULL,
    name text DEFAULT ''::text NOT NULL,
    status text NOT NULL,
    created_by text NOT NULL,
    owner_user_id text DEFAULT ''::text NOT NULL,
    agent_id text DEFAULT ''::text NOT NULL,
    data jsonb NOT NULL
);

ALTER TABLE entity.node OWNER TO contextgraph_owner;

CREATE TABLE entity.node_io (
    tenant_id uuid NOT NULL,
    node_id uuid NOT NULL,
    modified_at timestamp with time zone NOT NULL,
    context_id uuid,
    input jsonb,
    output jsonb
);

ALTER TABLE entity.node_io OWNER TO contextgraph_owner;

CREATE VIEW entity.node_of_tenant AS
 SELECT tenant_id,
    id,
    created_at,
    modified_at,
    seq,
    version,
    is_archived,
    context_id,
    external_id,
    graph_name,
    general_type_name,
    specific_type_name,
    agent_bundle_id,
    name,
    status,
    created_by,
    owner_user_id,
    agent_id,
    data
   FROM entity.node
  WHERE ((tenant_id = ( SELECT (NULLIF(current_setting('app.tenant'::text, true), ''::text))::uuid AS "nullif")) AND (NULLIF((( SELECT (COALESCE(current_setting('app.bounds'::text, true), ''::text) = ''::text)) OR entity.in_bounds(graph_name, agent_bundle_id)), false) IS NOT NULL));

ALTER VIEW entity.node_of_tenant OWNER TO contextgraph_owner;

ALTER TABLE entity.node ALTER COLUMN seq ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME entity.node_seq_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE VIEW entity.node_to_count AS
 SELECT tenant_id,
    graph_name
   FROM entity.node
  WHERE ((tenant_id = ( SELECT (NULLIF(current_setting('app.tenant'::text, true), ''::text))::uuid AS "nullif")) AND (NULLIF(( SELECT (COALESCE(current_setting('app.bounds'::text, true), ''::text) = ''::text)), false) IS NOT NULL));

ALTER VIEW entity.node_to_count OWNER TO contextgraph_owner;

CREATE TABLE entity.progress (
    tenant_id uuid NOT NULL,
    node_id uuid NOT NULL,
    seq bigint NOT NULL,
    created_at timestamp with time zone NOT NULL,
    context_id uuid,
    type text NOT NULL,
    status text DEFAULT ''::text NOT NULL,
    sub_type text DEFAULT ''::text NOT NULL,
    message text DEFAULT ''::text NOT NULL,
    value jsonb,
    error jsonb,
    created_by text NOT NULL,
    CONSTRAINT progress_type_check CHECK ((type = ANY (ARRAY['STATUS'::text, 'MESSAGE'::text, 'ERROR'::text, 'BOT_PROGRESS'::text, 'VALUE'::text, 'WAITING'::text])))
);

ALTER TABLE entity.progress OWNER TO contextgraph_owner;

ALTER TABLE entity.progress ALTER COLUMN seq ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME entity.progress_seq_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE entity.request (
    tenant_id uuid NOT NULL,
    request_id uuid NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    rpc text NOT NULL,
    fingerprint bytea NOT NULL,
    answer jsonb NOT NULL,
    bounds text DEFAULT COALESCE(current_setting('app.bounds'::text, true), ''::text) NOT NULL
);

ALTER TABLE entity.request OWNER TO contextgraph_owner;

ALTER TABLE ONLY entity.edge
    ADD CONSTRAINT edge_pkey PRIMARY KEY (tenant_id, id);

ALTER TABLE ONLY entity.embedding
    ADD CONSTRAINT embedding_pkey PRIMARY KEY (tenant_id, owner_kind, owner_id, name);

ALTER TABLE ONLY entity.migration
    ADD CONSTRAINT migration_pkey PRIMARY KEY (version);

ALTER TABLE ONLY entity.node_io
    ADD CONSTRAINT node_io_pkey PRIMARY KEY (tenant_id, node_id);

ALTER TABLE ONLY entity.node
    ADD CONSTRAINT node_pkey PRIMARY KEY (tenant_id, id);

ALTER TABLE ONLY entity.progress
    ADD CONSTRAINT progress_pkey PRIMARY KEY (tenant_id, node_id, seq);

ALTER TABLE ONLY entity.request
    ADD CONSTRAINT request_pkey PRIMARY KEY (tenant_id, request_id);

CREATE INDEX edge_children ON entity.edge USING btree (tenant_id, from_node_id, edge_type, child_created_at, child_seq) INCLUDE (to_node_id);

CREATE UNIQUE INDEX edge_ends ON entity.edge USING btree (tenant_id, to_node_id, edge_type, from_node_id);

CREATE INDEX edge_type ON entity.edge USING btree (tenant_id, graph_name, edge_type);

CREATE INDEX embedding_slice ON entity.embedding USING btree (tenant_id, graph_name, name);

CREATE INDEX node_created ON entity.node USING btree (tenant_id, graph_name, created_at, seq);

CREATE INDEX node_data ON entity.node USING gin (data jsonb_path_ops);

CREATE UNIQUE INDEX node_external_id ON entity.node USING btree (tenant_id, graph_name, external_id) WHERE (external_id IS NOT NULL);

CREATE INDEX node_general_type ON entity.node USING btree (tenant_id, graph_name, general_type_name);

CREATE INDEX node_name ON entity.node USING btree (tenant_id, graph_name, name, created_at DESC, seq DESC) WHERE ((name <> ''::text) AND (NOT is_archived));

CREATE INDEX node_specific_type ON entity.node USING btree (tenant_id, graph_name, specific_type_name);

CREATE INDEX request_age ON entity.request USING btree (tenant_id, created_at);

CREATE TRIGGER bounds BEFORE INSERT ON entity.edge FOR EACH ROW WHEN (((COALESCE(current_setting('app.bounds'::text, true), ''::text) <> ''::text) AND (new.child_seq IS NOT NULL))) EXECUTE FUNCTION entity.refuse_edge_out_of_bounds();

ALTER TABLE ONLY entity.edge
    ADD CONSTRAINT edge_tenant_id_from_node_id_fkey FOREIGN KEY (tenant_id, from_node_id) REFERENCES entity.node(tenant_id, id) ON DELETE CASCADE;

ALTER TABLE ONLY entity.edge
    ADD CONSTRAINT edge_tenant_id_to_node_id_fkey FOREIGN KEY (tenant_id, to_node_id) REFERENCES entity.node(tenant_id, id) ON DELETE CASCADE;

ALTER TABLE ONLY entity.node_io
    ADD CONSTRAINT node_io_tenant_id_node_id_fkey FOREIGN KEY (tenant_id, node_id) REFERENCES entity.node(tenant_id, id) ON DELETE CASCADE;

ALTER TABLE ONLY entity.progress
    ADD CONSTRAINT progress_tenant_id_node_id_fkey FOREIGN KEY (tenant_id, node_id) REFERENCES entity.node(tenant_id, id) ON DELETE CASCADE;

CREATE POLICY bounds ON entity.edge AS RESTRICTIVE USING ((NULLIF((( SELECT (COALESCE(current_setting('app.bounds'::text, true), ''::text) = ''::text)) OR entity.in_bounds_of_nodes(graph_name, VARIADIC ARRAY[from_node_id, to_node_id])), false) IS NOT NULL)) WITH CHECK ((NULLIF((( SELECT (COALESCE(current_setting('app.bounds'::text, true), ''::text) = ''::text)) OR entity.in_bounds(graph_name, NULL::text)), false) IS NOT NULL));

CREATE POLICY bounds ON entity.embedding AS RESTRICTIVE USING ((NULLIF((( SELECT (COALESCE(current_setting('app.bounds'::text, true), ''::text) = ''::text)) OR entity.in_bounds_of_nodes(graph_name, VARIADIC ARRAY[owner_id])), false) IS NOT NULL));

CREATE POLICY bounds ON entity.node AS RESTRICTIVE USING ((NULLIF((( SELECT (COALESCE(current_setting('app.bounds'::text, true), ''::text) = ''::text)) OR entity.in_bounds(graph_name, agent_bundle_id)), false) IS NOT NULL));

CREATE POLICY bounds ON entity.node_io AS RESTRICTIVE USING ((NULLIF((( SELECT (COALESCE(current_setting('app.bounds'::text, true), ''::text) = ''::text)) OR entity.sees_node(node_id)), false) IS NOT NULL));

CREATE POLICY bounds ON entity.progress AS RESTRICTIVE USING ((NULLIF((( SELECT (COALESCE(current_setting('app.bounds'::text, true), ''::text) = ''::text)) OR entity.sees_node(node_id)), false) IS NOT NULL));

CREATE POLICY bounds ON entity.request AS RESTRICTIVE USING ((NULLIF((( SELECT (COALESCE(current_setting('app.bounds'::text, true), ''::text) = ''::text)) OR (bounds = ( SELECT current_setting('app.bounds'::text, true) AS current_setting))), false) IS NOT NULL));

ALTER TABLE entity.edge ENABLE ROW LEVEL SECURITY;

ALTER TABLE entity.embedding ENABLE ROW LEVEL SECURITY;

ALTER TABLE entity.node ENABLE ROW LEVEL SECURITY;

ALTER TABLE entity.node_io ENABLE ROW LEVEL SECURITY;

ALTER TABLE entity.progress ENABLE ROW LEVEL SECURITY;

ALTER TABLE entity.request ENABLE ROW LEVEL SECURITY;

CREATE POLICY tenant ON entity.edge USING ((tenant_id = ( SELECT (NULLIF(current_setting('app.tenant'::text, true), ''::text))::uuid AS "nullif")));

CREATE POLICY tenant ON entity.embedding USING ((tenant_id = ( SELECT (NULLIF(current_setting('app.tenant'::text, true), ''::text))::uuid AS "nullif")));

CREATE POLICY tenant ON entity.node USING ((tenant_id = ( SELECT (NULLIF(current_setting('app.tenant'::text, true), ''::text))::uuid AS "nullif")));

CREATE POLICY tenant ON entity.node_io USING ((tenant_id = ( SELECT (NULLIF(current_setting('app.tenant'::text, true), ''::text))::uuid AS "nullif")));

CREATE POLICY tenant ON entity.progress USING ((tenant_id = ( SELECT (NULLIF(current_setting('app.tenant'::text, true), ''::text))::uuid AS "nullif")));

CREATE POLICY tenant ON entity.request USING ((tenant_id = ( SELECT (NULLIF(current_setting('app.tenant'::text, true), ''::text))::uuid AS "nullif")));

GRANT USAGE ON SCHEMA entity TO contextgraph_service;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE entity.edge TO contextgraph_service;

GRANT SELECT ON TABLE entity.edge_to_count TO contextgraph_service;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE entity.embedding TO contextgraph_service;

GRANT SELECT ON TABLE entity.migration TO contextgraph_service;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE entity.node TO contextgraph_service;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE entity.node_io TO contextgraph_service;

GRANT SELECT ON TABLE entity.node_of_tenant TO contextgraph_service;

GRANT SELECT ON TABLE entity.node_to_count TO contextgraph_service;

GRANT SELECT,INSERT,DELETE ON TABLE entity.progress TO contextgraph_service;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE entity.request TO contextgraph_service;
