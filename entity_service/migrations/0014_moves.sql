-- Rows of a tenant that is moved here come as they are: what triggers make of rows comes with them (`app.moving`, which only whoever
-- moves a tenant sets; see service_runtime/moving.py). The wall `bounds` stays as it is.
CREATE OR REPLACE TRIGGER edges_bounded AFTER INSERT ON entity.edge REFERENCING NEW TABLE AS changed FOR EACH STATEMENT
    WHEN (coalesce(current_setting('app.moving', true), '') = '') EXECUTE FUNCTION entity.bound_edges();
CREATE OR REPLACE TRIGGER edges_written_noted AFTER INSERT ON entity.edge REFERENCING NEW TABLE AS changed FOR EACH STATEMENT
    WHEN (coalesce(current_setting('app.moving', true), '') = '') EXECUTE FUNCTION entity.note_edges();
CREATE OR REPLACE TRIGGER edges_changed_noted AFTER UPDATE OF data ON entity.edge FOR EACH ROW
    WHEN (coalesce(current_setting('app.moving', true), '') = '') EXECUTE FUNCTION entity.note_edge();
CREATE OR REPLACE TRIGGER edges_removed_noted AFTER DELETE ON entity.edge REFERENCING OLD TABLE AS changed FOR EACH STATEMENT
    WHEN (coalesce(current_setting('app.moving', true), '') = '') EXECUTE FUNCTION entity.note_edges();
CREATE OR REPLACE TRIGGER io_written_noted AFTER INSERT ON entity.node_io REFERENCING NEW TABLE AS changed FOR EACH STATEMENT
    WHEN (coalesce(current_setting('app.moving', true), '') = '') EXECUTE FUNCTION entity.note_nodes_of_io();
CREATE OR REPLACE TRIGGER io_changed_noted AFTER UPDATE ON entity.node_io REFERENCING NEW TABLE AS changed FOR EACH STATEMENT
    WHEN (coalesce(current_setting('app.moving', true), '') = '') EXECUTE FUNCTION entity.note_nodes_of_io();
CREATE OR REPLACE TRIGGER nodes_written_noted AFTER INSERT ON entity.node REFERENCING NEW TABLE AS changed FOR EACH STATEMENT
    WHEN (coalesce(current_setting('app.moving', true), '') = '') EXECUTE FUNCTION entity.note_nodes();
CREATE OR REPLACE TRIGGER nodes_changed_noted AFTER UPDATE ON entity.node REFERENCING NEW TABLE AS changed FOR EACH STATEMENT
    WHEN (coalesce(current_setting('app.moving', true), '') = '') EXECUTE FUNCTION entity.note_nodes();
CREATE OR REPLACE TRIGGER nodes_removed_noted AFTER DELETE ON entity.node REFERENCING OLD TABLE AS changed FOR EACH STATEMENT
    WHEN (coalesce(current_setting('app.moving', true), '') = '') EXECUTE FUNCTION entity.note_nodes();
