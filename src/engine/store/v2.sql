-- What each request to a model used: one row beside its record, so that sums need no record to be read.

CREATE TABLE usage (
    session     TEXT NOT NULL REFERENCES sessions (id),
    -- The number of its record.
    no          INTEGER NOT NULL,
    turn        INTEGER NOT NULL,
    at          INTEGER NOT NULL,
    -- Empty in rows of before it was kept.
    provider    TEXT NOT NULL,
    model       TEXT NOT NULL,
    -- Tokens; NULL where the provider did not say.
    input       INTEGER,
    cached      INTEGER,
    cache_write INTEGER,
    output      INTEGER,
    reasoning   INTEGER,
    -- Billionths of a dollar by the prices of that day; NULL where nobody knows.
    cost        INTEGER,
    -- It cost something that nobody knows.
    unpriced    INTEGER NOT NULL CHECK (unpriced IN (0, 1)),
    -- The class of its failure.
    error       TEXT,
    PRIMARY KEY (session, no)
) STRICT, WITHOUT ROWID;

-- Holds all that the sums of a day need.
CREATE INDEX usage_by_time ON usage (at, input, output, cost, unpriced);

INSERT INTO usage
SELECT session, no,
    coalesce((SELECT json_extract(t.json, '$.turn') FROM records t
        WHERE t.session = r.session AND t.kind = 'turn_started' AND t.no < r.no ORDER BY t.no DESC LIMIT 1), 0),
    at, coalesce(provider, ''), coalesce(model, ''), input, cached, cache_write, output, reasoning, cost,
    cost IS NULL AND CASE WHEN json_type(json, '$.usage') = 'object'
        THEN input IS NOT NULL OR output IS NOT NULL
        ELSE error IS NULL OR error IN ('truncated', 'idle', 'malformed') END,
    error
FROM (SELECT session, no, at, json,
    json_extract(json, '$.provider') AS provider, json_extract(json, '$.model') AS model,
    CAST(min(json_extract(json, '$.usage.input'), 1125899906842624) AS INTEGER) AS input,
    CAST(min(json_extract(json, '$.usage.cached_input'), 1125899906842624) AS INTEGER) AS cached,
    CAST(min(json_extract(json, '$.usage.cache_write'), 1125899906842624) AS INTEGER) AS cache_write,
    CAST(min(json_extract(json, '$.usage.output'), 1125899906842624) AS INTEGER) AS output,
    CAST(min(json_extract(json, '$.usage.reasoning'), 1125899906842624) AS INTEGER) AS reasoning,
    CAST(min(json_extract(json, '$.cost'), 1125899906842624) AS INTEGER) AS cost,
    json_extract(json, '$.error') AS error
    FROM records WHERE kind = 'request_ended') r;
