-- Whose the nodes are that a compiled page was made of: when the user is erased, the page says nothing more of them. Null: an older
-- release compiled it, so they may be anybody's, until all is compiled anew, which the next compile does.
ALTER TABLE context.page_dependency ADD COLUMN node_owner_id text;
UPDATE context.compile_state SET definitions = '{}';
