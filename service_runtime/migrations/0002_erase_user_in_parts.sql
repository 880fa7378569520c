-- Erase a user in bounded steps: `access.erase_user` read the whole log of administrative calls in one statement.

-- Delete the keys of a user who is erased, in the transaction's tenant, and return their number. Keys made by the user's
-- keys stay, except context keys.
CREATE FUNCTION access.end_keys_of_user(who text) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    of_tenant CONSTANT uuid := nullif(current_setting('app.tenant', true), '')::uuid;
    key_ids uuid[];
    ended bigint;
    ended_with bigint;
BEGIN
    IF who = '' THEN
        RETURN 0;
    END IF;
    key_ids := ARRAY(
        SELECT k.id FROM access.api_key k WHERE k.tenant_id = of_tenant AND who IN (k.user_id, k.subject) FOR UPDATE
    );
    DELETE FROM access.context_key c
    WHERE c.tenant_id = of_tenant AND (who IN (c.user_id, c.subject) OR c.parent_id = ANY (key_ids));
    GET DIAGNOSTICS ended_with = ROW_COUNT;
    UPDATE access.api_key k SET parent_id = NULL WHERE k.parent_id = ANY (key_ids);
    DELETE FROM access.api_key k WHERE k.id = ANY (key_ids);
    GET DIAGNOSTICS ended = ROW_COUNT;
    RETURN ended + ended_with;
END
$$;
REVOKE ALL ON FUNCTION access.end_keys_of_user FROM PUBLIC;
GRANT EXECUTE ON FUNCTION access.end_keys_of_user TO :"service_role";

-- Replace the name of an erased user by a pseudonym in calls of administrators. One call covers a range of pages of the
-- table. Ids are kept as texts, which JSON quotes: no part of another one is taken for one.
CREATE FUNCTION access.rename_in_calls(first tid, behind tid, who text, digest text, pseudonym text) RETURNS bigint
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
    WITH renamed AS (
        UPDATE access.administrative_call c
        SET subject = CASE c.subject WHEN who THEN pseudonym ELSE c.subject END,
            user_id = CASE c.user_id WHEN who THEN pseudonym ELSE c.user_id END,
            agent_id = CASE c.agent_id WHEN who THEN pseudonym ELSE c.agent_id END,
            ids = replace(
                replace(c.ids::text, to_jsonb(who)::text, to_jsonb(pseudonym)::text),
                to_jsonb(digest)::text, to_jsonb(pseudonym)::text
            )::jsonb
        WHERE c.ctid >= first AND c.ctid < behind
            AND c.tenant_id = nullif(current_setting('app.tenant', true), '')::uuid
            AND who <> '' AND (
                who IN (c.subject, c.user_id, c.agent_id)
                OR strpos(c.ids::text, to_jsonb(who)::text) > 0 OR strpos(c.ids::text, to_jsonb(digest)::text) > 0
            )
        RETURNING true
    )
    SELECT count(*) FROM renamed;
END;
REVOKE ALL ON FUNCTION access.rename_in_calls FROM PUBLIC;
GRANT EXECUTE ON FUNCTION access.rename_in_calls TO :"service_role";

-- For replicas of the release before, which know only this one.
CREATE OR REPLACE FUNCTION access.erase_user(who text, digest text, pseudonym text) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM access.rename_in_calls('(0,0)', '(4294967295,0)', who, digest, pseudonym);
    RETURN access.end_keys_of_user(who);
END
$$;
