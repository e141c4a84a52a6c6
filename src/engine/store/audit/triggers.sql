-- What keeps rows of the audit from being changed or removed, as the migration made it; put back where it is missing.
CREATE TRIGGER IF NOT EXISTS audit_grows_at_its_end BEFORE INSERT ON audit
WHEN NEW.no <> (SELECT coalesce(max(no), 0) + 1 FROM audit)
BEGIN
    SELECT RAISE(ABORT, 'the audit grows at its end only');
END;

CREATE TRIGGER IF NOT EXISTS audit_never_changes BEFORE UPDATE ON audit
BEGIN
    SELECT RAISE(ABORT, 'the audit never changes');
END;

CREATE TRIGGER IF NOT EXISTS audit_keeps_its_rows BEFORE DELETE ON audit
WHEN OLD.no > (SELECT prunable FROM audit_guard)
BEGIN
    SELECT RAISE(ABORT, 'the audit keeps its rows');
END;
