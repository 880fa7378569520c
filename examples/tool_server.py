"""An external MCP server: a hospital's formulary, with a tool that searches and one that orders.

`make demo CHAPTER=query` runs it: `python examples/tool_server.py PORT`.
"""

from __future__ import annotations

import sys
from typing import Any

import mcp_types as types
import uvicorn
from mcp.server import Server

_MEDICINES = {
    "F-1": "Erythromycin: for patients who are allergic to penicillin; 500 mg twice a day.",
    "F-2": "Paracetamol: up to 4 g a day.",
}
_SEARCH = types.Tool(
    name="search_formulary",
    description="Finds medicines.",
    input_schema={"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]},
    annotations=types.ToolAnnotations(read_only_hint=True),
    _meta={"contextkeep/searchSafe": True},
)
_ORDER = types.Tool(
    name="order_medicine",
    description="Orders a medicine for a ward.",
    input_schema={"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]},
    annotations=types.ToolAnnotations(read_only_hint=False),
)


async def _list_tools(_context: Any, _params: Any) -> types.ListToolsResult:
    return types.ListToolsResult(tools=[_SEARCH, _ORDER])


async def _call_tool(_context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
    if params.name != _SEARCH.name:
        return types.CallToolResult(content=[types.TextContent(text="ordered")])
    words = {word for word in str((params.arguments or {}).get("query", "")).lower().split() if len(word) > len("the")}
    items = [
        {"id": key, "title": text.partition(":")[0], "snippet": text, "score": 1234}
        for key, text in _MEDICINES.items()
        if words & set(text.lower().split())
    ]
    return types.CallToolResult(content=[], structured_content={"results": items})


def main() -> None:
    """Serve until the process is ended."""
    server: Server[Any] = Server("formulary", on_list_tools=_list_tools, on_call_tool=_call_tool)
    uvicorn.run(server.streamable_http_app(), host="127.0.0.1", port=int(sys.argv[1]), log_level="error")


if __name__ == "__main__":
    main()
