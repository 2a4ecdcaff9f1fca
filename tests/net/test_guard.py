from ipaddress import ip_address, ip_network

import pytest

from headwater.net.guard import BlockedAddress, check_address, check_port, check_target, is_address, refusal

# IANA's registries of special-purpose addresses, every row of both, and multicast, which has registries of its own.
SPECIAL_V4 = [
    "0.0.0.0/8", "0.0.0.0/32", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12",
    "192.0.0.0/24", "192.0.0.0/29", "192.0.0.8/32", "192.0.0.9/32", "192.0.0.10/32", "192.0.0.170/32",
    "192.0.0.171/32", "192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24", "192.168.0.0/16",
    "192.175.48.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
    "255.255.255.255/32",
]  # fmt: skip
SPECIAL_V6 = [
    "::1/128", "::/128", "64:ff9b:1::/48", "100::/64", "100:0:0:1::/64", "2001::/23", "2001::/32", "2001:1::1/128",
    "2001:1::2/128", "2001:1::3/128", "2001:2::/48", "2001:3::/32", "2001:4:112::/48", "2001:10::/28", "2001:20::/28",
    "2001:30::/28", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3fff::/20", "5f00::/16", "fc00::/7",
    "fe80::/10", "ff00::/8",
]  # fmt: skip
# Two more rows lead to the IPv4 address they end in: they are as closed as that is.
CARRYING_V6 = ["::ffff:0:0/96", "64:ff9b::/96"]

METADATA = [
    "169.254.169.254", "169.254.170.2", "100.100.100.200", "192.0.0.192", "168.63.129.16", "fd00:ec2::254",
    "fd20:ce::254", "fe80::a9fe:a9fe",
]  # fmt: skip
# 127.0.0.1, 10.0.0.1, 192.168.1.1 and 169.254.169.254 in the forms that carry an IPv4 address.
CARRIED = [
    form.format(carried)
    for carried in ("7f00:1", "a00:1", "c0a8:101", "a9fe:a9fe")
    for form in (
        "::ffff:{}", "::{}", "::ffff:0:{}", "64:ff9b::{}", "64:ff9b:1::{}", "2002:{}::", "2002:{}::1",
        "2606:4700::5efe:{}", "2606:4700::200:5efe:{}", "2606:4700::100:5efe:{}", "fe80::5efe:{}",
    )
]  # fmt: skip
TEREDO = ["2001:0:4136:e378:8000:63bf:80ff:fffe", "2001::f5ff:fffe", "2001:0:808:808::3f57:fefe"]
ZONED = ["fe80::1%eth0", "fe80::1%1", "::1%lo", "::ffff:127.0.0.1%lo", "2606:4700::1111%eth0"]
NOT_GIVEN_OUT = ["::ffff:ffff:0:0", "200::1", "1000::1", "4000::1", "8000::1", "e000::1", "fe00::1", "fec0::1"]
MISWRITTEN = [
    "127.1", "127.0.1", "0177.0.0.1", "0x7f.0.0.1", "0x7f000001", "017700000001", "2130706433", "127.0.0.1.",
    "127.0.0.1..", "127.0.0.01", "１２７.0.0.1", "127。0。0。1", "١٢٧.٠.٠.١", "[::1]", "localhost", "", " 127.0.0.1",
    "127.0.0.1\n", "127.0.0.1\0", "256.1.1.1", "1.1.1.1/32", "::1::", "::ffff:127.1",
]  # fmt: skip

ALLOWED = [
    "1.1.1.1", "8.8.8.8", "93.184.215.14", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.0.0.1",
    "128.0.0.0", "169.253.255.255", "169.255.0.0", "172.15.255.255", "172.32.0.0", "192.0.1.0", "192.167.255.255",
    "192.169.0.0", "198.17.255.255", "198.20.0.0", "223.255.255.255", "168.63.129.15",
    "2606:4700::1111", "2a00::1", "2001:200::1", "2001:db9::1", "2003::1", "2600::", "3ffe:ffff::1",
    "::ffff:8.8.8.8", "64:ff9b::808:808", "2606:4700::5efe:808:808",
]  # fmt: skip


def within(network: str) -> list[str]:
    """The first address of a range, one in between, and the last."""
    found = ip_network(network)
    return list(dict.fromkeys(str(found[place]) for place in (0, found.num_addresses // 2, -1)))


SPECIAL = [address for network in SPECIAL_V4 + SPECIAL_V6 for address in within(network)]
CARRYING = [
    str(ip_network(carrier)[int(ip_address(address))])
    for carrier in CARRYING_V6
    for network in SPECIAL_V4
    for address in within(network)
]
BLOCKED = list(dict.fromkeys(SPECIAL + CARRYING + METADATA + CARRIED + TEREDO + NOT_GIVEN_OUT))


@pytest.mark.parametrize("address", BLOCKED + ZONED)
def test_no_connection_into_special_space_in_any_form(address: str) -> None:
    with pytest.raises(BlockedAddress):
        check_address(address, allow_loopback=False)


@pytest.mark.parametrize("address", MISWRITTEN)
def test_an_address_that_parsers_read_differently_is_refused(address: str) -> None:
    with pytest.raises(BlockedAddress, match="not written as an address should be"):
        check_address(address, allow_loopback=False)


@pytest.mark.parametrize("address", ALLOWED)
def test_the_public_internet_may_be_reached_up_to_its_edges(address: str) -> None:
    assert refusal(ip_address(address), allow_loopback=False) is None


def test_this_machine_may_be_reached_where_a_setting_says_so_and_nothing_else_with_it() -> None:
    check_address("127.0.0.1", allow_loopback=True)

    for address in set(BLOCKED + ZONED + MISWRITTEN) - {"127.0.0.1"}:
        with pytest.raises(BlockedAddress):
            check_address(address, allow_loopback=True)


def test_a_refusal_says_what_the_address_is() -> None:
    with pytest.raises(BlockedAddress, match=r"^::ffff:10\.0\.0\.1 is private$") as blocked:
        check_address("::ffff:10.0.0.1", allow_loopback=False)

    assert (blocked.value.address, blocked.value.reason) == ("::ffff:10.0.0.1", "private")


# https://fetch.spec.whatwg.org/#port-blocking
REFUSED_BY_BROWSERS = {
    0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104, 109,
    110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515, 526, 530, 531,
    532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060,
    5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080,
}  # fmt: skip


def is_refused(port: int) -> bool:
    try:
        check_port(port)
    except BlockedAddress as refused:
        return str(refused).startswith(f"port {port} is kept for ")
    return False


def test_exactly_the_ports_that_browsers_refuse_get_no_request() -> None:
    assert {port for port in range(65_536) if is_refused(port)} == REFUSED_BY_BROWSERS


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        ("::ffff:ffff", "a deprecated form of IPv4 address"),
        ("::1:0:0", "reserved"),
        ("::ffff:0:ffff:ffff", "inside a translator"),
        ("::ffff:1:0:0", "reserved"),
        ("64:ff9b:1:ffff:ffff:ffff:ffff:ffff", "inside a translator"),
        ("64:ff9b:2::", "reserved"),
        ("64:ff9b::a00:1", "private"),
        ("64:ff9b::1:0:0", "reserved"),
        ("::ffff:10.0.0.1", "private"),
        ("2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff", "reserved for protocols"),
        ("2001:200::", None),
        ("2001:db7:ffff:ffff:ffff:ffff:ffff:ffff", None),
        ("2001:db9::", None),
        ("2001:ffff:ffff:ffff:ffff:ffff:ffff:ffff", None),
        ("2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "a deprecated tunnel"),
        ("2003::", None),
        ("2620:4f:7fff:ffff:ffff:ffff:ffff:ffff", None),
        ("2620:4f:8001::", None),
        ("3ffe:ffff:ffff:ffff:ffff:ffff:ffff:ffff", None),
        ("3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff", "for documentation"),
        ("3fff:1000::", None),
        ("fbff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "reserved"),
        ("fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "private"),
        ("fe00::", "reserved"),
        ("febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "link-local"),
        ("fec0::", "reserved"),
        ("ff02::1", "multicast"),
        ("2606:2800::5efe:10.0.0.1", "private"),  # ISATAP
        ("2606:2800::200:5efe:10.0.0.1", "private"),
        ("2606:2800::300:5efe:10.0.0.1", "private"),
        ("2606:2800::400:5efe:10.0.0.1", None),
        ("2606:2800::5eff:10.0.0.1", None),
        ("2606:2800::5efe:93.184.216.34", None),
    ],
)
def test_the_edges_of_ipv6_ranges(address: str, reason: str | None) -> None:
    assert refusal(ip_address(address), allow_loopback=False) == reason


@pytest.mark.parametrize("port", [80, 443, 81, 591, 3000, 5000, 8000, 8008, 8080, 8443, 8888, 49152, 65535])
def test_a_port_where_a_web_server_may_be_is_open(port: int) -> None:
    check_port(port)


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1", "127.0.0.1..", "127.1..", "0x7f.1", "0X7F000001", "2130706433", "::1", "::ffff:a00:1", "fe80::1%lo",
     "localhost", "LOCALHOST", "localhost.", "api.localhost", "a.b.localhost.."],
)  # fmt: skip
def test_a_host_that_names_no_public_place_is_refused_without_being_looked_up(host: str) -> None:
    with pytest.raises(BlockedAddress):
        check_target(host, 443, allow_loopback=False)


@pytest.mark.parametrize(
    "host",
    ["example.com", "example.com.", "1.1.1.1", "2606:4700::1111", "notlocalhost", "localhost.example", "4chan.org"],
)
def test_a_host_that_may_be_public_is_left_to_the_check_at_connect_time(host: str) -> None:
    check_target(host, 443, allow_loopback=False)


def test_a_blocked_port_is_refused_with_an_allowed_host() -> None:
    with pytest.raises(BlockedAddress, match="port 25 is kept for smtp"):
        check_target("example.com", 25, allow_loopback=True)


@pytest.mark.parametrize(
    ("text", "expected"), [("127.0.0.1", True), ("::1", True), ("127.1", False), ("example.com", False), ("", False)]
)
def test_what_is_an_address(text: str, expected: bool) -> None:
    assert is_address(text) is expected


def test_localhost_may_be_named_where_a_setting_says_so() -> None:
    check_target("localhost", 8000, allow_loopback=True)
