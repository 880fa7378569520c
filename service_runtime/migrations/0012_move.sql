-- A tenant on its way into this database, as far as it has come: whoever moves it goes on from here. The row goes with the last step.
CREATE TABLE access.move (
    tenant_id uuid PRIMARY KEY,
    source text NOT NULL, -- name of the database where it lives until then; '' is the home
    -- What the source has written since then (its oldest transaction under way at that time) is to be copied again.
    horizon text NOT NULL,
    -- Of each table the key of the last row that was copied at first; null: all of them were.
    copied jsonb NOT NULL DEFAULT '{}',
    -- All is here, if the source has said GONE since.
    is_whole boolean NOT NULL DEFAULT false,
    started_at timestamptz NOT NULL DEFAULT now()
);
