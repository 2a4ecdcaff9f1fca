"""Phrases that mark a line as not part of the article, as pieces of regular expressions; case does not matter."""

import re


def _any(*pieces: str) -> str:
    return "(?:" + "|".join(pieces) + ")"


def _pattern(before: str, after: str, *pieces: str) -> re.Pattern[str]:
    return re.compile(before + _any(*pieces) + after, re.IGNORECASE)


# fmt: off
# A line that points to other pages, at any position.
_SEE = _any(
    "read", "see", "watch", "view", "listen", "lees", "lire", "leia", "lee", "leer", "vea", "ver", "lesen sie", "leggi",
    "läs"
)
_ALSO = _any(
    "also", "more", "next", "too", "auch", "ook", "aussi", "también", "também", "anche", "också", "mehr", "plus", "más",
    "mais"
)
_HEADING = _any(
    "related", "related (?:articles?|stories|posts?|topics?|links?|content|coverage|news|video)", "recommended",
    "more", r"more (?:on|from) [\w ]{1,40}", "see also", "read also", "read more", "also read", "don['’]t miss",
    "up next", r"most read(?: in [\w ]+)?", "you (?:may|might) (?:also )?like", "trending(?: now)?",
    "explore further", "advertisement", "story continues below(?: advertisement)?", "à lire aussi", "baca juga",
    "czytaj (?:też|także)", "lee también", "lees ook", "leggi anche", "leia também", "lesen sie auch", "lire aussi",
    "läs också", "mehr zum thema", "siehe auch", "te puede interesar", "veja também", "читайте также",
)
POINTER = re.compile(
    rf"(?:also |click here to )?{_SEE}(?: {_ALSO})?\s*[:>»|]|{_HEADING}\s*(?:[:…>»|.]|$)", re.IGNORECASE
)

# A call to action, at any position: it contains one of CALL and opens with one of CALL_OPENS.
CALL = _pattern(
    r"\b", "",
    "sign(?:ing)? up (?:for|to|here|now|today)", "thanks for signing up", "subscribe (?:to|now|here|today)",
    r"newsletters?\b", "processing your subscription", "click here (?:to|for)", "by clicking here",
    r"(?:get|download) the [\w ]{1,40}\bapp\b", "(?:in|to) your inbox", "for as little as",
)
CALL_OPENS = _pattern(
    r"^\W*", r"\b",
    "abonnieren", "click", "download", "enjoy", "follow", "for more", "get", "have a tip", "join", "keep an eye",
    "like what", "listen to", "newsletter", "receive", "send us", "sign up", "sorry", "start your", "stay",
    "subscribe", "support", "tell us", "thanks", "there was an error", "unlock", "want",
    r"\w+(?: \w+){0,3} newsletter",
)

# A line under the article that is not part of it: by how it opens, or by what it contains.
FOOT = _pattern(
    r"^\W*", "",
    "©", r"\(c\)", "all rights reserved", "alle rechte", "aten[cç][aã]o", r"categor(?:y|ies)\s*:", r"comments?\b",
    r"contact\b.{0,60}@", r"copyright\b", r"editing by\b", r"email\b.{0,60}@", "filed under", "first published",
    "folgen sie", r"follow\b.{0,80}\b(?:on|at|us)\b", "follow (?:her|him|them|us)",
    "for more (?:information|news|stories)", "have a tip", "if you (?:enjoyed|liked|buy|found)",
    r"image credits?\s*:", "join the (?:discussion|conversation)", "last (?:updated|modified)",
    "leave a (?:comment|reply)", r"listen to\b", "originally published", r"photo(?:s| credit)?\s*:",
    "posted (?:in|on|by)", r"print\b", "report an? ", r"reporting by\b", "send us", "share (?:this|on)",
    "something to consider", r"sources?\s*:", r"tags?\s*:", "tell us what",
    "(?:the )?associated press contributed", r"this material may not be\b", "todos los derechos", "tous droits",
    r"updated (?:at|on)\b", "view comments", r"источник\s*:", r"фото\s*:",
)
FOOT_ANYWHERE = _pattern(
    "", "",
    "all rights reserved", "follow (?:her|him|them|me|us) on", "on twitter(?: at)? @",
    "(?:can|may) be reached at", "©",
)

# Above the first paragraph: date, author or address.
DATELINE = _pattern(
    r"^\W*", "$",
    r"(?:updated?|published|posted|last (?:updated|modified)|created)\b[^.!?]{0,90}",
    r"(?:mon|tue|wed|thu|fri|sat|sun)\w*[.,]? [^.!?]{0,60}\d{4}[^.!?]{0,30}", r"\d{1,2}[:.]\d{2}\b[^.!?]{0,80}",
    r"[^\W\d]{3,12}\.? \d{1,2}(?:st|nd|rd|th)?,? \d{4}[^.!?]{0,30}",
    r"\d{1,2}\.? [^\W\d]{3,12}\.?,? \d{4}[^.!?]{0,30}", r"\d{1,4}[./-]\d{1,2}[./-]\d{1,4}[^.!?]{0,40}",
    r"by [^.!?]{3,80}", r"https?://\S+",
)

# Whole words of a class or id: such a box is about the site, not the article.
BOX = _pattern(
    r"(?:^|[\s_-])", r"(?:$|[\s_-])",
    "author-?bio", "breadcrumbs?", "consent", r"cookie(?:-\w+)*", "more-?stories",
    "most-?(?:read|popular|viewed|shared)", "newsletters?", "outbrain", "promos?", "promo-items?",
    "read-?(?:more|next|also)", "recirc(?:ulation)?", "recommend(?:ed|ations)?",
    "related-?(?:articles?|stor(?:y|ies)|posts?|links?|content|news|topics?)", r"rollover(?:-\w+)*",
    "share-?(?:bar|buttons?|tools?|links?)", "sign-?up(?:-form)?", "skip-?links?",
    "social-?(?:share|links?|icons?|bar)", "taboola", "trending", "you-?may-?(?:also-?)?like",
)
CAPTION = re.compile(r"(?:^|[\s_-])(?:fig)?(?:caption|credits?)(?:$|[\s_-])", re.IGNORECASE)
EMBED = re.compile(r"embed|social|twitter|instagram", re.IGNORECASE)
