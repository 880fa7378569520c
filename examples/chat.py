"""A conversation, kept and read back. Needs `make run` in another terminal."""

from contextkeep import ContextClient, EntityClient

with EntityClient() as entities, ContextClient() as client:
    entities.graph.append_message(role="user", content="Where is my file?", external_id="thread-42", create=True)
    entities.graph.append_message(role="assistant", content="Here it is.", external_id="thread-42")
    for message in client.history.stream(external_id="thread-42", max_messages=2):
        print(f"{message.role}: {message.content}")
