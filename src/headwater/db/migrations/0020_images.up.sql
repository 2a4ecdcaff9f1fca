-- Images: icons of sources and lead images of articles, fetched, resized and stored by us.

-- One row per source or article that has, or may have, an image. No foreign key refers to articles (0005_articles): rows
-- of articles that expired with their month are deleted by the stage `images`, all others by the triggers below.
CREATE TABLE images (
    owner_id uuid PRIMARY KEY,  -- of the source or the article
    kind varchar(4) NOT NULL CONSTRAINT images_kind CHECK (kind IN ('icon', 'lead')),
    url text CONSTRAINT images_url_length CHECK (length(url) <= 2000),  -- NULL: an icon that its feed does not name
    page_url text CONSTRAINT images_page_url_length CHECK (length(page_url) <= 2000),  -- of an icon: its site
    host text NOT NULL,  -- that the first request is sent to
    wanted_at timestamptz NOT NULL,
    ready_at timestamptz,  -- when it is fetched, or the end of a lease; NULL: not again
    lease uuid,
    tries smallint NOT NULL DEFAULT 0,  -- failures since the last success
    reason varchar(20),  -- why the last attempt found none
    digest varchar(32),
    data bytea,  -- WebP
    CONSTRAINT images_data_with_digest CHECK ((data IS NULL) = (digest IS NULL))
) WITH (toast_tuple_target = 128);  -- the bytes apart from the row: lists read digests only

ALTER TABLE images ALTER COLUMN data SET STORAGE EXTERNAL;
CREATE INDEX images_due ON images (ready_at) WHERE ready_at IS NOT NULL;
CREATE INDEX images_leads ON images (owner_id) WHERE kind = 'lead';
-- An image that several articles share is fetched once. A hash index: a URL may be too long for a B-tree.
CREATE INDEX images_by_url ON images USING hash (url) WHERE data IS NOT NULL;

-- Whether the images inside of an article are shown (`Preferences` in accounts/preferences/types.py).
ALTER TABLE reading_options
    ADD COLUMN article_images varchar(20) NOT NULL DEFAULT 'show',
    ADD CONSTRAINT reading_options_article_images CHECK (article_images IN ('show', 'hide'));

CREATE FUNCTION forget_images() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    DELETE FROM images USING forgotten WHERE images.owner_id = forgotten.id;
    RETURN NULL;
END
$$;

CREATE TRIGGER articles_forget_images
    AFTER DELETE ON articles
    REFERENCING OLD TABLE AS forgotten
    FOR EACH STATEMENT EXECUTE FUNCTION forget_images();
CREATE TRIGGER sources_forget_images
    AFTER DELETE ON sources
    REFERENCING OLD TABLE AS forgotten
    FOR EACH STATEMENT EXECUTE FUNCTION forget_images();
