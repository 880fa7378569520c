-- A model may learn memories, too.
ALTER TABLE context.context DROP CONSTRAINT context_learning_check;
ALTER TABLE context.context ADD CONSTRAINT context_learning_check CHECK (learning IN ('', 'off', 'rules', 'model'));
ALTER TABLE context.context_setting DROP CONSTRAINT context_setting_learning_check;
ALTER TABLE context.context_setting
    ADD CONSTRAINT context_setting_learning_check CHECK (learning IN ('', 'off', 'rules', 'model'));
