"""The one database: a pool of connections, the embedded server, the schema and its migrations."""

from headwater.db.batch import Batch
from headwater.db.pool import (
    Connection,
    Database,
    RequestDatabase,
    check_conninfo,
    see_all_users,
    speak_for,
    translate,
)
from headwater.db.query import fetch_all, fetch_column, fetch_one, fetch_rows, fetch_value

__all__ = [
    "Batch",
    "Connection",
    "Database",
    "RequestDatabase",
    "check_conninfo",
    "fetch_all",
    "fetch_column",
    "fetch_one",
    "fetch_rows",
    "fetch_value",
    "see_all_users",
    "speak_for",
    "translate",
]
