DROP TABLE article_sources;
DROP TABLE articles;
DROP TABLE feed_state;
DROP TABLE sources;
DROP FUNCTION touch_updated_at();
DROP FUNCTION current_person();
REVOKE USAGE ON SCHEMA public FROM headwater_person;

-- The role goes too, unless another database of this server still grants it something.
DO $$
BEGIN
    DROP ROLE headwater_person;
EXCEPTION
    WHEN dependent_objects_still_exist OR insufficient_privilege OR object_in_use THEN NULL;
END
$$;
