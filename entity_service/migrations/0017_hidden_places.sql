-- A place in a tenant's feed holds the id of a transaction, which counts what all tenants write. So it is hidden with a key of the feed.
ALTER TABLE entity.change_feed ADD COLUMN place_key bytea NOT NULL
    DEFAULT decode(replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', ''), 'hex');
