"""Short names for types that handlers of pages and of the API share."""

from typing import Any

from litestar import Request
from litestar.connection import ASGIConnection
from litestar.di import NamedDependency
from litestar.enums import RequestEncodingType
from litestar.params import Body

from headwater.db import Database
from headwater.types import Clock

AnyConnection = ASGIConnection[Any, Any, Any, Any]
AnyRequest = Request[Any, Any, Any]
Db = NamedDependency[Database]
Now = NamedDependency[Clock]
Form = Body(media_type=RequestEncodingType.URL_ENCODED)
