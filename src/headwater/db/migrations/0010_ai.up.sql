-- Calls to language models: what they cost, and the monthly ceiling. All amounts are in micro-dollars.

-- The ceiling of each month, and what is spent of it. A call reserves the most it can cost before it is made.
CREATE TABLE ai_budget (
    month date PRIMARY KEY CONSTRAINT ai_budget_month CHECK (extract(day FROM month) = 1),
    ceiling_micros bigint CONSTRAINT ai_budget_ceiling CHECK (ceiling_micros >= 0),  -- NULL: as the setting says
    spent_micros bigint NOT NULL DEFAULT 0,
    reserved_micros bigint NOT NULL DEFAULT 0 CONSTRAINT ai_budget_reserved CHECK (reserved_micros >= 0),
    reached_at timestamptz,  -- when the ceiling refused the first call; NULL again when it is raised
    reached_ceiling_micros bigint  -- the ceiling that refused it: the settings may have a higher one by now
);

-- Calls in progress. One that is not settled until `expires_at` was lost with its process, and counts as spent in full.
CREATE TABLE ai_reservations (
    id uuid PRIMARY KEY,
    month date NOT NULL,
    purpose varchar(20) NOT NULL,
    model varchar(200) NOT NULL,
    amount_micros bigint NOT NULL CONSTRAINT ai_reservations_amount CHECK (amount_micros >= 0),
    made_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL
);

CREATE INDEX ai_reservations_expired ON ai_reservations (expires_at);

-- What was spent, by day.
CREATE TABLE ai_usage_tracking (
    day date NOT NULL,
    month date NOT NULL GENERATED ALWAYS AS (date_trunc('month', day::timestamp)::date) STORED,
    purpose varchar(20) NOT NULL,
    model varchar(200) NOT NULL,
    requests integer NOT NULL,
    failures integer NOT NULL,
    tokens_in bigint NOT NULL,
    tokens_out bigint NOT NULL,
    cost_micros bigint NOT NULL,
    PRIMARY KEY (day, purpose, model)
);

CREATE INDEX ai_usage_tracking_by_month ON ai_usage_tracking (month);
