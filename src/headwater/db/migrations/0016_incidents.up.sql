-- What an operator is told without looking: incidents, who was told of them, and what they are judged by.

-- A condition from when it began to hold until it was over for a while; one at a time for each subject.
CREATE TABLE incidents (
    id uuid PRIMARY KEY,
    condition varchar(60) NOT NULL,
    subject text NOT NULL,  -- a feed's id, a stage, a queue, or nothing
    summary text NOT NULL,
    since timestamptz NOT NULL,  -- when what is wrong began, which may be long before it counted
    began_at timestamptz NOT NULL,
    last_held_at timestamptz NOT NULL,
    ended_at timestamptz
);

CREATE UNIQUE INDEX incidents_open ON incidents (condition, subject) WHERE ended_at IS NULL;
CREATE INDEX incidents_ended ON incidents (ended_at DESC, id DESC) WHERE ended_at IS NOT NULL;

-- One at a time for each channel: what comes while it cannot be sent waits, and goes into the next.
CREATE TABLE incident_messages (
    id uuid PRIMARY KEY,
    channel text NOT NULL,
    is_of_feeds boolean NOT NULL,
    made_at timestamptz NOT NULL,
    ready_at timestamptz NOT NULL,  -- when to send it, or until when somebody does
    attempts integer NOT NULL DEFAULT 0,
    sent_at timestamptz,
    error text
);

CREATE UNIQUE INDEX incident_messages_unsent ON incident_messages (channel) WHERE sent_at IS NULL;
CREATE INDEX incident_messages_of_feeds ON incident_messages (channel, made_at) WHERE is_of_feeds;

-- That an incident began, and that it ended, is told to each channel once.
CREATE TABLE incident_tellings (
    incident_id uuid NOT NULL REFERENCES incidents ON DELETE CASCADE,
    channel text NOT NULL,
    kind varchar(10) NOT NULL CONSTRAINT incident_tellings_kind CHECK (kind IN ('began', 'ended')),
    message_id uuid REFERENCES incident_messages,
    CONSTRAINT incident_tellings_pkey PRIMARY KEY (incident_id, channel, kind)
);

CREATE INDEX incident_tellings_untold ON incident_tellings (channel) WHERE message_id IS NULL;
CREATE INDEX incident_tellings_by_message ON incident_tellings (message_id) WHERE message_id IS NOT NULL;

-- What must be seen over time: a row for each evaluation, kept as long as any condition looks back.
CREATE TABLE alert_samples (
    at timestamptz PRIMARY KEY,
    stages jsonb NOT NULL,
    queues jsonb NOT NULL
);

-- When anybody last looked, and what was seen: every process shows the same to Prometheus.
CREATE TABLE alert_state (
    is_only boolean PRIMARY KEY DEFAULT true CONSTRAINT alert_state_one_row CHECK (is_only),
    evaluated_at timestamptz,
    facts jsonb NOT NULL DEFAULT '{}'
);

INSERT INTO alert_state DEFAULT VALUES;

-- Processes that take it to be their own network that is gone; each says so again while it lasts.
CREATE TABLE own_outages (
    worker uuid PRIMARY KEY,
    stage varchar(20) NOT NULL,
    since timestamptz NOT NULL,
    seen_at timestamptz NOT NULL
);

-- And no policy: no reader's.
ALTER TABLE incidents ENABLE ROW LEVEL SECURITY;
ALTER TABLE incident_messages ENABLE ROW LEVEL SECURITY;
ALTER TABLE incident_tellings ENABLE ROW LEVEL SECURITY;
ALTER TABLE alert_samples ENABLE ROW LEVEL SECURITY;
ALTER TABLE alert_state ENABLE ROW LEVEL SECURITY;
ALTER TABLE own_outages ENABLE ROW LEVEL SECURITY;
