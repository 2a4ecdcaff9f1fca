"""Encryption for a browser, and our signature for its push service."""

from base64 import urlsafe_b64decode, urlsafe_b64encode

import pytest
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric import ec
from joserfc import jwt
from joserfc.jwk import ECKey

from headwater.errors import Invalid
from headwater.library.notifications.push import (
    PushKeys,
    ServerKey,
    encrypt,
    encrypt_bytes,
    new_server_key,
    read_push_keys,
)
from tests.clock import START
from tests.library.notifications.browser import PushBrowser


def decoded(text: str) -> bytes:
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))


def test_the_example_of_rfc_8291_is_encrypted_as_there() -> None:
    keys = read_push_keys(
        "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4",
        "BTBZMqHH6r4Tts7J_aSIgg",
    )
    private = ec.derive_private_key(
        int.from_bytes(decoded("yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw")), ec.SECP256R1()
    )

    sent = encrypt_bytes(
        b"When I grow up, I want to be a watermelon", keys, salt=decoded("DGv6ra1nlYgDCS1FRnbzlw"), private=private
    )

    assert urlsafe_b64encode(sent).rstrip(b"=").decode() == (
        "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27ml"
        "mlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPT"
        "pK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN"
    )


def test_a_browser_reads_what_was_encrypted_for_it_and_another_does_not() -> None:
    browser, other = PushBrowser(), PushBrowser()
    message = {"title": "Otter “seen”", "body": "x", "path": "/read"}

    sent = encrypt(message, PushKeys(browser.point, browser.auth))

    assert browser.read(sent) == message
    with pytest.raises(InvalidTag):
        other.read(sent)


def test_a_message_is_never_longer_than_push_services_take() -> None:
    browser = PushBrowser()

    sent = encrypt({"title": "x", "body": "ö" * 5_000, "path": "/"}, PushKeys(browser.point, browser.auth))

    assert len(sent) <= 4_096
    assert browser.read(sent) == {"title": "x", "body": "", "path": "/"}


def test_the_signature_names_the_push_service_and_ends_within_a_day() -> None:
    key = ServerKey(new_server_key())

    headers = key.headers("https://push.example:8443/send/1?x", site="https://reader.example", now=START)

    token, _, public = headers["Authorization"].removeprefix("vapid t=").partition(", k=")
    assert public == key.public
    point = decoded(public)
    assert (len(point), point[0]) == (65, 4)
    jwk = ECKey.import_key({
        "kty": "EC", "crv": "P-256",
        "x": urlsafe_b64encode(point[1:33]).rstrip(b"=").decode(),
        "y": urlsafe_b64encode(point[33:]).rstrip(b"=").decode(),
    })  # fmt: skip
    claims = jwt.decode(token, jwk).claims
    assert claims["aud"] == "https://push.example:8443"
    assert claims["sub"] == "https://reader.example"
    assert 0 < claims["exp"] - START.timestamp() <= 86_400


@pytest.mark.parametrize(
    ("key", "auth"),
    [("", ""), ("AAAA", "AAAA"), ("é", "é"), ("B" * 87, "A" * 22), ("BCVx" * 3000, "x")],
)
def test_keys_that_are_no_keys_are_refused(key: str, auth: str) -> None:
    with pytest.raises(Invalid, match="keys of this browser"):
        read_push_keys(key, auth)
