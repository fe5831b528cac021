-- Whom a statement over a list speaks of, and what it says of them: its own row among the attestations names nobody. A
-- person is found here by the record, or by the NIN that was asked. What each row of the list was answered, with the salt
-- that lets it be shown alone, is kept by who asked.
CREATE TABLE statement_people (
  attestation_id INTEGER NOT NULL,
  -- The first row of the list that names them, from 1.
  place INTEGER NOT NULL,
  teacher_id INTEGER,
  nin_index BLOB,
  status TEXT NOT NULL,
  eligible INTEGER NOT NULL,
  PRIMARY KEY (attestation_id, place)
) STRICT, WITHOUT ROWID;
CREATE INDEX statement_people_by_teacher ON statement_people (teacher_id) WHERE teacher_id IS NOT NULL;
CREATE INDEX statement_people_by_nin ON statement_people (nin_index) WHERE nin_index IS NOT NULL;
