-- How the rows of an import were judged: for each code, how many rows it met, and where the first of them stood in the
-- file, as [[line, column], ...]. Never a value of the file.
CREATE TABLE import_codes (
  import_id INTEGER NOT NULL REFERENCES imports (id),
  code TEXT NOT NULL,
  row_count INTEGER NOT NULL,
  first_rows TEXT NOT NULL,
  PRIMARY KEY (import_id, code)
) STRICT, WITHOUT ROWID;
