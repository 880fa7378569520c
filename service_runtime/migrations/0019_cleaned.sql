-- When the rows of a tenant that lives elsewhere were removed here. Until then a copy of them stays, which no erasure reaches.
ALTER TABLE access.residence ADD COLUMN cleaned_at timestamptz;
