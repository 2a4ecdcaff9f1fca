"""Pages for the tests: one as a newspaper writes it, and what is taken out of it or put in."""

PARAGRAPHS = (
    "The river rose in the night, and by morning it stood above the meadows on both sides of the old bridge at Tarn.",
    "People carried what they could to the upper rooms; the boats that had come loose drifted past the mill.",
    "Nobody was hurt, the mayor said, and the water should fall again before the week ends if no more rain comes.",
    "The last time it stood so high was forty years ago, when the bridge itself was lost and built again in stone.",
)
BODY = "".join(f"<p>{paragraph}</p>" for paragraph in PARAGRAPHS)

JSON_LD = """<script type="application/ld+json">{"@context": "https://schema.org", "@graph": [
  {"@type": "WebSite", "name": "River Post"},
  {"@type": "NewsArticle", "headline": "High water at Tarn", "datePublished": "2024-03-01T08:30:00+02:00",
   "author": [{"@type": "Person", "name": "Ann Author"}, {"@type": "Person", "name": "Bo Writer"}],
   "articleSection": "Region", "keywords": "flood, river, Flood", "inLanguage": "en-GB",
   "image": {"@type": "ImageObject", "url": "/pictures/flood.jpg"}}]}</script>"""

OPEN_GRAPH = """<meta property="og:title" content="High water | River Post">
<meta property="og:site_name" content="River Post">
<meta property="og:type" content="article"><meta property="og:description" content="The Tarn has left its bed.">
<meta property="og:image" content="https://cdn.example/og.jpg">
<meta property="article:published_time" content="2024-03-02">
<meta property="article:tag" content="weather"><meta property="article:tag" content="water">
<meta property="og:locale" content="en_US">"""

META = """<meta name="author" content="By Cy Meta"><meta name="description" content="What meta says.">
<meta name="keywords" content="meta, words"><meta name="date" content="2024-03-03T00:00:00Z">"""

CANONICAL = '<link rel="canonical" href="/news/high-water">'


def a_page(head: str = "", body: str = f"<article>{BODY}</article>", lang: str = "") -> bytes:
    page = (
        f"<!doctype html><html{lang and f' lang={lang}'}><head><meta charset=utf-8>"
        f"<title>Tarn floods - River Post</title>{head}</head><body>"
        f"<nav><a href=/>Home</a><a href=/news>News</a></nav><h1>High water</h1>{body}"
        "<footer><p>Copyright River Post. All rights reserved.</p></footer></body></html>"
    )
    return page.encode()
