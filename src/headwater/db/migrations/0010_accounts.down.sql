DROP TABLE events, attempts, outside_identities, api_tokens, mailed_tokens, sessions, users;
