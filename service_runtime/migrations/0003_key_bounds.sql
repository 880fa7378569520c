-- What a key is bound to; empty: to nothing.
ALTER TABLE access.api_key
    ADD COLUMN app_ids text[] NOT NULL DEFAULT '{}',
    ADD COLUMN agent_bundle_id text NOT NULL DEFAULT '',
    ADD COLUMN graph_names text[] NOT NULL DEFAULT '{}';
