"""An article as Markdown reads as its page does, and nothing in it formats what the article did not format."""

from html import escape

import pytest
from markdown_it import MarkdownIt

from headwater.library.markdown import to_markdown
from tests.library.test_epub import an_article

SHOWN = MarkdownIt("commonmark").enable("table").enable("strikethrough")


def body_of(html: str) -> str:
    """The Markdown of a text, without what is said about the article."""
    return to_markdown(an_article(1, html)).split("\n\n", 3)[3].strip()


def test_an_article_begins_with_its_title_where_it_is_from_and_its_link() -> None:
    text = to_markdown(an_article(1, "<p>One</p>", title="On *stars*\nand # signs"))

    assert text.split("\n\n") == [
        r"# On \*stars\* and \# signs",
        r"The \<Daily\> · Ann & Bob · 2026-03-01",
        "<https://a.example/1?a=1&b=2>",
        "One\n",
    ]


def test_an_article_without_text_has_its_link() -> None:
    assert to_markdown(an_article(1, None)).endswith("<https://a.example/1?a=1&b=2>\n")


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<p>One</p><p>Two <em>three</em> <b>four</b></p>", "One\n\nTwo *three* **four**"),
        ("<h2>A</h2><p>b<br>c</p>", "## A\n\nb\\\nc"),
        ("<ul><li>a</li><li>b<ol><li>c</li><li>d</li></ol></li></ul>", "- a\n- b\n\n  1. c\n  2. d"),
        ("<blockquote><p>a</p><p>b</p></blockquote>", "> a\n>\n> b"),
        ("<pre><code>x = `1`\n  y</code></pre>", "```\nx = `1`\n  y\n```"),
        ("<p>a <code>b`c</code></p>", "a ``b`c``"),
        ('<p><a href="https://b.example/(x) y">l</a></p>', "[l](https://b.example/%28x%29%20y)"),
        ('<figure><img src="https://b.example/i.png" alt="An [i]"></figure>', r"![An \[i\]](https://b.example/i.png)"),
        ("<table><tr><th>a</th><th>b</th></tr><tr><td>1|2</td></tr></table>", "| a | b |\n| --- | --- |\n| 1\\|2 |  |"),
        ("<p>a</p><hr><p>b</p>", "a\n\n---\n\nb"),
        ("<p>1. not a list</p><p>- nor this</p><p># nor this</p>", "1\\. not a list\n\n\\- nor this\n\n\\# nor this"),
        ("loose <p>text</p> around", "loose\n\ntext\n\naround"),
        ("<p></p><script>x</script><em> </em>", ""),
    ],
)
def test_each_element_has_its_form(html: str, text: str) -> None:
    assert body_of(f"<p>.</p>{html}").removeprefix(".").strip() == text


@pytest.mark.parametrize(
    "sign",
    ["*a*", "_a_", "`a`", "[a](b)", "![a](b)", "<b>a</b>", "# a", "> a", "- a", "+ a", "1. a", "1) a", "a\\", "===",
     "~~a~~", "&lt;x&gt;"],
)  # fmt: skip
def test_what_the_article_does_not_format_stays_as_it_is(sign: str) -> None:

    shown = SHOWN.render(body_of(f"<p>{escape(sign)}</p>"))

    assert shown == f"<p>{escape(sign, quote=False)}</p>\n"


def test_deeply_nested_text_is_kept() -> None:
    assert "deep" in to_markdown(an_article(1, "<div>" * 200 + "deep" + "</div>" * 200))
    assert "deep" in to_markdown(an_article(1, "<p>" + "<span>" * 200 + "deep" + "</span>" * 200))
