-- One call that changed files, or one command.
CREATE TABLE IF NOT EXISTS entries (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    session TEXT NOT NULL,
    call TEXT NOT NULL,
    workspace BLOB NOT NULL,
    tool TEXT NOT NULL,
    label TEXT NOT NULL,
    is_command INTEGER NOT NULL,
    -- Milliseconds of the Unix epoch. Without an end, the call was cut off.
    began INTEGER NOT NULL,
    ended INTEGER,
    -- The number of the undo that took it back.
    undone INTEGER
);
CREATE INDEX IF NOT EXISTS entries_of_sessions ON entries (session, id);
-- Paths are relative to the workspace. States are JSON; an `after` that is not known is NULL.
CREATE TABLE IF NOT EXISTS changes (
    entry INTEGER NOT NULL,
    path BLOB NOT NULL,
    before TEXT NOT NULL,
    after TEXT,
    before_hash TEXT,
    after_hash TEXT,
    PRIMARY KEY (entry, path)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS hashes_before ON changes (before_hash);
CREATE INDEX IF NOT EXISTS hashes_after ON changes (after_hash);
-- Contents of files, compressed by zlib.
CREATE TABLE IF NOT EXISTS blobs (hash TEXT PRIMARY KEY, bytes BLOB NOT NULL);
-- The files of a workspace as they were when a command began last: who has not changed since need not be read again.
CREATE TABLE IF NOT EXISTS baseline (
    workspace BLOB NOT NULL,
    path BLOB NOT NULL,
    stat TEXT NOT NULL,
    state TEXT NOT NULL,
    hash TEXT,
    PRIMARY KEY (workspace, path)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS hashes_of_baselines ON baseline (hash);
-- What a session's model has not been told yet.
CREATE TABLE IF NOT EXISTS notes (id INTEGER PRIMARY KEY, session TEXT NOT NULL, text TEXT NOT NULL);
