"""Two mailboxes that compare as equal when case is folded: `strasse` and `straße`. One of them opens no account of the
other."""

import pytest

from headwater.accounts.access import Access, LoggedIn
from headwater.accounts.changes import create_account
from headwater.accounts.external import ExternalAccounts
from headwater.accounts.types import AccountOptions, Identity, User, Visitor
from headwater.db import Database
from headwater.errors import EmailTaken
from tests.accounts.mailbox import collect
from tests.clock import MovableClock

pytestmark = pytest.mark.database

THIEF = Visitor("203.0.113.7", "a thief's")
PASSWORD = "correct horse battery"
ANN = "ann@strasse.example"
LOOKALIKES = ["ann@straße.example", "ann@ſtrasse.example", "ANN@STRAẞE.EXAMPLE"]


@pytest.fixture
async def ann(database: Database, clock: MovableClock) -> User:
    return await create_account(database, clock, email=ANN, password=PASSWORD, role=None)


@pytest.mark.parametrize("typed", [*LOOKALIKES, "ANN@Strasse.Example"])
async def test_a_link_to_reset_a_password_goes_to_the_email_of_the_account(
    database: Database, clock: MovableClock, ann: User, typed: str
) -> None:
    await Access(database, clock, AccountOptions()).ask_for_reset(typed, THIEF)

    assert [email.email for email in await collect(database, clock)] == [ann.email]


@pytest.mark.parametrize("typed", LOOKALIKES)
async def test_only_the_owner_of_a_taken_email_is_told_that_it_has_an_account(
    database: Database, clock: MovableClock, ann: User, typed: str
) -> None:
    access = Access(database, clock, AccountOptions(hide_accounts=True))

    assert not isinstance(await access.register(typed, PASSWORD, THIEF), LoggedIn)

    assert [email.email for email in await collect(database, clock)] == [ann.email]


@pytest.mark.parametrize("verified", LOOKALIKES)
async def test_a_verified_lookalike_leads_to_no_account(
    database: Database, clock: MovableClock, ann: User, verified: str
) -> None:
    assert ann
    external_accounts = ExternalAccounts(database, clock, AccountOptions())

    with pytest.raises(EmailTaken):
        await external_accounts.account_of(
            Identity("https://issuer.example", "thief", verified, True), may_be_first=False
        )
