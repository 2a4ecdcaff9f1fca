from ipaddress import ip_address

import pytest

from headwater.net.guard import BlockedAddress, check_address, refusal

BLOCKED = [
    "0.0.0.0", "0.1.2.3", "10.0.0.1", "10.255.255.255", "100.64.0.1", "100.127.255.255", "127.0.0.1", "127.1.2.3",
    "169.254.169.254", "172.16.0.1", "172.31.255.255", "192.0.0.1", "192.0.2.1", "192.168.1.1", "198.18.0.1",
    "198.51.100.1", "203.0.113.1", "224.0.0.1", "239.255.255.250", "240.0.0.1", "255.255.255.255",
    "::", "::1", "::127.0.0.1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "64:ff9b::7f00:1",
    "64:ff9b::a9fe:a9fe", "64:ff9b:1::a00:1", "100::1", "2001::1", "2001:db8::1", "2002:7f00:1::", "2002:a00:1::1",
    "2001:0:0:0:0:0:80ff:fffe", "fc00::1", "fd12:3456::1", "fe80::1", "fe80::1%eth0", "fec0::1", "ff02::1",
]  # fmt: skip
ALLOWED = ["1.1.1.1", "93.184.215.14", "8.8.8.8", "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808", "2a00::1"]


@pytest.mark.parametrize("address", BLOCKED)
def test_no_connection_into_private_space_in_any_form(address: str) -> None:
    with pytest.raises(BlockedAddress):
        check_address(address, allow_loopback=False)


@pytest.mark.parametrize("address", ALLOWED)
def test_the_public_internet_may_be_reached(address: str) -> None:
    assert refusal(ip_address(address), allow_loopback=False) is None


def test_this_machine_may_be_reached_where_a_setting_says_so_and_nothing_else_with_it() -> None:
    check_address("127.0.0.1", allow_loopback=True)

    for address in set(BLOCKED) - {"127.0.0.1"}:
        with pytest.raises(BlockedAddress):
            check_address(address, allow_loopback=True)
