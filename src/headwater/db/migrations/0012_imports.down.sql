REVOKE SELECT ON source_suggestions FROM headwater_person;
DROP TABLE import_lines, imports;
