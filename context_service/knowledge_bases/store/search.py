"""The statements of `rules.search`."""

from __future__ import annotations

from context_service.knowledge_bases.store.documents import SQL as DOCUMENTS_SQL
from context_service.retrieval.model import KNOWLEDGE_BASE
from service_runtime.statements.sql_files import SqlFile

SQL = SqlFile.of(__file__, documents=DOCUMENTS_SQL, knowledge_base=KNOWLEDGE_BASE)
ASKED = SQL["asked"]
ASKED_BEDROCK = SQL["asked_bedrock"]
SHOWN = SQL["shown"]
WHOLE = SQL["whole"]
