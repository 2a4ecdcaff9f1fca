"""A newcomer sees a living system within a minute, with no network."""

import re

from headwater.zoo import EXHIBITS
from tests.headwater_process import Headwater, wait_for


def test_the_demo_shows_articles_and_failing_cages_and_leaves_nothing(headwater: Headwater) -> None:
    temporary = headwater.folder / "temporary"
    temporary.mkdir(mode=0o755)
    with headwater.start("demo", TMPDIR=str(temporary), DATABASE_URL="postgresql://not.used/") as demo:
        page = wait_for(lambda: page if ">0</b> pending" in (page := demo.get("/")[1]) else None, demo)
        found = wait_for(lambda: found if "<mark>" in (found := demo.get("/?q=lighthouse")[1]) else None, demo)
        code = demo.stop()
        said = demo.output

    cages = [exhibit for exhibit in EXHIBITS if exhibit.is_cage]
    assert f'<h2 id="sources-title">{len(EXHIBITS) + 2} sources</h2>' in page
    assert page.count("<article>") == 50
    assert "<mark>lighthouse</mark>" in found.lower()
    failing = re.search(r"<b>(\d+)</b> failing", page)
    assert failing is not None
    assert int(failing[1]) >= len(cages)  # some exhibits have moods
    assert "bot_challenge" in page
    assert code == 0
    assert "Traceback" not in said
    assert list(temporary.iterdir()) == []
