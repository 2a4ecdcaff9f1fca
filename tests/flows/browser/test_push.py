"""A reader turns on notifications of this browser, and gets one, in a real browser.

Chromium subscribes at a push service of its maker only. So `PushManager.subscribe` is replaced here: like Chromium's,
it refuses while no service worker is active. Everything else is real, and the browser itself delivers the message.
"""

import json
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from playwright.sync_api import Browser, Page, expect

from headwater_lab.zoo import Zoo
from tests.flows.browser.person import CHROMIUM, Place, open_page, register
from tests.flows.browser.served import Served, serve_pages
from tests.flows.browser.test_every_page import faults_of

pytestmark = [pytest.mark.database, pytest.mark.soak]

POINT = ec.derive_private_key(7, ec.SECP256R1()).public_key()
SUBSCRIPTION = {
    "endpoint": "https://push.example/8c1f",
    "keys": {
        "p256dh": urlsafe_b64encode(POINT.public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)).decode(),
        "auth": urlsafe_b64encode(bytes(16)).decode(),
    },
}
SUBSCRIBE = """
    let registration = null;
    const register = ServiceWorkerContainer.prototype.register;
    ServiceWorkerContainer.prototype.register = async function (...given) {
        registration = await register.apply(this, given);
        return registration;
    };
    PushManager.prototype.subscribe = async function (options) {
        if (!registration.active) throw new DOMException("no active Service Worker", "AbortError");
        if (options.applicationServerKey.length !== 65) throw new DOMException("no key", "InvalidAccessError");
        return { toJSON: () => (%s) };
    };
"""


@pytest.fixture(scope="module")
def served(server_conninfo: str) -> Iterator[Served]:
    if CHROMIUM is None:
        pytest.skip("no browser")
    with serve_pages(server_conninfo) as served:
        yield served


@pytest.fixture
def reader(browser: Browser, served: Served) -> Iterator[Page]:
    with open_page(browser, Place(served.url, Zoo()), permissions=["notifications"]) as page:
        page.add_init_script(SUBSCRIBE % json.dumps(SUBSCRIPTION))
        register(page)
        page.goto("/notifications", wait_until="networkidle")
        yield page


def test_a_click_subscribes_this_browser_which_then_shows_what_it_is_sent(reader: Page, served: Served) -> None:
    reader.get_by_role("button", name="Notify in this browser").click()
    expect(reader.locator("[data-push-state]")).to_have_text("This browser is notified.")
    assert faults_of(reader) == []
    reader.reload()
    expect(reader.get_by_role("button", name="Delete push https://push.example")).to_have_count(1)

    deliver(reader, served.url, {"title": "Otters return", "body": "River News", "path": "/read"})
    assert reader.evaluate(FIRST_SHOWN) == [["Otters return", "River News", "/read"]]


# Waits by itself: to `wait_for_function` the promise of an async function is an answer, and a true one.
FIRST_SHOWN = """async () => {
    const [registration] = await navigator.serviceWorker.getRegistrations();
    for (;;) {
        const shown = await registration.getNotifications();
        if (shown.length > 0) return shown.map((one) => [one.title, one.body, one.data]);
        await new Promise((resolve) => setTimeout(resolve, 20));
    }
}"""


def deliver(page: Page, origin: str, message: dict[str, str]) -> None:
    """Let the browser deliver a push message to the service worker of the page."""
    session = page.context.new_cdp_session(page)
    found: list[dict[str, Any]] = []
    session.on("ServiceWorker.workerRegistrationUpdated", lambda event: found.extend(event["registrations"]))
    session.send("ServiceWorker.enable")
    while not found:
        page.wait_for_timeout(20)
    values = {"origin": origin, "registrationId": found[0]["registrationId"], "data": json.dumps(message)}
    session.send("ServiceWorker.deliverPushMessage", values)
