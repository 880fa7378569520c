-- Somebody who is forgotten: his keys go, and the kept calls of administrators name him by a pseudonym.

-- In the tenant of the transaction; how many keys there were. What was made out of his keys lives on, but keys of contexts.
CREATE FUNCTION access.erase_user(who text, digest text, pseudonym text) RETURNS bigint
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
    -- Their ids are kept as texts, which JSON quotes: no part of another one is taken for one.
    UPDATE access.administrative_call c
    SET subject = CASE c.subject WHEN who THEN pseudonym ELSE c.subject END,
        user_id = CASE c.user_id WHEN who THEN pseudonym ELSE c.user_id END,
        agent_id = CASE c.agent_id WHEN who THEN pseudonym ELSE c.agent_id END,
        ids = replace(
            replace(c.ids::text, to_jsonb(who)::text, to_jsonb(pseudonym)::text),
            to_jsonb(digest)::text, to_jsonb(pseudonym)::text
        )::jsonb
    WHERE c.tenant_id = of_tenant AND (
        who IN (c.subject, c.user_id, c.agent_id)
        OR strpos(c.ids::text, to_jsonb(who)::text) > 0 OR strpos(c.ids::text, to_jsonb(digest)::text) > 0
    );
    RETURN ended + ended_with;
END
$$;

REVOKE ALL ON FUNCTION access.erase_user FROM PUBLIC;
GRANT EXECUTE ON FUNCTION access.erase_user TO :"service_role";
