-- Keys that callers make out of their own, and keys of one context. The services' role writes to no table of keys, and does not
-- read those of contexts: the functions below do, as the owner. They believe what the role says of the key that asks, and no
-- more: whether it lives, whose it is and what it may give on, they read themselves.

-- `delegate`: to name the user for whom a call is.
ALTER TABLE access.api_key
    ADD COLUMN parent_id uuid REFERENCES access.api_key (id), -- made it; null: an operator did
    DROP CONSTRAINT api_key_scopes_check,
    ADD CONSTRAINT api_key_scopes_check
        CHECK (scopes <@ ARRAY['read', 'write', 'admin', 'delegate'] AND cardinality(scopes) > 0);

-- They are short-lived, live no longer than the key that they were made of, and are no keys to whoever asks whether there is
-- one: development without keys goes on.
CREATE TABLE access.context_key (
    id uuid PRIMARY KEY,
    key_sha256 bytea NOT NULL UNIQUE,
    prefix text NOT NULL,
    tenant_id uuid NOT NULL,
    -- Null: no key in Postgres, but a token, the key of the environment, or nobody's in development.
    parent_id uuid REFERENCES access.api_key (id),
    context_id uuid NOT NULL,
    subject text NOT NULL,
    scopes text[] NOT NULL CHECK (scopes <@ ARRAY['read', 'write'] AND cardinality(scopes) > 0),
    user_id text NOT NULL,
    agent_id text NOT NULL,
    -- As of the key that it was made of; what that was bound to holds for this one, too.
    app_ids text[] NOT NULL,
    agent_bundle_id text NOT NULL,
    graph_names text[] NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz NOT NULL,
    revoked_at timestamptz,
    CHECK (expires_at <= created_at + CASE WHEN parent_id IS NULL THEN interval '1 hour' ELSE interval '1 day' END)
);
CREATE INDEX context_key_context ON access.context_key (tenant_id, context_id);
CREATE INDEX context_key_expiry ON access.context_key (expires_at);

-- Whose a key is, if it is valid; of no key: none. `bounds` is all that it is bound to: what a service does not know in it makes
-- the key worthless there.
CREATE FUNCTION access.find_key(sha256 bytea) RETURNS TABLE (
    id uuid, is_of_context boolean, tenant_id uuid, subject text, scopes text[], user_id text, agent_id text, bounds jsonb,
    last_used_at timestamptz
)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
    SELECT k.id, false, k.tenant_id, k.subject, k.scopes, k.user_id, k.agent_id,
        jsonb_build_object('app_ids', k.app_ids, 'agent_bundle_id', k.agent_bundle_id, 'graph_names', k.graph_names),
        k.last_used_at
    FROM access.api_key k
    WHERE k.key_sha256 = sha256 AND k.revoked_at IS NULL AND coalesce(k.expires_at > now(), true)
    UNION ALL
    SELECT c.id, true, c.tenant_id, c.subject, c.scopes, c.user_id, c.agent_id,
        jsonb_build_object('app_ids', c.app_ids, 'agent_bundle_id', c.agent_bundle_id, 'graph_names', c.graph_names,
            'context_id', c.context_id),
        NULL
    FROM access.context_key c
    WHERE c.key_sha256 = sha256 AND c.revoked_at IS NULL AND c.expires_at > now() AND (c.parent_id IS NULL OR EXISTS (
        SELECT FROM access.api_key k
        WHERE k.id = c.parent_id AND k.revoked_at IS NULL AND coalesce(k.expires_at > now(), true)
    ));
END;

-- What a key can do, of which it may give on a part.
CREATE TYPE access.reach AS (
    tenant_id uuid, scopes text[], user_id text, app_ids text[], agent_bundle_id text, graph_names text[],
    expires_at timestamptz
);

-- The key that asks, if it is one of the tenant of the transaction and lives; else it is refused.
CREATE FUNCTION access.asking_key(asking_id uuid) RETURNS access.api_key
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    asking access.api_key;
BEGIN
    SELECT k.* INTO asking FROM access.api_key k
    WHERE k.id = asking_id AND k.tenant_id = nullif(current_setting('app.tenant', true), '')::uuid
        AND k.revoked_at IS NULL AND coalesce(k.expires_at > now(), true);
    IF NOT FOUND THEN
        RAISE insufficient_privilege USING MESSAGE = 'key refused';
    END IF;
    RETURN asking;
END
$$;

CREATE FUNCTION access.reach_of(of_key access.api_key) RETURNS access.reach
LANGUAGE sql IMMUTABLE
RETURN ROW(of_key.tenant_id, of_key.scopes, of_key.user_id, of_key.app_ids, of_key.agent_bundle_id, of_key.graph_names,
    of_key.expires_at)::access.reach;

-- Whether one reach is a part of another one, or all of it; what is null in either is in none.
CREATE FUNCTION access.is_within(part access.reach, whole access.reach) RETURNS boolean
LANGUAGE sql IMMUTABLE
RETURN coalesce(
    part.tenant_id = whole.tenant_id
    AND part.scopes <@ whole.scopes AND cardinality(part.scopes) > 0
    AND (part.user_id = whole.user_id OR (part.user_id <> '' AND whole.user_id = '' AND 'delegate' = ANY (whole.scopes)))
    AND (whole.app_ids = '{}' OR (part.app_ids <> '{}' AND part.app_ids <@ whole.app_ids))
    AND whole.agent_bundle_id IN ('', part.agent_bundle_id)
    AND (whole.graph_names = '{}' OR (part.graph_names <> '{}' AND part.graph_names <@ whole.graph_names))
    AND coalesce(part.expires_at, 'infinity') <= coalesce(whole.expires_at, 'infinity'),
    false);

-- Make a key out of one with the scope `admin`, as a part of it. It lives on if that one is revoked.
CREATE FUNCTION access.make_key(
    asking_id uuid, new_id uuid, sha256 bytea, new_prefix text, new_subject text, new_scopes text[], new_user_id text,
    new_agent_id text, new_app_ids text[], new_agent_bundle_id text, new_graph_names text[], new_expires_at timestamptz
) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    asking CONSTANT access.api_key := access.asking_key(asking_id);
    wanted CONSTANT access.reach := ROW(asking.tenant_id, new_scopes, new_user_id, new_app_ids, new_agent_bundle_id,
        new_graph_names, new_expires_at);
BEGIN
    IF NOT ('admin' = ANY (asking.scopes) AND access.is_within(wanted, access.reach_of(asking))) THEN
        RAISE insufficient_privilege USING MESSAGE = 'key refused';
    END IF;
    INSERT INTO access.api_key (
        id, key_sha256, prefix, tenant_id, parent_id, subject, scopes, user_id, agent_id, app_ids, agent_bundle_id,
        graph_names, expires_at
    )
    VALUES (new_id, sha256, new_prefix, asking.tenant_id, asking.id, new_subject, new_scopes, new_user_id, new_agent_id,
        new_app_ids, new_agent_bundle_id, new_graph_names, new_expires_at);
END
$$;

-- Make a key of a context, for the user of the transaction, and say when it ends: after the lifetime, or earlier with the key
-- that asks. Out of no key in Postgres (`asking_id` is null) it has the bounds of the transaction, and the subject, scopes and
-- agent that are said; it ends after an hour at most, or earlier with the token that asks (`said_end`; null: it is none).
CREATE FUNCTION access.make_context_key(
    asking_id uuid, new_id uuid, sha256 bytea, new_prefix text, of_context_id uuid, said_subject text, new_scopes text[],
    said_agent_id text, lifetime interval, said_end timestamptz
) RETURNS timestamptz
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    user_id CONSTANT text := CASE
        WHEN starts_with(current_setting('app.subject', true), '=') THEN substr(current_setting('app.subject', true), 2)
    END;
    bounds CONSTANT jsonb := coalesce(nullif(current_setting('app.bounds', true), ''), '{}')::jsonb;
    asking access.api_key;
    whole access.reach;
    wanted access.reach;
BEGIN
    IF asking_id IS NOT NULL THEN
        asking := access.asking_key(asking_id);
        whole := access.reach_of(asking);
    ELSIF bounds - '{app_ids,agent_bundle_id,graph_names}'::text[] = '{}' THEN
        asking.subject := said_subject;
        asking.agent_id := said_agent_id;
        whole := ROW(
            nullif(current_setting('app.tenant', true), '')::uuid, new_scopes, user_id,
            ARRAY(SELECT jsonb_array_elements_text(coalesce(bounds -> 'app_ids', '[]'))),
            coalesce(bounds ->> 'agent_bundle_id', ''),
            ARRAY(SELECT jsonb_array_elements_text(coalesce(bounds -> 'graph_names', '[]'))),
            least(now() + interval '1 hour', said_end));
    END IF;
    wanted := whole;
    wanted.scopes := new_scopes;
    wanted.user_id := user_id;
    wanted.expires_at := least(now() + lifetime, whole.expires_at);
    IF NOT access.is_within(wanted, whole) OR (lifetime <= interval '1 day' AND wanted.expires_at > now()) IS NOT TRUE THEN
        RAISE insufficient_privilege USING MESSAGE = 'key refused';
    END IF;
    -- Those that are over go as others come.
    DELETE FROM access.context_key c WHERE c.id IN (
        SELECT e.id FROM access.context_key e WHERE e.expires_at < now() - interval '1 hour'
        ORDER BY e.expires_at LIMIT 10 FOR UPDATE SKIP LOCKED
    );
    INSERT INTO access.context_key (
        id, key_sha256, prefix, tenant_id, parent_id, context_id, subject, scopes, user_id, agent_id, app_ids,
        agent_bundle_id, graph_names, expires_at
    )
    VALUES (new_id, sha256, new_prefix, wanted.tenant_id, asking.id, of_context_id, asking.subject, wanted.scopes,
        wanted.user_id, asking.agent_id, wanted.app_ids, wanted.agent_bundle_id, wanted.graph_names, wanted.expires_at);
    RETURN wanted.expires_at;
END
$$;

-- Take away the keys of a context that is gone, in the tenant of the transaction, and say how many there were.
CREATE FUNCTION access.end_context_keys(of_context_id uuid) RETURNS bigint
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
    WITH gone AS (
        DELETE FROM access.context_key c
        WHERE c.tenant_id = nullif(current_setting('app.tenant', true), '')::uuid AND c.context_id = of_context_id
        RETURNING c.id
    )
    SELECT count(*) FROM gone;
END;

-- The same of a user who is erased: those that were made for him, or by him.
CREATE FUNCTION access.end_context_keys_of_user(of_user_id text) RETURNS bigint
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
    WITH gone AS (
        DELETE FROM access.context_key c
        WHERE c.tenant_id = nullif(current_setting('app.tenant', true), '')::uuid
            AND of_user_id <> '' AND of_user_id IN (c.user_id, c.subject)
        RETURNING c.id
    )
    SELECT count(*) FROM gone;
END;

-- Revoke what begins so and is a part of a key with the scope `admin`, however long it lives; say whether there is such a key.
CREATE FUNCTION access.revoke_key(asking_id uuid, of_prefix text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    asking access.api_key := access.asking_key(asking_id);
    whole access.reach;
    is_found boolean;
BEGIN
    IF NOT 'admin' = ANY (asking.scopes) THEN
        RAISE insufficient_privilege USING MESSAGE = 'key refused';
    END IF;
    asking.expires_at := NULL;
    whole := access.reach_of(asking);
    UPDATE access.api_key k SET revoked_at = coalesce(k.revoked_at, now())
    WHERE k.tenant_id = asking.tenant_id AND k.prefix = of_prefix AND access.is_within(access.reach_of(k), whole);
    is_found := FOUND;
    UPDATE access.context_key c SET revoked_at = coalesce(c.revoked_at, now())
    WHERE c.tenant_id = asking.tenant_id AND c.prefix = of_prefix AND access.is_within(
        ROW(c.tenant_id, c.scopes, c.user_id, c.app_ids, c.agent_bundle_id, c.graph_names, c.expires_at)::access.reach,
        whole);
    RETURN is_found OR FOUND;
END
$$;

REVOKE ALL ON FUNCTION access.find_key, access.asking_key, access.reach_of, access.is_within, access.make_key,
    access.make_context_key, access.end_context_keys, access.end_context_keys_of_user, access.revoke_key FROM PUBLIC;
GRANT EXECUTE ON FUNCTION access.find_key, access.make_key, access.make_context_key, access.end_context_keys,
    access.end_context_keys_of_user, access.revoke_key TO :"service_role";
