-- What a person may do with a request grew: `edited` and `replaced` are yeses to something else, `superseded` is what
-- `replaced` was; requests can expire, and say at a glance whether untrusted words are in them.

CREATE TABLE requests (
    id          TEXT PRIMARY KEY,
    session     TEXT NOT NULL REFERENCES sessions (id),
    call        TEXT NOT NULL,
    turn        INTEGER NOT NULL,
    tool        TEXT NOT NULL,
    args_hash   TEXT NOT NULL,
    summary     TEXT NOT NULL,
    risk        TEXT NOT NULL,
    -- Its arguments carry untrusted words.
    tainted     INTEGER NOT NULL DEFAULT 0 CHECK (tainted IN (0, 1)),
    -- The whole request: arguments, plan and reasons included.
    request     TEXT NOT NULL,
    state       TEXT NOT NULL CHECK (state IN
        ('waiting', 'later', 'approved', 'edited', 'replaced', 'denied', 'consumed', 'withdrawn', 'superseded', 'expired')),
    -- The conversation went on without it.
    detached    INTEGER NOT NULL DEFAULT 0 CHECK (detached IN (0, 1)),
    -- The session's records say that the person wants to decide later.
    later_noted INTEGER NOT NULL DEFAULT 0 CHECK (later_noted IN (0, 1)),
    decision    TEXT,
    decided_by  TEXT,
    created     INTEGER NOT NULL,
    -- From then on nobody can decide it; NULL: it waits for ever.
    expires     INTEGER,
    decided_at  INTEGER,
    -- The number of its latest change, unique in the store.
    seq         INTEGER NOT NULL UNIQUE
) STRICT, WITHOUT ROWID;

INSERT INTO requests
SELECT id, session, call, turn, tool, args_hash, summary, risk, 0, request,
    CASE state WHEN 'replaced' THEN 'superseded' ELSE state END,
    detached, later_noted, decision, decided_by, created, NULL, decided_at, seq
FROM approvals;

DROP TABLE approvals;
ALTER TABLE requests RENAME TO approvals;

CREATE INDEX approvals_by_call ON approvals (session, call);
CREATE INDEX approvals_by_state ON approvals (state, created);
