-- What a person may do with a request grew: `edited` and `replaced` are yeses to something else, `superseded` is what
-- `replaced` was; requests can expire, and say at a glance whether untrusted words are in them.

ALTER TABLE approvals RENAME TO earlier;
DROP INDEX approvals_by_call;
DROP INDEX approvals_by_state;

CREATE TABLE approvals (
    id           TEXT PRIMARY KEY,
    session      TEXT NOT NULL REFERENCES sessions (id),
    call         TEXT NOT NULL,
    turn         INTEGER NOT NULL,
    tool         TEXT NOT NULL,
    -- Of the arguments as they are stored.
    args_hash    TEXT NOT NULL,
    summary      TEXT NOT NULL,
    risk         TEXT NOT NULL,
    -- Its arguments carry untrusted words.
    tainted      INTEGER NOT NULL DEFAULT 0 CHECK (tainted IN (0, 1)),
    -- The whole request: arguments, plan and reasons included.
    request      TEXT NOT NULL,
    state        TEXT NOT NULL CHECK (state IN
        ('waiting', 'later', 'approved', 'edited', 'replaced', 'denied', 'consumed', 'withdrawn', 'superseded', 'expired')),
    -- The conversation went on without it.
    detached     INTEGER NOT NULL DEFAULT 0 CHECK (detached IN (0, 1)),
    -- The session's records say that the person wants to decide later.
    later_noted  INTEGER NOT NULL DEFAULT 0 CHECK (later_noted IN (0, 1)),
    -- The session's records say that nobody decided in time, or are past caring.
    expiry_noted INTEGER NOT NULL DEFAULT 0 CHECK (expiry_noted IN (0, 1)),
    decision     TEXT,
    decided_by   TEXT,
    created      INTEGER NOT NULL,
    -- From then on nobody can decide it; NULL: it waits for ever.
    expires      INTEGER,
    decided_at   INTEGER,
    -- The number of its latest change, unique in the store.
    seq          INTEGER NOT NULL UNIQUE
) STRICT;

INSERT INTO approvals
SELECT id, session, call, turn, tool, args_hash, summary, risk, 0, request,
    CASE state WHEN 'replaced' THEN 'superseded' ELSE state END,
    detached, later_noted, 0, decision, decided_by, created, NULL, decided_at, seq
FROM earlier ORDER BY created, seq;

DROP TABLE earlier;

CREATE INDEX approvals_by_call ON approvals (session, call);
CREATE INDEX approvals_by_age ON approvals (created, seq);

-- What a person can decide: in its order, as the inbox shows it (nothing else is read for ten thousand of them), and
-- by the moment when it is over.
CREATE INDEX approvals_undecided ON approvals (created, seq) WHERE state IN ('waiting', 'later');
CREATE INDEX approvals_inbox ON approvals
    (session, created, seq, id, risk, tool, summary, tainted, state, detached, expires)
    WHERE state IN ('waiting', 'later');
CREATE INDEX approvals_due ON approvals (expires) WHERE state IN ('waiting', 'later');

-- What a session has to take note of; the very words of the query.
CREATE INDEX approvals_untaken ON approvals (session, seq)
    WHERE (state IN ('approved', 'edited', 'replaced', 'denied') OR (state = 'later' AND later_noted = 0)
        OR (state = 'expired' AND expiry_noted = 0));

-- Who or what decided, what ran, and what came of it. Each row holds the hash of the one before.
CREATE TABLE audit (
    -- Dense; what was pruned is told by a row of its own.
    no      INTEGER PRIMARY KEY,
    at      INTEGER NOT NULL,
    session TEXT,
    call    TEXT,
    request TEXT,
    tool    TEXT,
    kind    TEXT NOT NULL,
    -- JSON; NULL where nobody decided anything.
    decider TEXT,
    -- JSON.
    details TEXT NOT NULL,
    prev    TEXT NOT NULL,
    hash    TEXT NOT NULL
) STRICT;

CREATE INDEX audit_by_call ON audit (call, session) WHERE call IS NOT NULL;
CREATE INDEX audit_by_request ON audit (request) WHERE request IS NOT NULL;

-- Rows up to here may go; 0 outside of the transaction that prunes.
CREATE TABLE audit_guard (
    one      INTEGER PRIMARY KEY CHECK (one = 1),
    prunable INTEGER NOT NULL
) STRICT;

INSERT INTO audit_guard (one, prunable) VALUES (1, 0);

CREATE TRIGGER audit_grows_at_its_end BEFORE INSERT ON audit
WHEN NEW.no <> (SELECT coalesce(max(no), 0) + 1 FROM audit)
BEGIN
    SELECT RAISE(ABORT, 'the audit grows at its end only');
END;

CREATE TRIGGER audit_never_changes BEFORE UPDATE ON audit
BEGIN
    SELECT RAISE(ABORT, 'the audit never changes');
END;

CREATE TRIGGER audit_keeps_its_rows BEFORE DELETE ON audit
WHEN OLD.no > (SELECT prunable FROM audit_guard)
BEGIN
    SELECT RAISE(ABORT, 'the audit keeps its rows');
END;

-- How many calls each rule has answered.
CREATE TABLE rule_uses (
    rule TEXT PRIMARY KEY,
    uses INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
