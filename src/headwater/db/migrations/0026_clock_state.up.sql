-- What processes saw of the time. A clock far from the last time that was trusted is reported, and nothing is deleted by
-- it; a latest time that is still to come tells that schedules may have been written by a wrong clock.
CREATE TABLE clock_state (
    is_only boolean CONSTRAINT clock_state_pkey PRIMARY KEY DEFAULT true CONSTRAINT clock_state_one_row CHECK (is_only),
    trusted_at timestamptz,
    latest_at timestamptz
);

INSERT INTO clock_state DEFAULT VALUES;
