-- The conversation of a window: messages of users that no step of its packs shows any more.

-- Who spoke in a step: a role and a name. And the text of a message of a user, or the end of a statement of the
-- assistant, which an answer may need.
ALTER TABLE context.window_block ADD COLUMN speaker text NOT NULL DEFAULT '';
ALTER TABLE context.window_block ADD COLUMN said text NOT NULL DEFAULT '';

-- A block of the conversation (level 1) that is cut stands beside the whole one as long as a checkpoint shows that.
ALTER TABLE context.window_summary DROP CONSTRAINT window_summary_pkey;
ALTER TABLE context.window_summary ADD PRIMARY KEY (tenant_id, window_id, step_from, level, epoch_from);
