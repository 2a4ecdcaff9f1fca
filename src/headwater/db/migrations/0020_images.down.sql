ALTER TABLE reading_options DROP COLUMN article_images;
DROP TRIGGER sources_forget_images ON sources;
DROP TRIGGER articles_forget_images ON articles;
DROP FUNCTION forget_images();
DROP TABLE images;
