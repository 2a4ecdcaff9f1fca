import pytest

from headwater.images.page_icons import page_icons

HERE = "https://news.example/blog/"
SMALL = "<link rel=icon sizes=16x16 href=/16>"
TOUCH = "<link rel=apple-touch-icon href=/touch>"


def icons(head: str) -> list[str]:
    body = f"<!doctype html><head>{head}</head><body><link rel=icon href=/late.png>".encode()
    return [url.removeprefix("https://news.example") for url in page_icons(body, url=HERE, content_type="text/html")]


@pytest.mark.parametrize(
    ("head", "found"),
    [
        ("", []),
        ("<link rel=icon href=a.png>", ["/blog/a.png"]),
        ("<link rel='Shortcut Icon' href='/a.ico'>", ["/a.ico"]),
        ("<base href=/x/><link rel=icon href=a.png>", ["/x/a.png"]),
        ("<link rel=stylesheet href=a.css><link rel=icon>", []),
        ("<link rel=icon href=/a.svg><link rel=icon type=image/svg+xml href=/b><link rel=mask-icon href=/c.png>", []),
        ("<link rel=icon href='javascript:alert(1)'><link rel=icon href='data:image/png;base64,AAAA'>", []),
        (
            f"{SMALL}<link rel=icon sizes=512x512 href=/512><link rel=icon sizes='32x32 96x96' href=/96>{TOUCH}",
            ["/96", "/touch", "/512"],
        ),
        (f"{SMALL}<link rel=icon sizes=32x32 href=/32>", ["/32", "/16"]),
    ],
)
def test_the_best_icons_come_first(head: str, found: list[str]) -> None:
    assert icons(head) == found
