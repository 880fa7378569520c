-- places
-- Of the row `o`, as a relation `owed`: a row for each stretch, none of it where there is none.
(VALUES
    ((o.payload ->> 'below_from')::bigint, (o.payload ->> 'below_to')::bigint),
    ((o.payload ->> 'seq_from')::bigint, 9223372036854775807)
) owed (low, high)

-- is_owed
-- Whether the passage `p` is in one of them.
coalesce(p.seq BETWEEN (o.payload ->> 'below_from')::bigint AND (o.payload ->> 'below_to')::bigint, false)
    OR coalesce(p.seq >= (o.payload ->> 'seq_from')::bigint, false)

-- first
-- The first place of the row `o`.
least((o.payload ->> 'below_from')::bigint, (o.payload ->> 'seq_from')::bigint)

-- of_passages
-- The payload for the passages `p`.
jsonb_strip_nulls(jsonb_build_object(
    'seq_from', min(p.seq) FILTER (WHERE p.seq >= 0),
    'below_from', min(p.seq) FILTER (WHERE p.seq < 0),
    'below_to', max(p.seq) FILTER (WHERE p.seq < 0)))

-- together
-- The payload of the stored row `o` joined with that of a new one.
jsonb_strip_nulls(jsonb_build_object(
    'seq_from', least((o.payload ->> 'seq_from')::bigint, (excluded.payload ->> 'seq_from')::bigint),
    'below_from', least((o.payload ->> 'below_from')::bigint, (excluded.payload ->> 'below_from')::bigint),
    'below_to', greatest((o.payload ->> 'below_to')::bigint, (excluded.payload ->> 'below_to')::bigint)))

-- rest
-- What remains of the row `o` once everything before a `seq` is done.
CASE
    WHEN %(seq)s < 0 THEN o.payload || jsonb_build_object('below_from', %(seq)s::bigint)
    ELSE jsonb_build_object('seq_from', %(seq)s::bigint)
END
