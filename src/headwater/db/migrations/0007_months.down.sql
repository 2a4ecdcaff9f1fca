DROP TABLE retention_state;
DROP FUNCTION drop_gone_table, take_gone_content, article_tables_gone, let_article_month_go, hand_on_texts;
DROP FUNCTION analyze_articles, make_article_months, begin_article_months, columns_of, article_months;
DROP SCHEMA months CASCADE;
