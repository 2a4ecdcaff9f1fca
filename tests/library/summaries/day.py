"""A day of news as feeds bring it: the same story in several of them, others only once, in several languages."""

from datetime import timedelta
from uuid import UUID

from headwater.library.summaries.types import DayArticle
from headwater.types import ArticleId
from tests.clock import START

FOOTER = "Subscribe to our newsletter to get the news in your inbox every morning."

# Of each its feed, title and text.
ENGLISH = [
    (
        "Harbour Post",
        "Storm Edda floods Bremvik harbour, thousands without power",
        (
            "Storm Edda flooded the old harbour of Bremvik on Tuesday night and left 14,000 homes without power. "
            "Water rose 1.9 metres above normal, the highest level since 1987, the port authority said. Mayor Dr."
            " Lena Holm asked people to stay away from the quays until Thursday. Ferries to the islands are "
            "cancelled. " + FOOTER
        ),
    ),
    (
        "National Wire",
        "14,000 homes lose power as Storm Edda hits Bremvik",
        (
            "Some 14,000 homes in Bremvik lost power when Storm Edda made landfall on Tuesday night. The harbour "
            "was flooded and ferries were cancelled. Crews expect to restore power by Wednesday evening, the grid"
            " operator said."
        ),
    ),
    (
        "Sea & Ships",
        "Bremvik harbour under water after Storm Edda",
        (
            "The harbour of Bremvik stood under water on Wednesday after Storm Edda. The port authority closed "
            "all quays, and eleven fishing boats sank at their moorings. Insurers speak of the costliest storm in"
            " thirty years."
        ),
    ),
    (
        "National Wire",
        "Central bank holds rate at 3.25 percent",
        (
            "The central bank left its key rate at 3.25 percent on Wednesday, as most economists had expected. "
            "Governor Amir Saleh said inflation was falling more slowly than hoped. The next decision is due in "
            "June."
        ),
    ),
    (
        "Market Letter",
        "Rates unchanged: central bank waits for inflation to fall",
        (
            "The central bank kept its key rate unchanged at 3.25 percent. Inflation stood at 2.9 percent in "
            "February, above the target of two percent. Bond yields rose slightly after the decision."
        ),
    ),
    (
        "Harbour Post",
        "Museum of clocks reopens after five years",
        (
            "The museum of clocks reopens on Saturday after five years of repairs. Visitors will see 400 clocks, "
            "among them one that was thought lost. Entry is free for the first week. " + FOOTER
        ),
    ),
    (
        "Orbit",
        "Small satellite maps methane leaks from space",
        (
            "A satellite the size of a washing machine has mapped 1,200 methane leaks in its first month. The "
            "data are open to everyone. Its makers say that half of the leaks could be closed within a year."
        ),
    ),
    (
        "Harbour Post",
        "Cup final goes to penalties",
        "",
    ),
    (
        "Kernel Notes",
        "Release 7.2 of the Larch compiler",
        "Release 7.2 is out. It is faster.",
    ),
]
GERMAN = [
    (
        "Elbblick",
        "Bahnstreik legt Fernverkehr am Freitag lahm",
        (
            "Ein Streik der Lokführer legt am Freitag den Fernverkehr in ganz Deutschland lahm. Die Gewerkschaft "
            "fordert z. B. kürzere Schichten und 8 Prozent mehr Lohn. Die Bahn will einen Notfahrplan anbieten."
        ),
    ),
    (
        "Tagesruf",
        "Lokführer streiken am Freitag: Fernverkehr fällt aus",
        (
            "Die Lokführer streiken am Freitag ab zwei Uhr morgens. Der Fernverkehr der Bahn fällt weitgehend "
            "aus. Verhandlungen über den Lohn sind am Mittwoch gescheitert."
        ),
    ),
    (
        "Elbblick",
        "Störche kehren früher zurück",
        "Die ersten Störche sind drei Wochen früher als sonst zurück.",
    ),
]
FRENCH = [
    (
        "Le Matin d'ici",
        "Le Parlement adopte la loi sur l'eau",
        (
            "Le Parlement a adopté mercredi la loi sur l'eau par 312 voix contre 190. Le texte limite les "
            "prélèvements dans les nappes pendant l'été. Les agriculteurs annoncent des manifestations samedi."
        ),
    ),
    (
        "Vallée Info",
        "Loi sur l'eau : le Parlement dit oui, les agriculteurs protestent",
        (
            "La loi sur l'eau a été adoptée par le Parlement mercredi soir. Les agriculteurs protestent contre la"
            " limite des prélèvements. Une manifestation est prévue samedi à Lyon."
        ),
    ),
]
RUSSIAN = [
    (
        "Северный вестник",
        "На Ладоге вскрылся лёд раньше срока",
        (
            "Лёд на Ладожском озере вскрылся на две недели раньше срока. Спасатели сняли с отколовшейся льдины 38"
            " рыбаков. Синоптики ждут тепла до конца недели."
        ),
    ),
]
JAPANESE = [
    (
        "朝の便り",
        "新幹線、大雪で東京と仙台の間が運休",
        "大雪の影響で、東京と仙台の間の新幹線は水曜日の朝から運休している。およそ2万人に影響が出た。再開は夕方になる見通しだ。",
    ),
    (
        "鉄道速報",
        "大雪で新幹線運休、東京・仙台間 2万人に影響",
        "東京と仙台の間の新幹線が大雪のため運休した。鉄道会社によると2万人に影響した。",
    ),
]
EVERY = [*ENGLISH, *GERMAN, *FRENCH, *RUSSIAN, *JAPANESE]


def a_day(told: list[tuple[str, str, str]]) -> list[DayArticle]:
    """These articles, the newest first."""
    return [
        DayArticle(ArticleId(UUID(int=number)), title, feed, START - timedelta(minutes=number), text)
        for number, (feed, title, text) in enumerate(told, 1)
    ]
