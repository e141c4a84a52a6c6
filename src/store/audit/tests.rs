//! Tampering with the audit, by whoever has the file: each kind of it and what is found.
