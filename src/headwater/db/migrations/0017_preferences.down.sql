ALTER TABLE reading_options
    DROP COLUMN theme, DROP COLUMN density, DROP COLUMN font, DROP COLUMN text_size, DROP COLUMN line_width,
    DROP COLUMN layout, DROP COLUMN sort_order, DROP COLUMN start_page, DROP COLUMN article_text,
    DROP COLUMN time_zone, DROP COLUMN scroll_marks_read;
