"""Which addresses may be connected to. Judges the address itself, never the name: rebinding a name gains nothing.

The ranges are written out, from IANA's registries of special-purpose addresses, and not left to `ipaddress`, whose
answer changes with the version of Python.
"""

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

_THIS_MACHINE = IPv4Address("127.0.0.1")

_CLOSED_V4 = {
    IPv4Network("0.0.0.0/8"): "this network",
    IPv4Network("10.0.0.0/8"): "private",
    IPv4Network("100.64.0.0/10"): "shared by a provider's customers",
    IPv4Network("127.0.0.0/8"): "this machine itself",
    IPv4Network("169.254.0.0/16"): "link-local",
    IPv4Network("172.16.0.0/12"): "private",
    IPv4Network("192.0.0.0/24"): "reserved for protocols",
    IPv4Network("192.0.2.0/24"): "for documentation",
    IPv4Network("192.88.99.0/24"): "a relay that is no more",
    IPv4Network("192.168.0.0/16"): "private",
    IPv4Network("198.18.0.0/15"): "for benchmarks",
    IPv4Network("198.51.100.0/24"): "for documentation",
    IPv4Network("203.0.113.0/24"): "for documentation",
    IPv4Network("224.0.0.0/4"): "multicast",
    IPv4Network("240.0.0.0/4"): "reserved",
}

_GLOBAL_V6 = IPv6Network("2000::/3")  # all that is given out; everything else is special or nobody's
_CLOSED_V6 = {
    IPv6Network("2001::/23"): "reserved for protocols",  # Teredo, benchmarks and ORCHID among them
    IPv6Network("2001:db8::/32"): "for documentation",
    IPv6Network("3fff::/20"): "for documentation",
}
# Forms that carry an IPv4 address, and how far from the right it stands: what they carry is judged.
_CARRIERS = {
    IPv6Network("::/96"): 0,  # compatible; also `::` and `::1`
    IPv6Network("::ffff:0:0/96"): 0,  # mapped
    IPv6Network("::ffff:0:0:0/96"): 0,  # translated (SIIT)
    IPv6Network("64:ff9b::/96"): 0,  # NAT64
    IPv6Network("2002::/16"): 80,  # 6to4
}


class BlockedAddress(OSError):
    """An address that Headwater does not connect to."""

    def __init__(self, address: str, reason: str) -> None:
        super().__init__(f"{address} is {reason}")
        self.address = address
        self.reason = reason


def check_address(address: str, *, allow_loopback: bool) -> None:
    """Returns when the address may be connected to. Raises BlockedAddress."""
    reason = refusal(ip_address(address.partition("%")[0]), allow_loopback=allow_loopback)
    if reason is not None:
        raise BlockedAddress(address, reason)


def refusal(address: IPv4Address | IPv6Address, *, allow_loopback: bool) -> str | None:
    """Why this address is not connected to, or None."""
    if isinstance(address, IPv6Address):
        return _refusal_v6(address)
    if allow_loopback and address == _THIS_MACHINE:
        return None
    return next((reason for network, reason in _CLOSED_V4.items() if address in network), None)


def _refusal_v6(address: IPv6Address) -> str | None:
    if address == IPv6Address("::1"):
        return "this machine itself"
    for carrier, shift in _CARRIERS.items():
        if address in carrier:
            return refusal(IPv4Address(int(address) >> shift & 0xFFFFFFFF), allow_loopback=False)
    if address not in _GLOBAL_V6:
        return "private or reserved"
    return next((reason for network, reason in _CLOSED_V6.items() if address in network), None)
