"""Icons of feeds and lead images of articles, for those who may see the feed or the article. Browsers cache them for
ever under a URL that has their digest."""

from uuid import UUID

from litestar import Response, get
from litestar.params import FromPath, FromQuery

from headwater.asgi.handlers import AnyRequest, Call
from headwater.errors import NotFound
from headwater.images.types import StoredImage
from headwater.library.store import images

MEDIA_TYPE = "image/webp"
FOR_EVER = "private, max-age=31536000, immutable"
ASK_AGAIN = "private, no-cache"


@get("/images/feeds/{feed_id:uuid}")
async def feed_icon(call: Call, feed_id: FromPath[UUID], v: FromQuery[str] = "") -> Response[bytes]:
    """The icon of one of the user's feeds. Raises NotFound."""
    async with call.as_user() as conn:
        found = await images.find_icon(conn, feed_id=feed_id)
    return _send(call.request, found, v)


@get("/images/articles/{article_id:uuid}")
async def lead_image(call: Call, article_id: FromPath[UUID], v: FromQuery[str] = "") -> Response[bytes]:
    """The lead image of an article of the user's feeds, or a starred or saved one. Raises NotFound."""
    async with call.as_user() as conn:
        found = await images.find_lead(conn, article_id=article_id)
    return _send(call.request, found, v)


def _send(request: AnyRequest, image: StoredImage | None, version: str) -> Response[bytes]:
    if image is None:
        raise NotFound("Image not found.")
    headers = {"ETag": f'"{image.digest}"', "Cache-Control": FOR_EVER if version == image.digest else ASK_AGAIN}
    if headers["ETag"] in request.headers.get("if-none-match", ""):
        return Response(b"", status_code=304, headers=headers, media_type=MEDIA_TYPE)
    return Response(image.data, headers=headers, media_type=MEDIA_TYPE)
