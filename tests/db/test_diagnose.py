"""Causes of failed connections, each with its fix."""

import pytest
from psycopg.conninfo import make_conninfo

from headwater.db.diagnose import ConnectFault, diagnose, fault_in
from tests.conftest import GIVEN_SERVER


async def test_a_server_that_is_down() -> None:
    found = await diagnose("host=127.0.0.1 port=1 dbname=x user=y")

    assert found is not None
    assert found.fault is ConnectFault.DOWN
    assert "Start the server" in found.fix


@pytest.mark.database
async def test_a_database_that_is_missing(server_conninfo: str) -> None:
    found = await diagnose(make_conninfo(server_conninfo, dbname="nowhere"))

    assert found is not None
    assert found.fault is ConnectFault.NO_DATABASE
    assert "CREATE DATABASE nowhere;" in found.fix


@pytest.mark.database
async def test_a_login_that_is_missing_or_has_another_password(server_conninfo: str) -> None:
    found = await diagnose(make_conninfo(server_conninfo, user="nobody_here", password="wrong"))

    assert found is not None
    assert found.fault is (ConnectFault.WRONG_PASSWORD if GIVEN_SERVER else ConnectFault.NO_LOGIN)


@pytest.mark.database
async def test_a_connection_that_works(server_conninfo: str) -> None:
    assert await diagnose(server_conninfo) is None


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        ('FATAL:  password authentication failed for user "ann"', ConnectFault.WRONG_PASSWORD),
        ("fe_sendauth: no password supplied", ConnectFault.WRONG_PASSWORD),
        ("FATAL:  sorry, too many clients already", ConnectFault.BUSY),
        ("FATAL:  the database system is starting up", ConnectFault.BUSY),
        ('could not translate host name "db" to address', ConnectFault.UNKNOWN_HOST),
        ('FATAL:  no pg_hba.conf entry for host "10.0.0.1"', ConnectFault.NOT_ADMITTED),
        ("something else", None),
    ],
)
def test_what_postgresql_says_names_the_fault(words: str, fault: ConnectFault | None) -> None:
    assert fault_in(words) is fault
