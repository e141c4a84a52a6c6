CREATE TABLE IF NOT EXISTS spans (
    id TEXT PRIMARY KEY,
    trace_id TEXT NOT NULL,
    parent_id TEXT,
    name TEXT NOT NULL,
    kind TEXT,
    start_time INTEGER NOT NULL,
    end_time INTEGER,
    duration_ms REAL,
    status_code TEXT,
    status_description TEXT,
    attributes TEXT,
    events TEXT,
    resource TEXT
);
CREATE INDEX IF NOT EXISTS idx_spans_trace ON spans (trace_id);
CREATE INDEX IF NOT EXISTS idx_spans_parent ON spans (parent_id);
CREATE INDEX IF NOT EXISTS idx_spans_start ON spans (start_time DESC);
