-- Outcomes of steps, and the tokens of a run: a window, with all that was forked from it, whoever works there.

ALTER TABLE context.context_window
    -- How steps ended: JSON, `[first, last, score]` each, in their order.
    ADD COLUMN outcomes text NOT NULL DEFAULT '[]',
    -- Of a fork: the window with which its run began. Its tokens count there, too.
    ADD COLUMN run_context_id uuid,
    ADD COLUMN run_window_id uuid;

-- Count tokens of a window that was forked in its run, unless they go over what the run may have; none if the run may have any. By a function of
-- the owner: whoever works in a fork, by a key of its context, sees nothing of where it came from, and pays there all the same. It reaches no
-- run but that of a window which the transaction sees.
CREATE FUNCTION context.spend_of_run(of_context_id uuid, of_window_id uuid, tokens bigint)
RETURNS TABLE (spent bigint, spent_max bigint, is_over boolean)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    run record;
BEGIN
    SELECT r.tenant_id, r.window_id, r.spent_tokens, (r.config ->> 'max_total_tokens')::bigint AS most INTO run
    FROM context.context_window w JOIN context.context_window r
        ON r.tenant_id = w.tenant_id AND r.context_id = w.run_context_id AND r.window_id = w.run_window_id
    WHERE w.tenant_id = nullif(current_setting('app.tenant', true), '')::uuid
        AND w.context_id = of_context_id AND w.window_id = of_window_id
        AND (access.sees_all_contexts() OR w.context_id = access.context_seen())
        AND (access.sees_all_subjects() OR w.owner_user_id = ANY (access.owners_seen()))
        AND (coalesce(current_setting('app.bounds', true), '') = ''
            OR access.context_in_bounds(w.ancestors, w.agent_bundle_id, w.app_id))
        AND (r.config ->> 'max_total_tokens')::bigint > 0
    FOR UPDATE OF r;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    is_over := tokens > 0 AND run.spent_tokens + tokens > run.most;
    spent := run.spent_tokens + CASE WHEN is_over THEN 0 ELSE tokens END;
    spent_max := run.most;
    IF spent > run.spent_tokens THEN
        UPDATE context.context_window w SET spent_tokens = spent
        WHERE w.tenant_id = run.tenant_id AND w.window_id = run.window_id;
    END IF;
    RETURN NEXT;
END
$$;
REVOKE ALL ON FUNCTION context.spend_of_run FROM PUBLIC;
GRANT EXECUTE ON FUNCTION context.spend_of_run TO :"service_role";
