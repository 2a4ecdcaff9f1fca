DROP FUNCTION next_try(timestamptz, text);
