"""`make screenshots` works: its feeds are in the zoo, and every page can be photographed."""

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from playwright.sync_api import Browser

from headwater_lab.zoo import DOMAIN, EXHIBITS
from headwater_lab.zoo.sites import SITES
from scripts.screenshots import FAULTS, FEEDS, INSIDE, OPERATING, OUTSIDE, SUGGESTED, photograph_everything
from tests.flows.browser.person import CHROMIUM, running
from tests.flows.zoo_thread import open_zoo

pytestmark = pytest.mark.soak


@pytest.mark.parametrize(("name", "host", "path"), [one[:3] for one in (*FEEDS, *FAULTS, SUGGESTED)])
def test_its_feeds_are_in_the_zoo(name: str, host: str, path: str) -> None:
    served = {(site.host, feed.path) for site in SITES.values() for feed in site.feeds}

    assert (f"{host}.{DOMAIN}", path) in served or host in {one.name for one in EXHIBITS}, name


@pytest.mark.skipif(CHROMIUM is None, reason="no browser")
def test_every_page_is_photographed(browser: Browser) -> None:
    with (
        TemporaryDirectory(prefix="headwater-test-", ignore_cleanup_errors=True) as name,
        TemporaryDirectory(prefix="headwater-pictures-") as out,
        open_zoo() as zoo,
    ):
        Path(name).chmod(0o755)
        with running(Path(name), zoo) as place:
            photograph_everything(browser, place, Path(out), [("light", "wide")])
        taken = {picture.stem for picture in Path(out).iterdir()}

    wanted = {f"{page}-light-wide" for page in (*OUTSIDE, *INSIDE, *OPERATING)}
    assert wanted <= taken
