-- The files of memories, as they were last read. All of it follows from the files, but for what was used.
CREATE TABLE IF NOT EXISTS entries (
    id INTEGER PRIMARY KEY,
    folder TEXT NOT NULL,
    name TEXT NOT NULL,
    -- NULL: the file does not count, for the reason in `problem`.
    number INTEGER,
    -- Nanoseconds, bytes, and the file's number on the disk: what tells that it changed.
    mtime INTEGER NOT NULL,
    size INTEGER NOT NULL,
    inode INTEGER NOT NULL,
    -- When it was last written, in seconds of the Unix epoch.
    touched INTEGER NOT NULL,
    -- Words.
    length INTEGER NOT NULL,
    tags TEXT NOT NULL,
    problem TEXT,
    UNIQUE (folder, name)
);
CREATE INDEX IF NOT EXISTS entries_by_number ON entries (folder, number);
CREATE INDEX IF NOT EXISTS entries_by_time ON entries (folder, touched);
CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts5 (
    text, tags, content = '', contentless_delete = 1, prefix = '3 4 5', tokenize = 'porter unicode61 remove_diacritics 2'
);
CREATE TABLE IF NOT EXISTS totals (folder TEXT PRIMARY KEY, memories INTEGER NOT NULL, length INTEGER NOT NULL) WITHOUT ROWID;
CREATE TRIGGER IF NOT EXISTS counted AFTER INSERT ON entries WHEN new.number IS NOT NULL BEGIN
    INSERT INTO totals VALUES (new.folder, 1, new.length)
        ON CONFLICT (folder) DO UPDATE SET memories = memories + 1, length = length + new.length;
END;
CREATE TRIGGER IF NOT EXISTS uncounted AFTER DELETE ON entries WHEN old.number IS NOT NULL BEGIN
    UPDATE totals SET memories = memories - 1, length = length - old.length WHERE folder = old.folder;
END;
-- How often a memory was added to a prompt or found by the model, and when last.
CREATE TABLE IF NOT EXISTS uses (
    folder TEXT NOT NULL,
    number INTEGER NOT NULL,
    uses INTEGER NOT NULL,
    used INTEGER NOT NULL,
    PRIMARY KEY (folder, number)
) WITHOUT ROWID;
