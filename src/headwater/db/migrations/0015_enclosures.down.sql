ALTER TABLE article_sources DROP COLUMN enclosures;
