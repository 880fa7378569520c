"""Ten lines: a conversation and a file, kept and read back. Needs `make run` in another terminal."""

from contextgraph import ContextClient, EntityClient

with EntityClient() as graph, ContextClient() as context:
    session = graph.create_node("Session", name="support")
    turn = graph.create_node("Turn", data={"user_input": "Where is my file?", "assistant_output": "Here it is."})
    graph.create_edge(session.id, turn.id, "Contains")
    file = context.upload_blob("README.md", memory_type="text/markdown", entity_node_id=session.id)
    context.download_blob(file.working_memory_id, "copy-of-readme.md")
    for message in context.chat_history(session.id):
        print(f"{message.role}: {message.content}")
