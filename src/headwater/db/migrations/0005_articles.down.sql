DROP TABLE outbox_listening, outbox, content, article_sources, articles, article_urls;
DROP FUNCTION queue_forgotten_content, content_hand_on, content_hand_on_deleted, search_queries, content_config;
DROP FUNCTION articles_forget_with, number_article, last_id_of_number, first_id_of_number, article_milliseconds;
DROP SEQUENCE article_numbers;
DROP FUNCTION first_id_of, first_id_at;
