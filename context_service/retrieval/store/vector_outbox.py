"""Which passages of a scope may lack a vector: what the scope's row of the outbox says.

Passages are written behind the last ones (`seq` from 0 on: messages) or somewhere before all of them (below zero: what
tasks made). So a row says from which `seq` on, and between which two below zero: whoever makes vectors looks at nothing
else. An artifact in a long conversation lets nobody look at the conversation again.
"""

from __future__ import annotations

# Of the row `o`, as a relation `owed`: a row for each stretch, none of it where there is none.
PLACES = """
    (VALUES
        ((o.payload ->> 'below_from')::bigint, (o.payload ->> 'below_to')::bigint),
        ((o.payload ->> 'seq_from')::bigint, 9223372036854775807)
    ) owed (low, high)
"""
# Whether the passage `p` is in one of them.
IS_OWED = """
    coalesce(p.seq BETWEEN (o.payload ->> 'below_from')::bigint AND (o.payload ->> 'below_to')::bigint, false)
        OR coalesce(p.seq >= (o.payload ->> 'seq_from')::bigint, false)
"""
# The first place of the row `o`.
FIRST = "least((o.payload ->> 'below_from')::bigint, (o.payload ->> 'seq_from')::bigint)"
# What is owed of the passages `p`, together.
OF_PASSAGES = """
    jsonb_strip_nulls(jsonb_build_object(
        'seq_from', min(p.seq) FILTER (WHERE p.seq >= 0),
        'below_from', min(p.seq) FILTER (WHERE p.seq < 0),
        'below_to', max(p.seq) FILTER (WHERE p.seq < 0)))
"""
# What is owed by the row `o` that is there, and by one that was to be inserted beside it.
TOGETHER = """
    jsonb_strip_nulls(jsonb_build_object(
        'seq_from', least((o.payload ->> 'seq_from')::bigint, (excluded.payload ->> 'seq_from')::bigint),
        'below_from', least((o.payload ->> 'below_from')::bigint, (excluded.payload ->> 'below_from')::bigint),
        'below_to', greatest((o.payload ->> 'below_to')::bigint, (excluded.payload ->> 'below_to')::bigint)))
"""
# What is left of the row `o` when all before a `seq` is made.
BEHIND = """
    CASE
        WHEN %(seq)s < 0 THEN o.payload || jsonb_build_object('below_from', %(seq)s::bigint)
        ELSE jsonb_build_object('seq_from', %(seq)s::bigint)
    END
"""


def owing_topic(kind: str) -> str:
    """Return the topic of the outbox under which vectors of scopes of a kind are owed."""
    return f"vectors of {kind}"
