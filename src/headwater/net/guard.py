"""Which addresses, ports and hosts may be requested; raises BlockedAddress for all others. Pure.

The last check is of the address that is really connected to, never of a name, so DNS rebinding gains nothing. The
ranges come from IANA's registries of special-purpose addresses, not from `ipaddress`, whose answer changes with the
version of Python. A special range that a registry calls reachable is blocked too: it serves no pages.
"""

import re
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

_THIS_MACHINE = IPv4Address("127.0.0.1")

# Azure's 168.63.129.16 is public only by its number. The nearest node of AS112's sinks may be an internal one.
_CLOSED_V4 = {
    IPv4Network(network): reason
    for reason, networks in {
        "this network": "0.0.0.0/8",
        "private": "10.0.0.0/8 172.16.0.0/12 192.168.0.0/16",
        "shared by a provider's customers": "100.64.0.0/10",
        "this machine itself": "127.0.0.0/8",
        "a cloud's own service for its machines": "168.63.129.16/32",
        "link-local": "169.254.0.0/16",
        "reserved for protocols": "192.0.0.0/24",
        "for documentation": "192.0.2.0/24 198.51.100.0/24 203.0.113.0/24",
        "a sink for stray DNS": "192.31.196.0/24 192.175.48.0/24",
        "a relay for multicast": "192.52.193.0/24",
        "a relay that is no longer used": "192.88.99.0/24",
        "for benchmarks": "198.18.0.0/15",
        "multicast": "224.0.0.0/4",
        "reserved": "240.0.0.0/4",
    }.items()
    for network in networks.split()
}

_GLOBAL_V6 = IPv6Network("2000::/3")  # all allocated addresses; the rest is special or unassigned
# In this order: IPv4-compatible (also `::`), SIIT and local NAT64, protocols (Teredo, benchmarks, ORCHID), 6to4.
_CLOSED_V6 = {
    IPv6Network(network): reason
    for reason, networks in {
        "this machine itself": "::1/128",
        "a deprecated form of IPv4 address": "::/96",
        "inside a translator": "::ffff:0:0:0/96 64:ff9b:1::/48",
        "for documentation": "2001:db8::/32 3fff::/20",
        "reserved for protocols": "2001::/23",
        "a deprecated tunnel": "2002::/16",
        "a sink for stray DNS": "2620:4f:8000::/48",
        "private": "fc00::/7",
        "link-local": "fe80::/10",
        "multicast": "ff00::/8",
    }.items()
    for network in networks.split()
}
# Forms that end in an IPv4 address and lead to it: the carried address is checked.
_CARRIERS = (IPv6Network("::ffff:0:0/96"), IPv6Network("64:ff9b::/96"))  # mapped, NAT64
_ISATAP = 0x00005EFE  # before the IPv4 address, in any network; two bits beside it may be set (RFC 5214)
_ISATAP_MASK = 0xFCFFFFFF

# The ports that browsers refuse (https://fetch.spec.whatwg.org/#port-blocking): their services could read an HTTP
# request as commands. All other ports are allowed: feeds are served on 8080, 3000 or 8443.
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

# Kept out of public DNS, or common in private networks: RFC 6762, 8375, 7686, 9476 and 6761, ICANN's `internal`, and
# names that routers and companies use.
_PRIVATE_NAMES = (
    ".local", ".home.arpa", ".onion", ".alt", ".invalid", ".internal", ".intranet", ".localdomain", ".lan", ".home",
    ".corp", ".private",
)  # fmt: skip

_LIKE_AN_ADDRESS = re.compile(r":|(?:^|\.)(?:[0-9]+|0x[0-9a-f]*)\.*$", re.IGNORECASE)  # WHATWG: "ends in a number"


class BlockedAddress(OSError):
    """An address, or a port, that Headwater does not connect to."""

    def __init__(self, address: str, reason: str) -> None:
        super().__init__(f"{address} is {reason}")
        self.address = address
        self.reason = reason


class BlockedName(BlockedAddress):
    """A name that resolves to such addresses only. Behind a captive portal every name does."""


def check_target(host: str, port: int, *, allow_loopback: bool) -> None:
    """Raises BlockedAddress for a URL's host and port that are blocked as written. Names are not resolved here:
    `check_address` checks each address of a name when it is connected to."""
    check_port(port)
    if _LIKE_AN_ADDRESS.search(host):
        check_address(host, allow_loopback=allow_loopback)
    elif not allow_loopback and f".{host.rstrip('.').lower()}".endswith(".localhost"):
        raise BlockedAddress(host, "this machine itself")  # by RFC 6761, whatever DNS says


def check_submitted(host: str, port: int, *, allow_loopback: bool) -> None:
    """As `check_target`, for a URL that is fetched later. Raises BlockedAddress also for names that public DNS has not:
    they lead into a private network, or nowhere."""
    check_target(host, port, allow_loopback=allow_loopback)
    name = host.rstrip(".").lower()
    is_local = "." not in name and not is_address(name) and not (allow_loopback and name == "localhost")
    if is_local or f".{name}".endswith(_PRIVATE_NAMES):
        raise BlockedAddress(host, "a name of a private network")


def check_port(port: int) -> None:
    """Raises BlockedAddress for a port that browsers refuse."""
    if port in _CLOSED_PORTS:
        raise BlockedAddress(f"port {port}", f"kept for {_CLOSED_PORTS[port]}")


def check_address(address: str, *, allow_loopback: bool) -> None:
    if "%" in address:
        raise BlockedAddress(address, "bound to one network of this machine")
    try:
        reason = refusal(ip_address(address), allow_loopback=allow_loopback)
    except ValueError:  # 127.1, 0x7f000001, 0177.0.0.1: programs differ in how they read these
        reason = "not written as an address should be"
    if reason is not None:
        raise BlockedAddress(address, reason)


def is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


def refusal(address: IPv4Address | IPv6Address, *, allow_loopback: bool) -> str | None:
    if isinstance(address, IPv4Address):
        is_allowed = allow_loopback and address == _THIS_MACHINE
        return None if is_allowed else next((why for network, why in _CLOSED_V4.items() if address in network), None)
    for network, reason in _CLOSED_V6.items():
        if address in network:
            return reason
    is_isatap = address in _GLOBAL_V6 and int(address) >> 32 & _ISATAP_MASK == _ISATAP
    if is_isatap or any(address in carrier for carrier in _CARRIERS):
        return refusal(IPv4Address(int(address) & 0xFFFFFFFF), allow_loopback=False)
    return None if address in _GLOBAL_V6 else "reserved"
