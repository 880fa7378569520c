-- What records are found by, anew: inline text, what is text of an uploaded file, words as they are beside those of a
-- language, and pairs of characters for scripts that put no spaces between words.

-- Chinese, Japanese and Korean letters, for the brackets of a regular expression.
CREATE FUNCTION context.paired_letters() RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN '\u1100-\u11FF\u3005-\u3007\u3040-\u30FF\u3100-\u318F\u31A0-\u31BF\u31F0-\u31FF\u3400-\u4DBF\u4E00-\u9FFF'
    '\uA960-\uA97F\uAC00-\uD7FF\uF900-\uFAFF\uFF66-\uFFDC\U00020000-\U0003FFFF';

-- A text as the parser of words shall see it: in small letters, and with spaces in place of these letters and of signs that
-- it takes for letters where the database's locale is C.
CREATE FUNCTION context.spaced(said text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE
    WHEN octet_length(said) = char_length(said) THEN said
    ELSE lower(regexp_replace(
        said,
        '[\u0080-\u00A9\u00AB-\u00B4\u00B6-\u00B9\u00BB-\u00BF\u00D7\u00F7\u2000-\u206F\u3000-\u303F\uFF00-\uFF0F'
            '\uFF1A-\uFF20\uFF3B-\uFF40\uFF5B-\uFF65' || context.paired_letters() || ']+',
        ' ', 'g'))
END;

-- Both, or the first alone: a vector of words has a largest size (1 MiB), and must not be why a record is refused.
CREATE FUNCTION context.with_words(words tsvector, more tsvector) RETURNS tsvector
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN pg_column_size(words) + pg_column_size(more) < 1000000 THEN words || more ELSE words END;

-- Every two letters that follow each other, and the last one of each row, so that a single letter begins a word wherever it is.
CREATE FUNCTION context.pairs_of(said text) RETURNS tsvector
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
    letter_rows text := regexp_replace(said, '[^' || context.paired_letters() || ']+', ' ', 'g');
    first_left_out text := regexp_replace(letter_rows, '(^| )[^ ]', ' ', 'g');
    pairs text := regexp_replace(letter_rows || ' ' || first_left_out, '([^ ][^ ])', '\1 ', 'g');
BEGIN
    RETURN array_to_tsvector(array_remove(string_to_array(pairs, ' '), ''));
END
$$;

-- The words of a text: in the forms of a language, with their places, then as they are, then pairs.
CREATE FUNCTION context.words_of(language text, said text) RETURNS tsvector
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
    spaced text := context.spaced(said);
    words tsvector;
BEGIN
    words := to_tsvector(('pg_catalog.' || language)::regconfig, spaced);
    IF language <> 'simple' THEN
        words := context.with_words(words, strip(to_tsvector('pg_catalog.simple', spaced)));
    END IF;
    IF octet_length(said) > char_length(said) AND said ~ ('[' || context.paired_letters() || ']') THEN
        words := context.with_words(words, context.pairs_of(said));
    END IF;
    RETURN words;
END
$$;

-- What finds the same: a word in either form, or a phrase in those of the language. Empty for words that count for nothing,
-- such as "the". Whatever is asked, it raises nothing.
CREATE FUNCTION context.words_asked(language text, asked text) RETURNS tsquery
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
    letters text := '[' || context.paired_letters() || ']+';
    spaced text := context.spaced(asked);
    words tsquery := phraseto_tsquery(('pg_catalog.' || language)::regconfig, spaced);
    plain tsquery := phraseto_tsquery('pg_catalog.simple', spaced);
    letter_row text;
BEGIN
    IF numnode(words) = 1 AND numnode(plain) = 1 AND words <> plain THEN
        words := words || plain;
    END IF;
    IF spaced <> asked THEN
        FOR letter_row IN SELECT found.parts[1] FROM regexp_matches(asked, letters, 'g') found (parts) LOOP
            words := words && (
                SELECT string_agg(quote_literal(substr(letter_row, place, 2)), ' & ')
                    || CASE WHEN char_length(letter_row) = 1 THEN ':*' ELSE '' END
                FROM generate_series(1, greatest(char_length(letter_row) - 1, 1)) place
            )::tsquery;
        END LOOP;
    END IF;
    RETURN words;
END
$$;

-- All that is asked: of terms in their order, which are to be there, or not, and before which there stands an "or".
CREATE FUNCTION context.search_asked(language text, terms text[], are_not boolean[], behind_or boolean[]) RETURNS tsquery
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
    one tsquery;
    together tsquery := '';
    whole tsquery := '';
BEGIN
    FOR place IN 1 .. cardinality(terms) LOOP
        one := context.words_asked(language, terms[place]);
        IF are_not[place] THEN
            one := !! one;
        END IF;
        IF behind_or[place] THEN
            whole := whole || together;
            together := '';
        END IF;
        together := together && one;
    END LOOP;
    RETURN whole || together;
END
$$;

CREATE FUNCTION context.search_of(
    tenant_id uuid, language text, name text, description text, content json, content_text text
) RETURNS tsvector
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
    -- The tenant is a word like the others, one that no text can hold; see 0007.
    search tsvector := array_to_tsvector(ARRAY['tenant ' || tenant_id::text]);
    document text := content::text;
    config regconfig := ('pg_catalog.' || language)::regconfig;
BEGIN
    search := search || setweight(
        context.words_of(language, regexp_replace(left(name, 5000), '[[:punct:]]+', ' ', 'g')), 'A');
    search := context.with_words(search, setweight(context.words_of(language, description), 'B'));
    IF content_text IS NOT NULL THEN
        RETURN context.with_words(search, context.words_of(language, left(content_text, 50000)));
    ELSIF content IS NULL THEN
        RETURN search;
    ELSIF octet_length(document) > 50000 OR octet_length(document) > char_length(document) OR document ~ '\\u' THEN
        RETURN context.with_words(
            search, context.words_of(language, coalesce(context.beginning_of_texts(content, 50000), '')));
    END IF;
    search := context.with_words(search, json_to_tsvector(config, content, '["string", "numeric"]'));
    RETURN context.with_words(
        search, strip(json_to_tsvector('pg_catalog.simple', content, '["string", "numeric"]')));
END
$$;

ALTER TABLE context.wm_record
    -- Inline, instead of `content`.
    ADD COLUMN content_text text,
    -- The beginning of a blob that is text: what is found of it. Never shown.
    ADD COLUMN blob_text text,
    -- What `search` was made with; empty: before this migration.
    ADD COLUMN search_language text NOT NULL DEFAULT '',
    -- A column that is generated otherwise from now on would be one that is written anew, of all rows, behind a lock. A trigger
    -- writes it with the row; the rows of before keep what they have.
    ALTER COLUMN search DROP EXPRESSION,
    -- A replica of the version before writes `content` and knows nothing of `content_text`: behind its update there are both, and
    -- `content` is what counts.
    ADD CONSTRAINT wm_record_content_text_check CHECK (blob_id IS NULL OR content_text IS NULL) NOT VALID;
DROP FUNCTION context.search_of(uuid, text, text, json);

CREATE FUNCTION context.keep_search() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.search_language = '' THEN
        NEW.search_language := 'english';
    END IF;
    NEW.search := context.search_of(
        NEW.tenant_id, NEW.search_language, NEW.name, NEW.description, NEW.content,
        CASE WHEN NEW.content IS NULL THEN coalesce(NEW.content_text, NEW.blob_text) END);
    RETURN NEW;
END
$$;
CREATE TRIGGER keep_search_of_new BEFORE INSERT ON context.wm_record FOR EACH ROW EXECUTE FUNCTION context.keep_search();
CREATE TRIGGER keep_search_of_changed BEFORE UPDATE ON context.wm_record FOR EACH ROW
WHEN (
    (OLD.name, OLD.description, OLD.content::text, OLD.content_text, OLD.blob_text, OLD.search_language)
    IS DISTINCT FROM
    (NEW.name, NEW.description, NEW.content::text, NEW.content_text, NEW.blob_text, NEW.search_language)
)
EXECUTE FUNCTION context.keep_search();
