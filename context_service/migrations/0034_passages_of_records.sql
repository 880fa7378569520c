-- What records and their files say becomes passages in the scope of their node, behind what is written: `seq` of the record is their place.

ALTER TABLE context.wm_record
    -- Written so far; null: its text was not cut to passages, or is not there any more.
    ADD COLUMN passage_count integer;
