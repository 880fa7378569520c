-- The message that ended an entry, so that a window can go back to where it holds: 0 where a caller did; null of what ended before this.

ALTER TABLE context.window_entry ADD COLUMN ended_seq bigint;
