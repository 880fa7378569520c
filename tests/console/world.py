"""A small world to look at: what a support agent left behind in a day. Written through the clients, as agents do."""

from __future__ import annotations

import io
import random
import struct
import zlib
from dataclasses import dataclass

from PIL import Image, ImageDraw

from contextkeep import (
    ArtifactInput,
    ContextClient,
    ContextInput,
    EdgeInput,
    EntityClient,
    ExternalId,
    FileInput,
    MessageInput,
    NodeInput,
    PartInput,
    ToolCallInput,
    ToolResultInput,
    new_id,
)
from tests.context_service.retrieval.files import pdf
from tests.media import wav

STEPS, PACK_EVERY = 90, 6
QUESTION = "Which invoice was paid twice?"
TALK = (
    ("user", "Good morning. We seem to have paid invoice 4711 twice, in May and again in June."),
    ("assistant", "I see both payments: **3 May** and **14 June**, 1,280.50 EUR each. I will ask for the money back."),
    ("user", "Thank you. Please send the confirmation to our bookkeeping, Ms Arendt."),
    ("assistant", "Done. The refund takes three working days; Ms Arendt has the confirmation."),
    ("user", "One more thing: our address has changed. We are now at 12 Harbour Street, Bremen."),
    ("assistant", "Noted: 12 Harbour Street, Bremen. The next invoice goes there."),
)
REPORT = """# Refund of invoice 4711

| paid on | amount |
| --- | ---: |
| 3 May | 1,280.50 EUR |
| 14 June | 1,280.50 EUR |

The second payment goes back to the customer within three working days.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """The ids of what was written."""

    session: str
    customer: str
    edge: str
    context: str
    long_context: str
    task: str
    artifact: str
    window: str
    report: str
    picture: str
    plan: str
    pictured: str
    terms: str

    def pages(self) -> dict[str, str]:
        """Return the address of every page, by a name."""
        return {
            "overview": "/",
            "contexts": "/contexts",
            "context": f"/contexts/{self.context}",
            "message": f"/find?q=context:{self.context}/m2.0",
            "recall": f"/contexts/{self.context}/recall?text=Which+invoice+was+paid+twice%3F",
            "context-delete": f"/contexts/{self.context}/delete",
            "task": f"/tasks/{self.task}",
            "artifact": f"/tasks/{self.task}/artifacts/{self.artifact}",
            "windows": "/windows",
            "window": f"/windows/{self.window}",
            "pack": f"/windows/{self.window}/pack",
            "window-state": f"/windows/{self.window}/state",
            "original": f"/windows/{self.window}/original?ref=m2..m6",
            "definitions": "/sources/definitions",
            "compiled": "/sources/compiled",
            "source-settings": "/sources/settings",
            "source-tests": "/sources/tests",
            "access": "/access",
            "access-audit": "/access/audit",
            "graph": "/graph",
            "node": f"/nodes/{self.session}?depth=2",
            "edge": f"/edges/{self.edge}",
            "memory": "/memory",
            "manifest": f"/memory?node={self.session}",
            "record-search": "/memory?text=refund+invoice",
            "record": f"/records/{self.report}",
            "record-picture": f"/records/{self.picture}",
            "context-files": f"/contexts/{self.pictured}",
            "file": f"/files/{self.picture}",
            "file-pages": f"/files/{self.terms}?page=2",
            "history": f"/history?node={self.session}",
            "mappings": "/mappings",
            "mapping": "/mappings/show?name=support_chat",
            "mapping-try": f"/mappings/try?name=simple_chat&node={self.session}",
            "sources": "/sources?q=Which+invoice+was+paid+twice%3F",
            "bases": "/sources/bases?base=handbook",
            "tools": "/sources/tools",
            "find": "/find?q=refund",
        }


def write(context: ContextClient, graph: EntityClient) -> World:
    """Write it all, and return what is where."""
    session, customer, edge = _graph(graph)
    report = context.blobs.upload(
        REPORT.encode(),
        name="refund-4711.md",
        memory_type="text/markdown",
        entity_node_id=session,
        description="What was paid, and what goes back",
        tags=["invoice", "refund"],
    )
    picture = context.blobs.upload(
        png(96, 64),
        name="scan.png",
        memory_type="image/png",
        content_type="image/png",
        entity_node_id=session,
        description="The scanned invoice",
    )
    plan = context.records.insert(
        "plan",
        "next steps",
        content={"steps": ["refund", "confirm", "change the address"], "done": 2},
        entity_node_id=customer,
    )
    talk, task, artifact = _conversation(context, session, report.working_memory_id)
    long_context, window = _long_run(context)
    pictured, terms = _with_files(context)
    for number, title in enumerate(("Change of address", "Password reset", "Delivery to Bremen", "Licence renewal"), 1):
        context.contexts.append(
            [MessageInput(f"{title}: what do I have to do?"), MessageInput("I look it up.", role="assistant")],
            context=ContextInput(title=title, external_ids=[ExternalId("threads", f"t-{number}")]),
        )
    context.mappings.register(
        "support_chat",
        {
            "edge_types": ["Contains"],
            "messages": [
                {"role": "'user'", "content": "entity.data.user_input", "when": "has(entity.data.user_input)"},
                {
                    "role": "'assistant'",
                    "content": "entity.data.assistant_output",
                    "when": "has(entity.data.assistant_output)",
                },
            ],
        },
        replace=True,
    )
    context.knowledge_bases.put("handbook", description="How refunds are done", is_of_tenant=True)
    context.knowledge_bases.add_document("handbook", b"# Refunds\n\nWithin three working days.\n", name="refunds.md")
    return World(
        session=session,
        customer=customer,
        edge=edge,
        context=talk,
        long_context=long_context,
        task=task,
        artifact=artifact,
        window=window,
        report=report.working_memory_id,
        picture=picture.working_memory_id,
        plan=plan.working_memory_id,
        pictured=pictured,
        terms=terms,
    )


def _graph(graph: EntityClient) -> tuple[str, str, str]:
    session = NodeInput("Session", name="Invoice 4711", status="Running", data={"channel": "mail", "language": "en"})
    customer = NodeInput("Customer", name="Arendt & Sons", data={"city": "Bremen", "since": 2019})
    invoice = NodeInput("Invoice", name="4711", data={"amount": 1280.5, "currency": "EUR", "paid": ["05-03", "06-14"]})
    agent = NodeInput("Agent", name="support agent", data={"model": "gpt-5"})
    run = NodeInput("Run", name="refund run", status="Completed")
    turns = [
        NodeInput("Turn", name=f"turn {number}", data={"user_input": said, "assistant_output": answer})
        for number, (said, answer) in enumerate(zip(*[(text for _, text in TALK)] * 2, strict=True), 1)
    ]
    payments = [NodeInput("Payment", name=f"payment of {day}", data={"amount": 1280.5}) for day in ("3 May", "14 June")]
    about = EdgeInput(session.id, customer.id, "About", data={"since": "morning"})
    edges = [
        about,
        *(EdgeInput(session.id, turn.id, "Contains") for turn in turns),
        EdgeInput(session.id, agent.id, "HandledBy"),
        EdgeInput(session.id, run.id, "Calls"),
        EdgeInput(customer.id, invoice.id, "Owes"),
        *(EdgeInput(payment.id, invoice.id, "Pays") for payment in payments),
        EdgeInput(run.id, payments[1].id, "Produces"),
    ]
    graph.graph.write([session, customer, invoice, agent, run, *turns, *payments], edges)
    graph.graph.set_node_io(session.id, input={"mail": "We paid twice."}, output={"refund": 1280.5})
    for message in ("asked the bank", "the bank confirmed", "wrote to Ms Arendt"):
        graph.progress.append(session.id, "message", message=message)
    return session.id, customer.id, about.id


def _conversation(context: ContextClient, session: str, report: str) -> tuple[str, str, str]:
    sent = context.contexts.append(
        [MessageInput(text, role=role) for role, text in TALK],  # type: ignore[arg-type] # they are two
        context=ContextInput(
            title="Invoice 4711 was paid twice",
            entity_node_id=session,
            metadata={"vip": True, "language": "en"},
            external_ids=[ExternalId("helpdesk", "4711-2")],
        ),
    )
    context_id = sent[0].context_id
    task = context.tasks.create(
        context_id, state="working", status_message="The bank was asked for the second payment."
    )
    context.contexts.append(
        [
            MessageInput(
                role="assistant",
                task_id=task.task_id,
                parts=[PartInput(tool_call=ToolCallInput(id="c1", name="refund", arguments={"invoice": 4711}))],
            ),
            MessageInput(
                role="tool",
                task_id=task.task_id,
                parts=[
                    PartInput(tool_result=ToolResultInput(tool_call_id="c1", content={"state": "accepted", "days": 3}))
                ],
            ),
            MessageInput(role="assistant", parts=[PartInput(working_memory_id=report, file_name="refund-4711.md")]),
        ],
        context_id,
    )
    context.artifacts.put(
        task.task_id,
        ArtifactInput([PartInput(text=REPORT)], artifact_id="confirmation", name="Confirmation for Ms Arendt"),
        last_chunk=True,
    )
    return context_id, task.task_id, "confirmation"


def _with_files(context: ContextClient) -> tuple[str, str]:
    """Write a conversation with pictures, a PDF and a recording; return its id, and that of the PDF's record."""
    shot = FileInput(data=screenshot(1280, 800), name="checkout.png", alt="The form of the checkout, with an error")
    sent = context.contexts.append(
        [
            MessageInput("The checkout does not take my order. This is how it looks.", parts=[PartInput(file=shot)]),
            MessageInput(
                "I look at the page myself, on two screens.",
                role="assistant",
                parts=[
                    PartInput(tool_call=ToolCallInput(id="s1", name="screenshot", arguments={"widths": [1280, 400]}))
                ],
            ),
            MessageInput(
                role="tool",
                parts=[
                    PartInput(
                        tool_result=ToolResultInput(
                            tool_call_id="s1",
                            content={"taken": 2},
                            files=[
                                FileInput(data=screenshot(1280, 720), name="wide.png"),
                                FileInput(data=screenshot(400, 900), name="narrow.png"),
                                FileInput(data=b"<svg/>", media_type="image/svg+xml", name="logo.svg"),
                            ],
                        )
                    )
                ],
            ),
            MessageInput(
                "The terms that it links to, and what the customer said on the telephone:",
                role="assistant",
                parts=[
                    PartInput(file=FileInput(data=pdf(["Terms of sale", "Returns", "Contact"]), name="terms.pdf")),
                    PartInput(file=FileInput(data=wav(3), name="call.wav", alt="The customer's call")),
                ],
            ),
        ],
        context=ContextInput(title="The checkout shows an error"),
    )
    (last,) = context.contexts.list_messages(sent[0].context_id, seq_from=4)
    terms = next(part.file for part in last.parts if part.file)
    return sent[0].context_id, terms.working_memory_id


def _long_run(context: ContextClient) -> tuple[str, str]:
    """Write a run of many steps, packed as it goes, so that its window folds."""
    chance = random.Random(7)
    context_id = context.contexts.send(
        "Find out which invoices of this year were paid twice. Never write to a customer without asking me.",
        context=ContextInput(title="Invoices paid twice, all of this year"),
    ).context_id
    window = context.windows.open(
        context_id,
        "gpt-5",
        context_tokens=12_000,
        output_reservation=2_000,
        system_prompt="You look after invoices. Be exact about amounts and dates.",
        goal="List every invoice that was paid twice.",
    )
    context.windows.pin(window.window_id, "Never write to a customer without asking.")
    for start in range(0, STEPS, PACK_EVERY):
        said: list[MessageInput] = []
        for number in range(start, start + PACK_EVERY):
            rows = [
                {
                    "invoice": 4000 + chance.randrange(900),
                    "amount": chance.randrange(10_000) / 100,
                    "bank": "DE" + str(chance.randrange(10**9)),
                }
                for _ in range(6)
            ]
            call = f"call-{number}"
            said.append(
                MessageInput(
                    f"Page {number + 1} of the ledger next.",
                    role="assistant",
                    parts=[
                        PartInput(tool_call=ToolCallInput(id=call, name="read_ledger", arguments={"page": number + 1}))
                    ],
                )
            )
            said.append(
                MessageInput(
                    role="tool", parts=[PartInput(tool_result=ToolResultInput(tool_call_id=call, content=rows))]
                )
            )
        context.contexts.append(said, context_id)
        pack = context.windows.pack(window.window_id)
        context.windows.record_usage(
            window.window_id,
            input_tokens=pack.tokens,
            cached_tokens=int(pack.tokens * 0.9),
            output_tokens=80,
            pack_tokens=pack.tokens,
        )
    context.windows.create_checkpoint(window.window_id, "before the report")
    return context_id, window.window_id


def screenshot(width: int, height: int) -> bytes:
    """Return a picture of a page with a form, in which one field is red."""
    image = Image.new("RGB", (width, height), "#f4f4f0")
    drawing, edge = ImageDraw.Draw(image), width // 12
    drawing.rectangle((0, 0, width, height // 10), fill="#2b6168")
    for row in range(4):
        top = height // 6 + row * height // 6
        drawing.rectangle((edge, top, edge + width // 3, top + 12), fill="#8d8b82")
        color = "#a5301f" if row == 2 else "#c9c8c0"
        drawing.rectangle((edge, top + 24, width - edge, top + 24 + height // 14), outline=color, width=4)
    drawing.rectangle((edge, height - height // 8, edge + width // 4, height - height // 16), fill="#c9822b")
    written = io.BytesIO()
    image.save(written, "PNG")
    return written.getvalue()


def png(width: int, height: int) -> bytes:
    """Return a small picture."""
    rows = b"".join(
        b"\0" + bytes(value for x in range(width) for value in (40 + 2 * x % 200, 90 + y, 140)) for y in range(height)
    )

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


HOSTILE_NAMES = (
    '<script>document.title="owned"</script>',
    "<img src=x onerror=\"document.title='owned'\">",
    "\u202eevil\u202c and \u2067isolated",
    '" onmouseover="document.title=\'owned\'" x="',
    "javascript:alert(1)",
    "{{ 7 * 7 }}",
)


def write_hostile(context: ContextClient, graph: EntityClient) -> list[str]:
    """Write names and contents that want to be more than text, and return the addresses of their pages."""
    pages = ["/contexts", "/graph", "/memory"]
    for name in HOSTILE_NAMES:
        node = graph.graph.create_node("Session", name=name, data={"text": name}, external_id=f"{name}-{new_id()}")
        turn = graph.graph.append_message(node.id, "user", name)
        record = context.records.insert("text/html", name, content_text=f"<h1>{name}</h1>", entity_node_id=node.id)
        sent = context.contexts.send(
            MessageInput(name, name=name[:60], message_id=name),
            context=ContextInput(title=name, metadata={"name": name}),
        )
        pages += [f"/nodes/{node.id}", f"/nodes/{turn.node_id}", f"/records/{record.working_memory_id}"]
        pages += [f"/contexts/{sent.context_id}", f"/history?node={node.id}", f"/memory?node={node.id}"]
    svg = b'<svg xmlns="http://www.w3.org/2000/svg"><script>document.title="owned"</script></svg>'
    blob = context.blobs.upload(svg, name="picture.svg", memory_type="image/svg+xml", content_type="image/svg+xml")
    no_picture = context.blobs.upload(b"<b>no</b>", name="no.png", memory_type="image/png", content_type="image/png")
    line = context.records.insert("text/plain", "one line", content_text="x" * (1 << 20))
    pages += [f"/records/{one.working_memory_id}" for one in (blob, no_picture, line)]
    return pages
