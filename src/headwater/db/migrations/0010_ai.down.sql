DROP TABLE ai_usage_tracking, ai_reservations, ai_budget;
