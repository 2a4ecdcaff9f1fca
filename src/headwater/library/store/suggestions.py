"""Values that a user's queries may name: their feeds, categories and tags."""

from headwater.db import Connection, fetch_column


async def find_names(conn: Connection, *, part: str, most: int) -> list[str]:
    """Names of feeds that contain this text."""
    statement = """
        SELECT DISTINCT name FROM subscriptions WHERE strpos(lower(name), lower(%(part)s)) > 0
        ORDER BY name LIMIT %(most)s
    """
    return await fetch_column(conn, statement, {"part": part, "most": most})


async def find_categories(conn: Connection, *, part: str, most: int) -> list[str]:
    statement = """
        SELECT DISTINCT category FROM subscriptions WHERE strpos(lower(category), lower(%(part)s)) > 0
        ORDER BY category LIMIT %(most)s
    """
    return await fetch_column(conn, statement, {"part": part, "most": most})


async def find_tags(conn: Connection, *, part: str, most: int) -> list[str]:
    """Tags of feeds, and of the newest tagged articles."""
    statement = """
        SELECT DISTINCT tag
        FROM (
            SELECT unnest(tags) AS tag FROM subscriptions
            UNION ALL
            SELECT unnest(tags)
            FROM (
                SELECT tags FROM marks WHERE tags <> '{}' ORDER BY article_id DESC LIMIT 1000
            ) AS newest
        ) AS every
        WHERE strpos(lower(tag), lower(%(part)s)) > 0
        ORDER BY tag LIMIT %(most)s
    """
    return await fetch_column(conn, statement, {"part": part, "most": most})
