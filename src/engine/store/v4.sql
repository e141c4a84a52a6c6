-- From here on the hash of a request is of its whole text: what was shown of it is bound as its arguments are. The
-- rows are hashed anew by the program.

-- Those that a clock that was ahead expired wait again, as long as their sessions were not told.
CREATE INDEX approvals_untold ON approvals (expires) WHERE state = 'expired' AND expiry_noted = 0;
