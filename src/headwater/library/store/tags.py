"""The tags of a user: on articles, which `marks` adds, and on feeds. Run under `Database.as_user`."""

from headwater.db import Connection, fetch_all, fetch_column
from headwater.library.types import UsedTag

ARTICLES_COUNTED = 5_000  # the newest with a tag
TAGS_MOST = 500


async def list_tags(conn: Connection) -> list[UsedTag]:
    """The tags of the user's feeds and of the newest tagged articles, by name, with how many have each."""
    statement = """
        SELECT tag, sum(articles)::integer AS articles, sum(feeds)::integer AS feeds
        FROM (
            SELECT unnest(tags) AS tag, 1 AS articles, 0 AS feeds
            FROM (
                SELECT tags FROM marks WHERE tags <> '{}' ORDER BY article_id DESC LIMIT %(counted)s
            ) AS newest
            UNION ALL
            SELECT unnest(tags), 0, 1 FROM subscriptions WHERE tags <> '{}'
        ) AS used
        GROUP BY tag
        ORDER BY tag LIMIT %(most)s
    """
    return await fetch_all(conn, UsedTag, statement, {"counted": ARTICLES_COUNTED, "most": TAGS_MOST})


async def list_names(conn: Connection) -> list[str]:
    """The names of the user's tags, for the side bar and to choose from."""
    statement = """
        SELECT DISTINCT tag
        FROM (
            SELECT unnest(tags) AS tag
            FROM (SELECT tags FROM marks WHERE tags <> '{}' ORDER BY article_id DESC LIMIT 1000) AS newest
            UNION ALL
            SELECT unnest(tags) FROM subscriptions WHERE tags <> '{}'
        ) AS used
        ORDER BY tag LIMIT 200
    """
    return await fetch_column(conn, statement)
