-- The scope `compile`: to compile pages of the graph. No other one includes it.
ALTER TABLE access.api_key
    DROP CONSTRAINT api_key_scopes_check,
    ADD CONSTRAINT api_key_scopes_check
        CHECK (scopes <@ ARRAY['read', 'write', 'admin', 'delegate', 'context:read', 'compile'] AND cardinality(scopes) > 0);
