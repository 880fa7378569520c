-- How often tools were called and things were spoken of, counted when a window catches up. A fold that removes steps from view adds theirs to
-- those of the window; so a window that goes back to an earlier step needs no subtraction.

ALTER TABLE context.window_block
    -- Of a step, [["name", calls, failures], …]: JSON.
    ADD COLUMN tools text NOT NULL DEFAULT '[]';

ALTER TABLE context.context_window
    -- Of the steps that no block stands for any more: JSON, see `tallies.py`.
    ADD COLUMN tallies text NOT NULL DEFAULT '{}';
