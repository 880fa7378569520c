-- Of one subject the newest order alone counts.

CREATE UNIQUE INDEX outbox_subject ON context.outbox (tenant_id, topic, subject_id);
