-- A positive 64-bit number for each article, for client protocols that do not take a UUID. The upper 42 bits are the
-- milliseconds of its id, so that a number leads to one month; the lower 21 are a sequence, so that no two are equal.
CREATE SEQUENCE article_numbers AS integer MINVALUE 1 MAXVALUE 2097151 CYCLE CACHE 100;

CREATE FUNCTION article_milliseconds(id uuid) RETURNS bigint
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    RETURN ('x' || left(replace(id::text, '-', ''), 12))::bit(48)::bigint & 4398046511103;

-- The first and last id of the millisecond of a number.
CREATE FUNCTION first_id_of_number(number bigint) RETURNS uuid
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    RETURN (lpad(to_hex(number >> 21), 12, '0') || repeat('0', 20))::uuid;

CREATE FUNCTION last_id_of_number(number bigint) RETURNS uuid
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    RETURN (lpad(to_hex(number >> 21), 12, '0') || repeat('f', 20))::uuid;

CREATE FUNCTION number_article() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    NEW.number := article_milliseconds(NEW.id) << 21 | nextval('article_numbers');
    RETURN NEW;
END
$$;

ALTER TABLE articles ADD COLUMN number bigint;
ALTER TABLE articles DISABLE TRIGGER articles_touch_updated_at;
UPDATE articles
SET number = article_milliseconds(id) << 21 | numbered.of_all
FROM (SELECT id AS article_id, (row_number() OVER (ORDER BY id) - 1) % 2097151 + 1 AS of_all FROM articles) AS numbered
WHERE id = article_id;
ALTER TABLE articles ENABLE TRIGGER articles_touch_updated_at;
ALTER TABLE articles ALTER COLUMN number SET NOT NULL;

CREATE INDEX articles_number ON articles (number);
CREATE TRIGGER articles_number
    BEFORE INSERT ON articles
    FOR EACH ROW WHEN (NEW.number IS NULL) EXECUTE FUNCTION number_article();
