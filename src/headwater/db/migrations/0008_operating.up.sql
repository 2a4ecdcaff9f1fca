-- Operating: incidents and their messages, what alerting measures, our own outages, and the clock.


-- Incidents

-- From when a condition began to hold until it had not held for a while; one at a time for each subject.
CREATE TABLE incidents (
    id uuid PRIMARY KEY,
    condition varchar(60) NOT NULL,
    subject text NOT NULL,  -- a feed's id, a stage, a queue, or empty
    summary text NOT NULL,
    since timestamptz NOT NULL,  -- when the problem began, which may be long before the incident
    began_at timestamptz NOT NULL,
    last_held_at timestamptz NOT NULL,
    ended_at timestamptz
);

CREATE UNIQUE INDEX incidents_open ON incidents (condition, subject) WHERE ended_at IS NULL;
CREATE INDEX incidents_ended ON incidents (ended_at DESC, id DESC) WHERE ended_at IS NOT NULL;

-- One unsent message at a time for each channel: what happens until it is sent goes into the next.
CREATE TABLE incident_messages (
    id uuid PRIMARY KEY,
    channel text NOT NULL,
    is_of_feeds boolean NOT NULL,
    made_at timestamptz NOT NULL,
    ready_at timestamptz NOT NULL,  -- when to send it; while it is being sent, the end of the lease
    attempts integer NOT NULL DEFAULT 0,
    sent_at timestamptz,
    error text
);

CREATE UNIQUE INDEX incident_messages_unsent ON incident_messages (channel) WHERE sent_at IS NULL;
CREATE INDEX incident_messages_of_feeds ON incident_messages (channel, made_at) WHERE is_of_feeds;

-- The start and the end of an incident are each reported once to each channel.
CREATE TABLE incident_notices (
    incident_id uuid NOT NULL REFERENCES incidents ON DELETE CASCADE,
    channel text NOT NULL,
    kind varchar(10) NOT NULL CONSTRAINT incident_notices_kind CHECK (kind IN ('began', 'ended')),
    message_id uuid REFERENCES incident_messages,
    PRIMARY KEY (incident_id, channel, kind)
);

CREATE INDEX incident_notices_unsent ON incident_notices (channel) WHERE message_id IS NULL;
CREATE INDEX incident_notices_by_message ON incident_notices (message_id) WHERE message_id IS NOT NULL;

ALTER TABLE incidents ENABLE ROW LEVEL SECURITY;
ALTER TABLE incident_messages ENABLE ROW LEVEL SECURITY;
ALTER TABLE incident_notices ENABLE ROW LEVEL SECURITY;


-- What alerting measures

-- A row for each evaluation, kept as long as any condition looks back.
CREATE TABLE alert_samples (
    at timestamptz PRIMARY KEY,
    stages jsonb NOT NULL,
    queues jsonb NOT NULL
);

-- The last evaluation and its values: every process shows the same to Prometheus.
CREATE TABLE alert_state (
    is_only boolean PRIMARY KEY DEFAULT true CONSTRAINT alert_state_one_row CHECK (is_only),
    evaluated_at timestamptz,
    facts jsonb NOT NULL DEFAULT '{}'
);

INSERT INTO alert_state DEFAULT VALUES;

-- Processes that detect an outage of our own network; each updates its row while it lasts.
CREATE TABLE own_outages (
    worker uuid PRIMARY KEY,
    stage varchar(20) NOT NULL,
    since timestamptz NOT NULL,
    seen_at timestamptz NOT NULL
);

ALTER TABLE alert_samples ENABLE ROW LEVEL SECURITY;
ALTER TABLE alert_state ENABLE ROW LEVEL SECURITY;
ALTER TABLE own_outages ENABLE ROW LEVEL SECURITY;


-- The clock

-- The times that processes saw. A clock far from the last trusted time is reported, and nothing is deleted by it; a
-- latest time in the future means that a wrong clock may have written schedules.
CREATE TABLE clock_state (
    is_only boolean PRIMARY KEY DEFAULT true CONSTRAINT clock_state_one_row CHECK (is_only),
    trusted_at timestamptz,
    latest_at timestamptz
);

INSERT INTO clock_state DEFAULT VALUES;
