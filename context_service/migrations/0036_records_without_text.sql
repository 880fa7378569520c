-- What contexts point at and nothing reads, such as a picture, says so: it is not indexed, and it has not failed.

ALTER TABLE context.message_record DROP CONSTRAINT message_record_state_check;
ALTER TABLE context.message_record ADD CONSTRAINT message_record_state_check
    CHECK (state IN ('PENDING', 'INDEXED', 'FAILED', 'NO_TEXT')) NOT VALID;
ALTER TABLE context.message_record VALIDATE CONSTRAINT message_record_state_check;
UPDATE context.message_record SET state = 'NO_TEXT' WHERE state = 'INDEXED' AND reason = 'unsupported';
