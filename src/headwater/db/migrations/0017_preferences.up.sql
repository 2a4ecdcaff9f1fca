-- How a reader wants the pages (`Preferences` in accounts/preferences/types.py).

ALTER TABLE reading_options
    ADD COLUMN theme varchar(20) NOT NULL DEFAULT 'auto',
    ADD COLUMN density varchar(20) NOT NULL DEFAULT 'rows',
    ADD COLUMN font varchar(20) NOT NULL DEFAULT 'serif',
    ADD COLUMN text_size varchar(20) NOT NULL DEFAULT 'medium',
    ADD COLUMN line_width varchar(20) NOT NULL DEFAULT 'medium',
    ADD COLUMN layout varchar(20) NOT NULL DEFAULT 'one',
    ADD COLUMN sort_order varchar(20) NOT NULL DEFAULT 'newest',
    ADD COLUMN start_page varchar(20) NOT NULL DEFAULT 'auto',
    ADD COLUMN article_text varchar(20) NOT NULL DEFAULT 'full',
    ADD COLUMN time_zone varchar(64) NOT NULL DEFAULT 'UTC',
    ADD COLUMN scroll_marks_read boolean NOT NULL DEFAULT false,
    ADD CONSTRAINT reading_options_theme CHECK (theme IN ('auto', 'light', 'dark')),
    ADD CONSTRAINT reading_options_density CHECK (density IN ('cards', 'rows', 'compact')),
    ADD CONSTRAINT reading_options_font CHECK (font IN ('serif', 'sans', 'mono')),
    ADD CONSTRAINT reading_options_text_size CHECK (text_size IN ('small', 'medium', 'large', 'largest')),
    ADD CONSTRAINT reading_options_line_width CHECK (line_width IN ('narrow', 'medium', 'wide')),
    ADD CONSTRAINT reading_options_layout CHECK (layout IN ('one', 'two', 'three')),
    ADD CONSTRAINT reading_options_sort_order CHECK (sort_order IN ('newest', 'oldest')),
    ADD CONSTRAINT reading_options_start_page
        CHECK (start_page IN ('auto', 'unread', 'all', 'starred', 'dashboard')),
    ADD CONSTRAINT reading_options_article_text CHECK (article_text IN ('full', 'feed'));
