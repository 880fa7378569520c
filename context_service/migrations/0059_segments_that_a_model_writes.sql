-- What wrote a summary, and what became of what a model wrote for it. Of a window, how often the model failed in a row, and up to which step
-- it is asked no more.

ALTER TABLE context.window_summary
    ADD COLUMN method text NOT NULL DEFAULT 'extractive',
    ADD COLUMN verdict text NOT NULL DEFAULT '';

ALTER TABLE context.context_window
    ADD COLUMN model_failures smallint NOT NULL DEFAULT 0,
    ADD COLUMN extractive_to integer NOT NULL DEFAULT 0;
