-- Full-text search over sessions. The words of a record are indexed and not stored a second time: a hit leads to its
-- record. Filled in the transaction of the record, with keys and tokens masked.
CREATE TABLE searched (
    id      INTEGER PRIMARY KEY,
    session TEXT NOT NULL,
    no      INTEGER NOT NULL
) STRICT;

CREATE INDEX searched_by_session ON searched (session);

CREATE VIRTUAL TABLE words USING fts5 (
    text, content = '', contentless_delete = 1, tokenize = 'unicode61 remove_diacritics 2'
);
