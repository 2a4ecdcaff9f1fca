"""What settings become: options of the pages, and external_accounts who are believed."""

from datetime import timedelta
from typing import cast

import pytest

from headwater.accounts.types import AccountOptions
from headwater.channels.types import DestinationLimits
from headwater.db import Database
from headwater.errors import Invalid, InvalidSettings
from headwater.net import Client
from headwater.pipeline import Tools, every_stage
from headwater.runtime import destination_limits, mailer_of, openid_login, options_of, token_issuer, web_options
from headwater.sandbox import Sandbox
from headwater.settings import Settings, load_settings
from tests.clock import START

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


@pytest.mark.parametrize(
    ("host", "site"),
    [("::", "http://127.0.0.1:8000"), ("0.0.0.0", "http://127.0.0.1:8000"), ("::1", "http://[::1]:8000")],
)
def test_links_that_stages_write_have_an_address_that_can_be_opened(host: str, site: str) -> None:
    assert options_of(settings(host=host)).alerts.site == site


@pytest.mark.parametrize("enabled", ["true", "false"])
def test_classifying_can_be_disabled(enabled: str) -> None:
    assert options_of(settings(classify_enabled=enabled)).classifying.is_enabled is (enabled == "true")


def test_the_lease_of_classifying_is_longer_than_a_batch_that_is_killed_and_repeated() -> None:
    options = options_of(settings(classify_timeout="1m")).classifying

    assert options.lease > (options.batch + 1) * timedelta(minutes=1)


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


@pytest.mark.parametrize(
    ("given", "runs"),
    [
        ({}, False),
        ({"openrouter_api_key": "sk-or-1"}, True),
        ({"openrouter_api_key": "sk-or-1", "ai_tagging": "false"}, False),
        ({"ai_tagging": "true"}, False),
    ],
    ids=["no key", "key", "disabled", "enabled without a key"],
)
async def test_tagging_runs_only_with_a_key(given: dict[str, str], runs: bool) -> None:
    options = options_of(settings(**given))
    sandbox = cast("Sandbox", None)
    tools = Tools(cast("Database", None), CLIENT, sandbox, sandbox, sandbox, sandbox, lambda: START, options)

    assert ("tagging" in every_stage(tools)) is runs


def test_tagging_has_its_own_model_and_number_of_requests() -> None:
    tagging = options_of(settings(ai_tagging_model="local/small", ai_tagging_concurrency="7")).tagging

    assert (tagging.model, tagging.concurrency) == ("local/small", 7)


def test_where_channels_may_send_to_is_set() -> None:
    given = destination_limits(settings(channel_hosts="Redis.internal, 127.0.0.1", channel_directory="/var/channels"))

    assert given == DestinationLimits(frozenset({"redis.internal", "127.0.0.1"}), has_directory=True)
    assert destination_limits(settings()) == DestinationLimits()


@pytest.mark.parametrize("wrong", [{"channel_hosts": "redis://internal"}, {"channel_directory": "channels"}])
def test_wrong_destinations_are_refused_at_the_start(wrong: dict[str, str]) -> None:
    with pytest.raises(InvalidSettings):
        settings(**wrong)
