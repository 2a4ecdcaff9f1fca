"""Web push: a message encrypted for one browser (RFC 8291, RFC 8188) and our signature for its push service (VAPID,
RFC 8292). The push service sees neither title nor text."""

import json
import os
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from urllib.parse import urlsplit

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_der_private_key,
)
from joserfc import jwt
from joserfc.jwk import ECKey

from headwater.errors import Invalid

RECORD_SIZE: Final = 4096
TOKEN_LIFETIME: Final = timedelta(hours=12)  # a push service refuses more than a day
TIME_TO_LIVE: Final = timedelta(days=1)  # how long the push service keeps a message for a browser that is closed
POINT_BYTES: Final = 65
AUTH_BYTES: Final = 16
PLAIN_MAX: Final = 3_000  # bytes; a message has at most 4,096


@dataclass(frozen=True, slots=True)
class PushKeys:
    """A browser's keys: its point on P-256, and a secret."""

    point: bytes
    auth: bytes


def read_push_keys(key: str, auth: str) -> PushKeys:
    """Raises Invalid."""
    try:
        found = PushKeys(_decode(key), _decode(auth))
        ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), found.point)
    except ValueError as error:
        raise Invalid("The keys of this browser are invalid.") from error
    if len(found.point) != POINT_BYTES or len(found.auth) != AUTH_BYTES:
        raise Invalid("The keys of this browser are invalid.")
    return found


def new_server_key() -> bytes:
    """A private key with which this server signs, for storing."""
    key = ec.generate_private_key(ec.SECP256R1())
    return key.private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption())


class ServerKey:
    """This server's key for push services."""

    def __init__(self, stored: bytes) -> None:
        key = load_der_private_key(stored, None)
        assert isinstance(key, ec.EllipticCurvePrivateKey), "made by new_server_key"
        self._key = ECKey.import_key(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
        self.public = _encode(_point(key.public_key()))  # browsers subscribe with it

    def headers(self, endpoint: str, *, site: str, now: datetime) -> Mapping[str, str]:
        """What a request to this push service needs."""
        parts = urlsplit(endpoint)
        claims = {
            "aud": f"{parts.scheme}://{parts.netloc}", "exp": int((now + TOKEN_LIFETIME).timestamp()), "sub": site,
        }  # fmt: skip
        token = jwt.encode({"typ": "JWT", "alg": "ES256"}, claims, self._key)
        return {
            "Authorization": f"vapid t={token}, k={self.public}",
            "Content-Encoding": "aes128gcm",
            "Content-Type": "application/octet-stream",
            "TTL": str(int(TIME_TO_LIVE.total_seconds())),
            "Urgency": "normal",
        }


def encrypt(message: Mapping[str, str], keys: PushKeys) -> bytes:
    """The message as the body of a request: only the browser can read it."""
    plain = json.dumps(message, ensure_ascii=False).encode(errors="replace")
    if len(plain) > PLAIN_MAX:
        plain = json.dumps({**message, "body": ""}, ensure_ascii=False).encode(errors="replace")[:PLAIN_MAX]
    return encrypt_bytes(plain, keys, salt=os.urandom(16), private=ec.generate_private_key(ec.SECP256R1()))


def encrypt_bytes(plain: bytes, keys: PushKeys, *, salt: bytes, private: ec.EllipticCurvePrivateKey) -> bytes:
    theirs = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), keys.point)
    ours = _point(private.public_key())
    shared = private.exchange(ec.ECDH(), theirs)
    material = _derive(shared, keys.auth, b"WebPush: info\0" + keys.point + ours, 32)
    key = _derive(material, salt, b"Content-Encoding: aes128gcm\0", 16)
    nonce = _derive(material, salt, b"Content-Encoding: nonce\0", 12)
    header = salt + RECORD_SIZE.to_bytes(4, "big") + bytes([len(ours)]) + ours
    return header + AESGCM(key).encrypt(nonce, plain + b"\2", None)  # 2: the last record


def _derive(secret: bytes, salt: bytes, info: bytes, length: int) -> bytes:
    return HKDF(SHA256(), length, salt, info).derive(secret)


def _point(key: ec.EllipticCurvePublicKey) -> bytes:
    return key.public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)


def _encode(value: bytes) -> str:
    return urlsafe_b64encode(value).rstrip(b"=").decode()


def _decode(text: str) -> bytes:
    """Raises ValueError."""
    return urlsafe_b64decode(text.encode("ascii") + b"=" * (-len(text) % 4))
