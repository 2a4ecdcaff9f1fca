from pathlib import Path

import pytest

from headwater_lab.zoo import DOMAIN
from tests.conftest import GIVEN_SERVER
from tests.headwater_process import Headwater


@pytest.fixture
def headwater(open_folder: Path, request: pytest.FixtureRequest) -> Headwater:
    """Headwater in a new folder, its own database in it; or, where a server is given, a new database there."""
    settings = {"HEADWATER_ALLOW_LOOPBACK": "true", "HEADWATER_RESOLVE": f"{DOMAIN}=127.0.0.1"}
    if GIVEN_SERVER:
        settings["DATABASE_URL"] = request.getfixturevalue("conninfo")
    return Headwater(open_folder, **settings)
