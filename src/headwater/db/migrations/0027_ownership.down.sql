DROP TRIGGER article_sources_keep_read ON article_sources;
DROP FUNCTION marks_keep_read();
DROP FUNCTION told_to_reader(uuid);

-- One record for all: what the first feed said, where nobody else said anything.
UPDATE articles
SET title = told.title, author = coalesce(articles.author, told.author),
    summary = coalesce(articles.summary, told.summary), content = coalesce(articles.content, told.content),
    published_at = coalesce(articles.published_at, told.published_at)
FROM (
    SELECT DISTINCT ON (article_id) article_id, title, author, summary, content, published_at
    FROM article_sources
    WHERE title IS NOT NULL
    ORDER BY article_id, seen_at, source_id
) AS told
WHERE articles.id = told.article_id AND articles.title = '';
UPDATE articles SET title = url WHERE title = '';

-- A list finds an article once only if its place is the same in every feed that lists it.
UPDATE article_sources
SET listed_at = articles.listed_at
FROM articles
WHERE articles.id = article_sources.article_id AND article_sources.listed_at <> articles.listed_at;

ALTER TABLE marks DROP COLUMN title, DROP COLUMN author, DROP COLUMN summary, DROP COLUMN content,
    DROP COLUMN published_at;
ALTER TABLE articles DROP COLUMN is_told_by_site;
DROP INDEX article_sources_titles;
ALTER TABLE article_sources DROP COLUMN title, DROP COLUMN author, DROP COLUMN summary, DROP COLUMN content,
    DROP COLUMN published_at;
