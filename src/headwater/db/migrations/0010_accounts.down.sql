DROP TABLE events, shared_secrets, attempts, outside_identities, api_tokens, mailed_tokens, sessions, users;
