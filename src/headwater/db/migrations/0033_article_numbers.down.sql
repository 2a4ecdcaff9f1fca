DROP TRIGGER articles_number ON articles;
ALTER TABLE articles DROP COLUMN number;
DROP FUNCTION number_article();
DROP FUNCTION last_id_of_number(bigint);
DROP FUNCTION first_id_of_number(bigint);
DROP FUNCTION article_milliseconds(uuid);
DROP SEQUENCE article_numbers;
