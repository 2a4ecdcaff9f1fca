"""A browser that subscribed to web push: it decrypts by RFC 8291, written apart from the code that encrypts."""

import hashlib
import hmac
import json
import os
from base64 import urlsafe_b64encode
from typing import Any

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat


def expand(salt: bytes, secret: bytes, info: bytes, length: int) -> bytes:
    """HKDF with one block, as RFC 8291 writes it."""
    extracted = hmac.new(salt, secret, hashlib.sha256).digest()
    return hmac.new(extracted, info + b"\1", hashlib.sha256).digest()[:length]


class PushBrowser:
    def __init__(self) -> None:
        self._private = ec.generate_private_key(ec.SECP256R1())
        self.point = self._private.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
        self.auth = os.urandom(16)

    @property
    def keys(self) -> dict[str, str]:
        names = {"push_key": self.point, "push_auth": self.auth}
        return {name: urlsafe_b64encode(value).rstrip(b"=").decode() for name, value in names.items()}

    def read(self, body: bytes) -> Any:
        salt, size, length = body[:16], int.from_bytes(body[16:20], "big"), body[20]
        sender, record = body[21 : 21 + length], body[21 + length :]
        assert len(record) <= size
        public = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), sender)
        shared = self._private.exchange(ec.ECDH(), public)
        material = expand(self.auth, shared, b"WebPush: info\0" + self.point + sender, 32)
        key = expand(salt, material, b"Content-Encoding: aes128gcm\0", 16)
        nonce = expand(salt, material, b"Content-Encoding: nonce\0", 12)
        plain = AESGCM(key).decrypt(nonce, record, None)
        assert plain.endswith(b"\2")
        return json.loads(plain[:-1])
