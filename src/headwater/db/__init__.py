"""The database: connection pool, embedded server, schema and migrations."""

from headwater.db.batch import WriteBatch
from headwater.db.pool import (
    Connection,
    Database,
    RequestDatabase,
    check_conninfo,
    see_all_users,
    set_user,
    time_limit,
    translate,
)
from headwater.db.query import fetch_all, fetch_column, fetch_one, fetch_row, fetch_rows, fetch_value

__all__ = [
    "Connection", "Database", "RequestDatabase", "WriteBatch", "check_conninfo", "fetch_all", "fetch_column",
    "fetch_one", "fetch_row", "fetch_rows", "fetch_value", "see_all_users", "set_user", "time_limit", "translate",
]  # fmt: skip
