from datetime import timedelta
from pathlib import Path

import pytest

from headwater.errors import InvalidSettings
from headwater.settings import PLAIN_NAMES, Settings, allowed, load_settings, show_duration, shown


def problems(environ: dict[str, str]) -> str:
    with pytest.raises(InvalidSettings) as refused:
        load_settings(environ)
    return str(refused.value)


def test_every_setting_has_a_sentence_and_says_what_it_takes() -> None:
    for name, field in Settings.model_fields.items():
        assert field.description, name
        assert field.description.endswith("."), name
        assert allowed(name), name


def test_settings_do_not_change() -> None:
    with pytest.raises(ValueError, match="frozen"):
        load_settings({}).values.port = 1


def test_the_environment_wins_over_the_file_and_an_option_over_both(tmp_path: Path) -> None:
    file = tmp_path / "my.toml"
    file.write_text('port = 1000\nlog_level = "debug"\npoll_timeout = "5s"\n')

    loaded = load_settings(
        {"HEADWATER_CONFIG": str(file), "HEADWATER_PORT": "2000", "HEADWATER_POLL_TIMEOUT": "7s"},
        overrides={"poll_timeout": "9s"},
    )

    assert (loaded.values.log_level, loaded.origin("log_level")) == ("debug", str(file))
    assert (loaded.values.port, loaded.origin("port")) == (2000, "HEADWATER_PORT")
    assert (loaded.values.poll_timeout, loaded.origin("poll_timeout")) == (timedelta(seconds=9), "command line")
    assert loaded.origin("host") == "default"


def test_a_file_in_the_current_folder_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "headwater.toml").write_text("port = 1234\n[resolve]\n'zoo.test' = '127.0.0.1'\n")
    monkeypatch.chdir(tmp_path)

    values = load_settings({}).values

    assert values.port == 1234
    assert values.resolve == {"zoo.test": "127.0.0.1"}


@pytest.mark.parametrize(
    ("environ", "message"),
    [
        ({"HEADWATER_PORT": "abc"}, "HEADWATER_PORT is 'abc': a whole number from 0 to 65535 is needed."),
        ({"HEADWATER_PORT": "65536"}, "HEADWATER_PORT is '65536': a whole number from 0 to 65535 is needed."),
        (
            {"HEADWATER_LOG_LEVEL": "loud"},
            "HEADWATER_LOG_LEVEL is 'loud': one of debug, info, warning, error is needed.",
        ),
        ({"HEADWATER_ALLOW_LOOPBACK": "perhaps"}, "HEADWATER_ALLOW_LOOPBACK is 'perhaps': true or false is needed."),
        ({"HEADWATER_RESOLVE": "zoo.test=nowhere"}, "a list of name=address, such as zoo.test=127.0.0.1 is needed."),
        ({"HEADWATER_PROT": "1"}, "HEADWATER_PROT is not a setting. Did you mean HEADWATER_PORT?"),
        (
            {"HEADWATER_CONFIG": "/does/not/exist.toml"},
            "HEADWATER_CONFIG is '/does/not/exist.toml': there is no such file.",
        ),
    ],
)
def test_a_wrong_value_is_named_with_what_is_allowed(environ: dict[str, str], message: str) -> None:
    assert message in problems(environ)


def test_all_invalid_values_are_reported_at_once() -> None:
    told = problems({"HEADWATER_PORT": "x", "HEADWATER_POLL_TIMEOUT": "soon"})

    assert "HEADWATER_PORT" in told
    assert "HEADWATER_POLL_TIMEOUT is 'soon': a duration from 100ms to 10m, such as 30s, 15m or 2h is needed." in told


@pytest.mark.parametrize(
    ("content", "message"),
    [("port = ", "cannot be read"), ("prot = 1", "Did you mean port?"), ("port = 'x'", "port in ")],
)
def test_a_wrong_file_is_named(tmp_path: Path, content: str, message: str) -> None:
    file = tmp_path / "headwater.toml"
    file.write_text(content)

    told = problems({"HEADWATER_CONFIG": str(file)})

    assert message in told
    assert str(file) in told


@pytest.mark.parametrize(
    ("text", "expected"),
    [("250ms", 0.25), ("30s", 30), ("15m", 900), ("1.5h", 5400), ("1d", 86400), ("90", 90)],
)
def test_durations_are_read_as_people_write_them(text: str, expected: float) -> None:
    name = "HEADWATER_POLL_INTERVAL" if expected >= 1 else "HEADWATER_DATABASE_WAIT"

    values = load_settings({name: text}).values

    assert timedelta(seconds=expected) in {values.poll_interval, values.database_wait}


@pytest.mark.parametrize(
    ("length", "text"),
    [
        (timedelta(days=1), "1d"),
        (timedelta(seconds=90), "90s"),
        (timedelta(milliseconds=100), "100ms"),
        (timedelta(0), "0s"),
    ],
)
def test_durations_are_shown_as_they_could_be_written(length: timedelta, text: str) -> None:
    assert show_duration(length) == text


@pytest.mark.parametrize(
    ("url", "mask"),
    [
        (
            "postgresql://ann:s3cr:t@db.example:5433/feeds?password=s3cr",
            "postgresql://ann:********@db.example:5433/feeds",
        ),
        ("postgresql://db.example/feeds", "postgresql://db.example/feeds"),
        ("host=db.example password=s3cr", "********"),
    ],
)
def test_a_password_is_never_shown(url: str, mask: str) -> None:
    values = load_settings({"DATABASE_URL": url}).values

    assert shown("database_url", values.database_url) == mask
    assert "s3cr" not in repr(values)


def test_an_empty_database_url_means_the_embedded_server() -> None:
    assert load_settings({"DATABASE_URL": ""}).values.database_url is None


def test_our_own_name_wins_over_the_plain_one() -> None:
    values = load_settings(
        {"DATABASE_URL": "postgresql://plain/x", "HEADWATER_DATABASE_URL": "postgresql://own/x"}
    ).values

    assert values.database_url is not None
    assert values.database_url.get_secret_value() == "postgresql://own/x"


@pytest.mark.parametrize("token", ["short", "with a space in it", "0123456789abcdé-0123"], ids=["short", "space", "é"])
def test_a_token_that_could_be_guessed_or_not_be_sent_is_refused_without_being_shown(token: str) -> None:
    told = problems({"HEADWATER_API_TOKEN": token})

    assert "a secret of 16 or more letters, digits and signs is needed" in told
    assert token not in told


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ()),
        ("127.0.0.1", ("127.0.0.1",)),
        ("10.0.0.0/8, ::1", ("10.0.0.0/8", "::1")),
        ("10.1.2.3/8", ("10.0.0.0/8",)),
    ],
    ids=["none", "one", "several", "inside"],
)
def test_proxies_are_a_list_of_addresses_and_networks(text: str, expected: tuple[str, ...]) -> None:
    values = load_settings({"HEADWATER_TRUSTED_PROXIES": text}).values

    assert values.trusted_proxies == expected
    assert shown("trusted_proxies", values.trusted_proxies) == ", ".join(expected)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("TRUSTED_PROXIES", "*"),
        ("TRUSTED_PROXIES", "proxy.example"),
        ("PUBLIC_URL", "reader.example"),
        ("PUBLIC_URL", "https://reader.example/path"),
        ("PUBLIC_URL", "https://ann:pw@reader.example"),
        ("SMTP_FROM", "nobody"),
        ("SMTP_FROM", "a@b.example\r\nBcc: c@d.example"),
        ("SESSION_LIFETIME", "1s"),
        ("OIDC_ISSUER", "accounts.example"),
        ("JWKS_URL", "file:///etc/passwd"),
    ],
)
def test_what_people_find_us_by_is_checked_at_the_start(name: str, value: str) -> None:
    assert f"HEADWATER_{name} is" in problems({f"HEADWATER_{name}": value})


def test_a_token_is_masked_and_an_empty_one_is_none() -> None:
    values = load_settings({"HEADWATER_API_TOKEN": "0123456789abcdef"}).values

    assert shown("api_token", values.api_token) == "********"
    assert "0123456789abcdef" not in repr(values)
    assert load_settings({"HEADWATER_API_TOKEN": ""}).values.api_token is None


def test_the_names_of_seed_004_are_read_too() -> None:
    given = {
        "FEED_POLLER_ENABLED": "false",
        "FEED_POLLER_POLL_INTERVAL": "30s",
        "FEED_POLLER_MAX_CONCURRENCY": "7",
        "LOG_LEVEL": "WARN",
        "LOG_FORMAT": "json",
        "WORKER_COUNT": "3",
    }
    values = load_settings(given).values

    assert (values.poll_enabled, values.poll_concurrency) == (False, 7)
    assert values.poll_check_interval == timedelta(seconds=30)  # how often it looks for due sources
    assert values.poll_interval == timedelta(hours=1)  # how often a feed is polled stays as it was
    assert (values.log_level, values.log_format, values.worker_count) == ("warning", "json", 3)


def test_every_name_that_is_read_is_documented() -> None:
    page = Path("docs/settings.md").read_text(encoding="utf-8")

    assert [name for name in PLAIN_NAMES if f"| `{name}` |" not in page] == []


@pytest.mark.parametrize("odd", ["a\0b", "a\x1bb", "a\udcffb"])
def test_a_value_with_a_character_that_no_text_holds_is_refused(odd: str) -> None:
    with pytest.raises(InvalidSettings, match="HEADWATER_SMTP_FROM contains the character U"):
        load_settings({"HEADWATER_SMTP_FROM": odd})
