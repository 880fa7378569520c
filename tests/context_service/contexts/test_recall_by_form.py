"""What is written in one form is recalled when it is asked in another: names, identifiers, numbers, dates, code."""

from __future__ import annotations

import pytest

from contextkeep.context.v1 import message_pb2 as message
from contextkeep.context.v1.message_pb2 import MessageInput
from tests.context_service.contexts.callers import Caller, Opened

# Each line is found by its question before all other lines.
ASKED = [
    # Names and words with accents, typed without them, and the other way around.
    ("Zoë waters the plants on Fridays.", "what does Zoe do"),
    ("The truck left Łódź before noon.", "lodz truck"),
    ("José signed the lease yesterday.", "did Jose sign?"),
    ("Lieferung an Bahnhofstraße 9, Hinterhof.", "bahnhofstrasse"),
    ("Frau Müller übernimmt die Kasse.", "kasse mueller"),
    ("Der Techniker heißt Koehler.", "Köhler"),
    ("Søren har nøglen til kælderen.", "soren noglen"),
    ("Le goûter est prêt à la crèche.", "gouter creche"),
    ("A reunião ficou para amanhã na praça.", "reuniao praca"),
    ("Đặng Thị Hương gửi hợp đồng.", "dang thi huong"),
    ("İzmir ofisi taşındı.", "izmir ofisi"),
    ("Příští schůzka je v Plzni u řeky.", "schuzka plzni"),
    ("Ο Γιάννης έχει τα κλειδιά.", "γιαννης κλειδια"),
    ("Пётр забрал чертёж.", "петр чертеж"),
    ("الفاتورة عند أحمد.", "احمد الفاتوره"),
    ("会議は第三会議室で行います。", "会議室"),
    ("합격자 발표는 금요일입니다.", "합격자 발표"),
    ("ประตูหลังล็อกแล้ว", "ประตูหลัง"),
    ("दरवाज़े की चाबी नीतू के पास है।", "नीतू चाबी"),
    ("GROẞE PAKETE NUR AN TOR 3.", "große pakete"),
    # Code and files.
    ('{"chiefComplaint": "Chest pain"}', "What was the patient's chief complaint?"),
    ('{"heart_rate": 72}', "heartRate"),
    ("We renamed computeInvoiceTotal last week.", "where is the invoice total computed"),
    ("The fix is in src/billing/RetryPolicyFactory.java.", "retry policy factory"),
    ("HTTPServer2 drops the first header.", "http server header"),
    ("Set max-open-files to 4096.", "maxOpenFiles"),
    ("The e-mail bounced twice.", "email bounced"),
    ("Take app.module.loader as the entry.", "loader module"),
    # Identifiers, with other signs and without any.
    ("Ticket KD-2210 waits for the customer.", "KD2210"),
    ("Ticket QX7741 was merged.", "qx-7741"),
    ("It dies with ORA-00942 at night.", "ora 00942"),
    ("Windows says 0x80070005 again.", "error 0X80070005"),
    ("Since v3.11.4 the build is green.", "3.11.4"),
    ("Refund goes to DE89 3704 0044 0532 0130 00.", "DE89370400440532013000"),
    ("His account is GB82WEST12345698765432.", "gb82 west 1234 5698 7654 32"),
    ("Call the plumber: +49 (0)89 5550-1234.", "+4908955501234"),
    ("Reach Dana under 415-555-2671.", "(415) 555 2671"),
    ("The courier's line is +33 1 70 18 99 00.", "0170189900"),
    # Days.
    ("The audit is on 5 March 2024.", "2024-03-05"),
    ("Umzug am 07.11.2025.", "November 7, 2025"),
    ("La mudanza es el 9 de agosto de 2026.", "9.8.2026"),
    ("納品は2027年4月2日です。", "2 April 2027"),
    ("Facture du 23/02/2025.", "23 février 2025"),
]
# Lines that have much in common with them.
OTHERS = [
    "Zora waters the garden on Mondays.",
    "The van left Lyon before dawn.",
    "Ticket KD-2211 is closed.",
    "Ticket KX-2210 is closed.",
    "It dies with ORA-00943 in the morning.",
    "Since v3.11.3 the build is red.",
    "Since v31.14 nothing is built.",
    "Refund goes to DE89 3704 0044 0532 0130 01.",
    "Reach Tom under 415-555-2672.",
    "The audit is on 6 March 2024.",
    "The audit is on 5 March 2023.",
    "The heart of the matter is the rate.",
    "A chief of staff resigned.",
    "Invoice of the hotel: total 90.",
]


@pytest.fixture
def caller(contexts: Opened) -> Caller:
    return contexts.caller


async def test_a_line_is_recalled_when_it_is_asked_in_another_form(caller: Caller):
    lines = [*OTHERS, *(text for text, _ in ASKED)]
    said = [
        MessageInput(parts=[message.Part(data_json=line)]) if line.startswith("{") else MessageInput(content=line)
        for line in lines
    ]
    context_id = (await caller.append("", *said)).context_id
    wrong = []
    for text, question in ASKED:
        answer = await caller.call("Recall", context_id=context_id, text=question, options={"tokens_max": 200})
        items = answer.recalled.items
        wanted = 1 + lines.index(text)
        if not items or items[0].seq != wanted:
            wrong.append((question, [item.text for item in items]))

    assert not wrong


@pytest.mark.parametrize(
    ("exact", "other", "question"),
    [
        ("schön ist es", "schon ist es", "schön"),
        ("Herr Müller kam", "Herr Muller kam", "Müller"),
        ("el año nuevo", "el ano nuevo", "año"),
        ("la pêche", "la peche", "pêche"),
    ],
)
async def test_the_exact_spelling_comes_before_the_folded_one(exact: str, other: str, question: str, caller: Caller):
    for lines in ([exact, other], [other, exact]):
        context_id = (await caller.append("", *(MessageInput(content=line) for line in lines))).context_id
        answer = await caller.call("Recall", context_id=context_id, text=question, options={"score_min": 0})
        assert [item.text for item in answer.recalled.items] == [exact, other]


@pytest.mark.parametrize(
    ("question", "answer", "other"),
    [
        ("Wie heißt der Hund?", "Der Hund heißt Rex.", "Der Tee ist kalt, und der Kaffee auch."),
        ("Où est la voiture ?", "La voiture est au garage.", "La pluie est là, la neige aussi."),
        ("¿Dónde está la llave?", "La llave está en el cajón.", "La sopa está en la mesa."),
    ],
)
async def test_a_passage_that_shares_only_stop_words_with_the_question_is_not_recalled(
    question: str, answer: str, other: str, caller: Caller
):
    lines = [MessageInput(content=line) for line in (other, answer, other.upper())]
    context_id = (await caller.append("", *lines)).context_id
    found = await caller.call("SearchContext", context_id=context_id, query=question)
    assert [hit.text for hit in found.hits] == [answer]
