-- What callers say of the state: it is told behind the last step of the next pack, and outlives what is made of the log.

ALTER TABLE context.window_entry
    -- Of a caller's: whether a model has read it since the window began anew.
    ADD COLUMN is_told boolean NOT NULL DEFAULT true;

ALTER TABLE context.context_window
    -- Some entry is not told yet.
    ADD COLUMN has_untold boolean NOT NULL DEFAULT false;
