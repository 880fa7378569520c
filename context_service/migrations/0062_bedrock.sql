-- A knowledge base may be one of Amazon Bedrock: which, and in what region; empty: its documents are ours. Neither changes.

ALTER TABLE context.knowledge_base
    ADD COLUMN bedrock_id text NOT NULL DEFAULT '',
    ADD COLUMN bedrock_region text NOT NULL DEFAULT '';
