-- Rows of a tenant that is moved here come as they are: what triggers make of rows comes with them (`app.moving`, which only whoever
-- moves a tenant sets; see service_runtime/moving.py).
CREATE OR REPLACE TRIGGER count_record AFTER INSERT OR DELETE ON context.wm_record
    FOR EACH ROW WHEN (coalesce(current_setting('app.moving', true), '') = '') EXECUTE FUNCTION context.count_usage(1);
CREATE OR REPLACE TRIGGER count_change AFTER UPDATE ON context.wm_record
    FOR EACH ROW WHEN (OLD.size_bytes <> NEW.size_bytes AND coalesce(current_setting('app.moving', true), '') = '')
    EXECUTE FUNCTION context.count_usage(1);
CREATE OR REPLACE TRIGGER count_part AFTER INSERT OR DELETE ON context.upload_part
    FOR EACH ROW WHEN (coalesce(current_setting('app.moving', true), '') = '') EXECUTE FUNCTION context.count_usage(0);
CREATE OR REPLACE TRIGGER keep_search_of_new BEFORE INSERT ON context.wm_record
    FOR EACH ROW WHEN (coalesce(current_setting('app.moving', true), '') = '') EXECUTE FUNCTION context.keep_search();
CREATE OR REPLACE TRIGGER keep_search_of_changed BEFORE UPDATE ON context.wm_record
    FOR EACH ROW WHEN (
        (OLD.name IS DISTINCT FROM NEW.name OR OLD.description IS DISTINCT FROM NEW.description
            OR OLD.content::text IS DISTINCT FROM NEW.content::text OR OLD.content_text IS DISTINCT FROM NEW.content_text
            OR OLD.blob_text IS DISTINCT FROM NEW.blob_text OR OLD.search_language IS DISTINCT FROM NEW.search_language)
        AND coalesce(current_setting('app.moving', true), '') = ''
    )
    EXECUTE FUNCTION context.keep_search();
CREATE OR REPLACE TRIGGER move_embedding AFTER UPDATE ON context.wm_record
    FOR EACH ROW WHEN (
        (OLD.entity_node_id, least(OLD.archived_at, OLD.expires_at), OLD.memory_type, OLD.graph_name, OLD.agent_bundle_id,
            OLD.app_id)
        IS DISTINCT FROM
        (NEW.entity_node_id, least(NEW.archived_at, NEW.expires_at), NEW.memory_type, NEW.graph_name, NEW.agent_bundle_id,
            NEW.app_id)
        AND coalesce(current_setting('app.moving', true), '') = ''
    )
    EXECUTE FUNCTION context.move_embedding();
