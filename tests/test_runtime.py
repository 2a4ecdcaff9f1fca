"""What settings become: options of the pages, and external_accounts who are believed."""

import pytest

from headwater.accounts.types import AccountOptions
from headwater.errors import Invalid
from headwater.net import Client
from headwater.runtime import mailer_of, openid_login, token_issuer, web_options
from headwater.settings import Settings, load_settings

SECRET = "a secret of the issuer's, long enough"
CLIENT = Client(user_agent="test")


def settings(**given: str) -> Settings:
    return load_settings({f"HEADWATER_{name.upper()}": value for name, value in given.items()}).values


@pytest.mark.parametrize(
    ("given", "site"),
    [
        ({}, "http://127.0.0.1:4711"),
        ({"public_url": "https://reader.example/"}, "https://reader.example"),
    ],
    ids=["default", "set"],
)
def test_links_in_letters_lead_to_where_people_find_us(given: dict[str, str], site: str) -> None:
    assert web_options(settings(**given), listens_at="http://127.0.0.1:4711").site == site


def test_accounts_use_the_default_options_unless_set() -> None:
    told = settings(registration="false", confirm_email="true", hide_accounts="true", session_renewal="5m")

    assert web_options(settings()).accounts == AccountOptions()
    accounts = web_options(told).accounts
    assert (accounts.registration, accounts.confirm_email, accounts.hide_accounts) == (False, True, True)
    assert accounts.access_lifetime.total_seconds() == 300


@pytest.mark.parametrize(
    "given",
    [
        {"smtp_url": "http://mail.example"},
        {"jwt_key": SECRET},
        {"jwt_issuer": "https://issuer.example"},
        {"jwt_issuer": "https://issuer.example", "jwt_key": SECRET, "jwks_url": "https://issuer.example/jwks"},
        {"jwt_issuer": "https://issuer.example", "jwt_key": "short"},
        {"oidc_issuer": "https://issuer.example"},
        {"oidc_issuer": "https://issuer.example", "oidc_client_id": "x"},
    ],
    ids=["smtp", "whose-key", "no-key", "two-keys", "short-key", "no-client", "no-secret"],
)
def test_settings_that_do_not_go_together_are_refused_at_the_start(given: dict[str, str]) -> None:
    with pytest.raises(Invalid, match="HEADWATER_") as refusal:
        _everything(settings(**given))

    assert SECRET not in str(refusal.value)


def test_outsiders_are_believed_only_where_they_are_set() -> None:
    keys = settings(jwt_issuer="https://issuer.example", jwks_url="https://issuer.example/jwks")
    login = settings(oidc_issuer="https://issuer.example", oidc_client_id="x", oidc_client_secret="y")

    assert _everything(settings()) == (None, None)
    assert token_issuer(keys, CLIENT) is not None
    assert openid_login(login, CLIENT, site="https://reader.example") is not None


def _everything(values: Settings) -> tuple[object, object]:
    mailer_of(values)
    web = web_options(values)
    return token_issuer(values, CLIENT), openid_login(values, CLIENT, site=web.site)
