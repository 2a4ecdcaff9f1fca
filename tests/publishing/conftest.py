import os
from collections.abc import AsyncIterator, Iterator
from datetime import timedelta
from uuid import uuid4

import pytest

from headwater.publishing.elasticsearch import SearchIndex
from headwater.publishing.types import IndexOptions
from scripts import opensearch
from tests.publishing.real_opensearch import open_search
from tests.publishing.stub_elasticsearch import StubElasticsearch

# An Elasticsearch or OpenSearch that tests may make indices in; read before settings of this machine are forgotten.
GIVEN_INDEX = os.environ.get("ELASTICSEARCH_URL", "")

OPTIONS = IndexOptions(
    batch_documents=500,
    batch_bytes=5_000_000,
    concurrency=2,
    lease=timedelta(minutes=5),
    wait_min=timedelta(seconds=1),
    wait_max=timedelta(minutes=5),
)


@pytest.fixture
async def stub() -> AsyncIterator[StubElasticsearch]:
    async with StubElasticsearch() as stub:
        yield stub


@pytest.fixture
async def index(stub: StubElasticsearch) -> AsyncIterator[SearchIndex]:
    async with SearchIndex(stub.url, alias="raw_content", timeout=timedelta(seconds=30)) as index:
        yield index


@pytest.fixture(scope="session")
def real_url() -> Iterator[str]:
    """The server that was given, or an OpenSearch of our own."""
    if GIVEN_INDEX:
        yield GIVEN_INDEX
    elif opensearch.is_complete():
        with open_search() as url:
            yield url
    else:
        pytest.skip("ELASTICSEARCH_URL is not set, and OpenSearch was not fetched")


@pytest.fixture(params=["stub", pytest.param("real", marks=pytest.mark.soak)])
def server_url(request: pytest.FixtureRequest, stub: StubElasticsearch) -> str:
    """The stub, and a real server: both must answer alike."""
    return request.getfixturevalue("real_url") if request.param == "real" else stub.url


@pytest.fixture
def alias() -> str:
    return f"test-{uuid4().hex}"
