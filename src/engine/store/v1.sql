-- Times are milliseconds since 1970 in UTC. JSON columns hold the types of `message`, `history` and `approval`.

CREATE TABLE sessions (
    id        TEXT PRIMARY KEY,
    workspace TEXT NOT NULL,
    title     TEXT,
    created   INTEGER NOT NULL,
    updated   INTEGER NOT NULL,
    turns     INTEGER NOT NULL DEFAULT 0,
    -- JSON; NULL before the first turn's end, while a turn runs, and after one was cut off.
    last_end  TEXT
) STRICT, WITHOUT ROWID;

CREATE INDEX sessions_by_folder ON sessions (workspace, updated);
CREATE INDEX sessions_by_age ON sessions (updated);

CREATE TABLE records (
    session TEXT NOT NULL REFERENCES sessions (id),
    -- Dense from 1.
    no      INTEGER NOT NULL,
    at      INTEGER NOT NULL,
    kind    TEXT NOT NULL,
    json    TEXT NOT NULL,
    UNIQUE (session, no)
) STRICT;

CREATE TABLE approvals (
    id          TEXT PRIMARY KEY,
    session     TEXT NOT NULL REFERENCES sessions (id),
    call        TEXT NOT NULL,
    turn        INTEGER NOT NULL,
    tool        TEXT NOT NULL,
    args_hash   TEXT NOT NULL,
    summary     TEXT NOT NULL,
    risk        TEXT NOT NULL,
    -- The whole request: arguments, plan and reasons included.
    request     TEXT NOT NULL,
    state       TEXT NOT NULL CHECK (state IN
        ('waiting', 'later', 'approved', 'denied', 'consumed', 'withdrawn', 'replaced', 'expired')),
    -- The conversation went on without it.
    detached    INTEGER NOT NULL DEFAULT 0 CHECK (detached IN (0, 1)),
    -- The session's records say that the person wants to decide later.
    later_noted INTEGER NOT NULL DEFAULT 0 CHECK (later_noted IN (0, 1)),
    decision    TEXT,
    decided_by  TEXT,
    created     INTEGER NOT NULL,
    decided_at  INTEGER,
    -- The number of its latest change, unique in the store.
    seq         INTEGER NOT NULL UNIQUE
) STRICT, WITHOUT ROWID;

CREATE INDEX approvals_by_call ON approvals (session, call);
CREATE INDEX approvals_by_state ON approvals (state, created);

CREATE TABLE store_seq (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    seq INTEGER NOT NULL
) STRICT;

INSERT INTO store_seq (one, seq) VALUES (1, 0);

CREATE TABLE input_history (
    no        INTEGER PRIMARY KEY AUTOINCREMENT,
    workspace TEXT NOT NULL,
    text      TEXT NOT NULL,
    at        INTEGER NOT NULL
) STRICT;
