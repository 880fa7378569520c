-- active
(r.archived_at IS NULL AND coalesce(r.expires_at > now(), true))

-- filtered
-- What a `RecordFilter` lets through, whatever its entity; its parameters are those of `filter_parameters`.
(
    (%(include_archived)s OR {{active}})
    AND (%(memory_types)s::text[] = '{}' OR r.memory_type = ANY (%(memory_types)s::text[]))
    AND (%(subtypes)s::text[] = '{}' OR r.subtype = ANY (%(subtypes)s::text[]))
    AND (%(semantic_purposes)s::text[] = '{}' OR r.semantic_purpose = ANY (%(semantic_purposes)s::text[]))
    AND (%(names)s::text[] = '{}' OR r.name = ANY (%(names)s::text[]))
    AND starts_with(r.name, %(name_prefix)s)
    AND r.tags @> %(tags)s::text[]
    AND (%(metadata_contains_json)s::jsonb = '{}' OR r.metadata @> %(metadata_contains_json)s::jsonb)
)
