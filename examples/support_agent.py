"""A customer comes back in a new context, and the agent still knows them. Needs `make run` in another terminal.

The service learns from each context when it is closed. Nothing of one context is read in another one: the agent asks
for the customer's memories by an explicit call.
"""

import time
from datetime import UTC, datetime, timedelta

from contextkeep import ContextClient, ContextInput, MessageInput, new_id

NOW = datetime.now(UTC)
CUSTOMER = {"subject_user_id": new_id()}


def talk(client, *messages, said_at):
    """Hold a conversation in a context of its own, close it, and wait until the service has learned from it."""
    first, *others = [MessageInput(content=text, said_at=said_at, role=role) for role, text in messages]
    sent = client.contexts.send(first, context=ContextInput(learning="rules"), **CUSTOMER)
    client.contexts.append(others, sent.context_id, **CUSTOMER)
    client.contexts.close(sent.context_id, **CUSTOMER)
    while not any(sent.context_id == source.context_id for memory in known(client) for source in memory.sources):
        time.sleep(0.1)


def known(client, **which):
    """Return the memories of the customer."""
    return list(client.memories.list(**which, **CUSTOMER))


with ContextClient() as client:
    talk(
        client,
        ("user", "Hi, I live in Bergen. Delivery takes a week, right?"),
        ("assistant", "Yes. So you prefer letters to phone calls?"),
        ("user", "Yes, exactly."),
        said_at=NOW - timedelta(days=365),
    )
    talk(
        client,
        ("user", "I moved from Bergen to Oslo in May. My boss lives in Rome."),
        ("assistant", "Noted."),
        said_at=NOW,
    )

    print("The customer comes back. What the agent knows:")
    for memory in known(client, holding_only=True):
        print(f"- {memory.text} ({memory.kind}, from {', '.join(source.ref for source in memory.sources)})")
    for memory in known(client):
        if memory.superseded_by:
            print(f"- no longer: {memory.text}")
