DROP TABLE saved_filters, bulk_changes;
DROP TRIGGER sources_add_numbers ON sources;
DROP FUNCTION sources_add_numbers();
DROP TABLE source_numbers;
