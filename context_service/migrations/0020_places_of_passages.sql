-- What was said directly before and after a passage: an agent's log has many results of tools between two things that it says.
CREATE INDEX passage_place ON context.passage (tenant_id, scope_id, session, place) WHERE place IS NOT NULL;
