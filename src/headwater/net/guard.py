"""Where requests may go: an address, a port or a URL's host in, nothing or a BlockedAddress out. Pure.

What is judged last is the address that is really connected to, never a name: rebinding a name gains nothing. The ranges
are written out, from IANA's registries of special-purpose addresses, and not left to `ipaddress`, whose answer changes
with the version of Python. A special range that a registry calls reachable is refused all the same: no page is there.
"""

import re
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

_THIS_MACHINE = IPv4Address("127.0.0.1")

_CLOSED_V4 = {
    IPv4Network("0.0.0.0/8"): "this network",
    IPv4Network("10.0.0.0/8"): "private",
    IPv4Network("100.64.0.0/10"): "shared by a provider's customers",
    IPv4Network("127.0.0.0/8"): "this machine itself",
    IPv4Network("168.63.129.16/32"): "a cloud's own service for its machines",  # Azure; public only by its number
    IPv4Network("169.254.0.0/16"): "link-local",
    IPv4Network("172.16.0.0/12"): "private",
    IPv4Network("192.0.0.0/24"): "reserved for protocols",
    IPv4Network("192.0.2.0/24"): "for documentation",
    IPv4Network("192.31.196.0/24"): "a sink for stray DNS",  # AS112: the nearest node answers, often one inside
    IPv4Network("192.52.193.0/24"): "a relay for multicast",
    IPv4Network("192.88.99.0/24"): "a relay that is no longer used",
    IPv4Network("192.168.0.0/16"): "private",
    IPv4Network("192.175.48.0/24"): "a sink for stray DNS",
    IPv4Network("198.18.0.0/15"): "for benchmarks",
    IPv4Network("198.51.100.0/24"): "for documentation",
    IPv4Network("203.0.113.0/24"): "for documentation",
    IPv4Network("224.0.0.0/4"): "multicast",
    IPv4Network("240.0.0.0/4"): "reserved",
}

_GLOBAL_V6 = IPv6Network("2000::/3")  # all allocated addresses; the rest is special or unassigned
_CLOSED_V6 = {
    IPv6Network("::1/128"): "this machine itself",
    IPv6Network("::/96"): "a deprecated form of IPv4 address",  # compatible; also `::`
    IPv6Network("::ffff:0:0:0/96"): "inside a translator",  # SIIT
    IPv6Network("64:ff9b:1::/48"): "inside a translator",  # NAT64 for local use
    IPv6Network("2001::/23"): "reserved for protocols",  # Teredo, benchmarks and ORCHID among them
    IPv6Network("2001:db8::/32"): "for documentation",
    IPv6Network("2002::/16"): "a deprecated tunnel",  # 6to4
    IPv6Network("2620:4f:8000::/48"): "a sink for stray DNS",
    IPv6Network("3fff::/20"): "for documentation",
    IPv6Network("fc00::/7"): "private",
    IPv6Network("fe80::/10"): "link-local",
    IPv6Network("ff00::/8"): "multicast",
}
# Forms that end in an IPv4 address and lead to it: what they carry is judged.
_CARRIERS = (IPv6Network("::ffff:0:0/96"), IPv6Network("64:ff9b::/96"))  # mapped, NAT64
_ISATAP = 0x00005EFE  # before the IPv4 address, in any network; two bits beside it may be set (RFC 5214)
_ISATAP_MASK = 0xFCFFFFFF

# The ports that browsers refuse (https://fetch.spec.whatwg.org/#port-blocking): services that read lines, and may take
# an HTTP request for commands of their own. No feed is served there, and every other port stays open: feeds do live on
# 8080, 3000 or 8443, and what they must not reach is kept out by its address.
_CLOSED_PORTS = {
    0: "nothing", 1: "tcpmux", 7: "echo", 9: "discard", 11: "systat", 13: "daytime", 15: "netstat", 17: "qotd",
    19: "chargen", 20: "ftp", 21: "ftp", 22: "ssh", 23: "telnet", 25: "smtp", 37: "time", 42: "name", 43: "whois",
    53: "dns", 69: "tftp", 77: "rje", 79: "finger", 87: "ttylink", 95: "supdup", 101: "hostname", 102: "iso-tsap",
    103: "gppitnp", 104: "acr-nema", 109: "pop2", 110: "pop3", 111: "sunrpc", 113: "auth", 115: "sftp", 117: "uucp",
    119: "nntp", 123: "ntp", 135: "epmap", 137: "netbios", 139: "netbios", 143: "imap", 161: "snmp", 179: "bgp",
    389: "ldap", 427: "svrloc", 465: "smtp", 512: "exec", 513: "login", 514: "shell", 515: "printer", 526: "tempo",
    530: "courier", 531: "chat", 532: "netnews", 540: "uucp", 548: "afp", 554: "rtsp", 556: "remotefs", 563: "nntp",
    587: "smtp", 601: "syslog", 636: "ldap", 989: "ftp", 990: "ftp", 993: "imap", 995: "pop3", 1719: "h323",
    1720: "h323", 1723: "pptp", 2049: "nfs", 3659: "apple-sasl", 4045: "lockd", 4190: "sieve", 5060: "sip", 5061: "sip",
    6000: "x11", 6566: "sane", 6665: "irc", 6666: "irc", 6667: "irc", 6668: "irc", 6669: "irc", 6679: "irc",
    6697: "irc", 10080: "amanda",
}  # fmt: skip

_LIKE_AN_ADDRESS = re.compile(r":|(?:^|\.)(?:[0-9]+|0x[0-9a-f]*)\.*$", re.IGNORECASE)  # WHATWG: "ends in a number"


class BlockedAddress(OSError):
    """An address, or a port, that Headwater does not connect to."""

    def __init__(self, address: str, reason: str) -> None:
        super().__init__(f"{address} is {reason}")
        self.address = address
        self.reason = reason


class BlockedName(BlockedAddress):
    """A name that leads to nothing but such addresses: one of theirs, or all names while a network shows its door."""


def check_target(host: str, port: int, *, allow_loopback: bool) -> None:
    """Returns when nothing about a URL's host and port, as written, forbids a request. Raises BlockedAddress.

    Names are not resolved here: each address that one leads to is judged by `check_address`, when it is connected to.
    """
    check_port(port)
    if _LIKE_AN_ADDRESS.search(host):
        check_address(host, allow_loopback=allow_loopback)
    elif not allow_loopback and f".{host.rstrip('.').lower()}".endswith(".localhost"):
        raise BlockedAddress(host, "this machine itself")  # by RFC 6761, whatever DNS says


def check_port(port: int) -> None:
    """Returns when a web server may be at this port. Raises BlockedAddress."""
    if port in _CLOSED_PORTS:
        raise BlockedAddress(f"port {port}", f"kept for {_CLOSED_PORTS[port]}")


def check_address(address: str, *, allow_loopback: bool) -> None:
    """Raises BlockedAddress unless this is an address that may be connected to."""
    reason = _refusal_as_written(address, allow_loopback=allow_loopback)
    if reason is not None:
        raise BlockedAddress(address, reason)


def _refusal_as_written(address: str, *, allow_loopback: bool) -> str | None:
    if "%" in address:
        return "bound to one network of this machine"
    try:
        parsed = ip_address(address)
    except ValueError:
        return "not written as an address should be"  # 127.1, 0x7f000001, 0177.0.0.1: readers differ over these
    return refusal(parsed, allow_loopback=allow_loopback)


def refusal(address: IPv4Address | IPv6Address, *, allow_loopback: bool) -> str | None:
    """Why this address is not connected to, or None."""
    if isinstance(address, IPv6Address):
        return _refusal_v6(address)
    if allow_loopback and address == _THIS_MACHINE:
        return None
    return next((reason for network, reason in _CLOSED_V4.items() if address in network), None)


def _refusal_v6(address: IPv6Address) -> str | None:
    for network, reason in _CLOSED_V6.items():
        if address in network:
            return reason
    if any(address in carrier for carrier in _CARRIERS):
        return refusal(_last_32_bits(address), allow_loopback=False)
    if address not in _GLOBAL_V6:
        return "reserved"
    if int(address) >> 32 & _ISATAP_MASK == _ISATAP:
        return refusal(_last_32_bits(address), allow_loopback=False)
    return None


def _last_32_bits(address: IPv6Address) -> IPv4Address:
    return IPv4Address(int(address) & 0xFFFFFFFF)
