"""Stories of articles that are not in English: the embeddings tell the languages apart, not the events."""

from collections.abc import Mapping, Sequence
from itertools import count
from uuid import UUID

import numpy as np
import pytest

from headwater.db import Database
from headwater.labels.store import replace_labels
from headwater.labels.types import Method, NewLabel, Scheme
from headwater.stories import store
from headwater.stories.cluster import StoryClusters
from headwater.stories.decide import to_article
from headwater.stories.types import ENGLISH, StoryArticle
from headwater.stories.words import words_of
from headwater.types import ArticleId, SourceId
from headwater.understanding.embedding import embed
from tests.clock import START
from tests.stories.test_worker import a_page

PORTUGUESE = """
O governo anunciou hoje um novo pacote de medidas para ajudar as famílias com a conta da luz
A polícia prendeu três suspeitos de um roubo a uma joalheria no centro de Belém
O Flamengo venceu o Grêmio por dois a zero e assumiu a liderança do campeonato
Os cientistas descobriram uma nova espécie de sapo na Amazônia, segundo estudo da universidade
A cantora lançou o seu quinto álbum e vai fazer uma turnê pela Europa no próximo ano
O preço do café subiu mais de vinte por cento em um mês por causa da seca
O Senado aprovou o projeto de lei que muda as regras para a aposentadoria dos militares
Uma forte chuva causou alagamentos em vários bairros da zona norte de São Paulo
A empresa vai abrir uma fábrica de baterias no Ceará e criar dois mil empregos
O filme brasileiro foi escolhido para o festival de Cannes e concorre ao prêmio principal
Os médicos alertam para o aumento dos casos de dengue nas crianças durante o verão
O dólar fechou em queda depois da decisão do banco central sobre os juros
""".strip().splitlines()
GERMAN = """
Die Regierung hat ein neues Paket für Familien mit geringem Einkommen beschlossen
Der Zoo in Leipzig freut sich über die Geburt von zwei kleinen Löwen
Die Bahn will bis zum Ende des Jahres mehr Züge auf der Strecke nach Prag einsetzen
Bei einem Unfall auf der Autobahn sind am Morgen drei Menschen verletzt worden
Die Aktien des Autobauers sind nach der Prognose um acht Prozent gefallen
Der Trainer hat nach der Niederlage gegen Mainz seinen Rücktritt angekündigt
Das Theater zeigt im Herbst ein Stück über das Leben von Marie Curie
Forscher haben im Eis der Arktis Spuren von Plastik gefunden, die älter sind als gedacht
Der Bundestag hat über die Reform der Pflegeversicherung gestritten
Das Gericht hat die Klage der Anwohner gegen den Bau des Windparks abgewiesen
""".strip().splitlines()
SAME: Mapping[str, Sequence[str]] = {
    "pt": ("Flamengo bate o Grêmio e lidera o campeonato",),
    "de": ("Zoo Leipzig: zwei Löwen geboren", "Bundestag streitet über Reform der Pflegeversicherung"),
}


def group(texts: Sequence[str], language: str) -> list[set[str]]:
    """Each text is of a feed of its own, ten minutes after the last."""
    numbers = count(1)
    clusters = StoryClusters(lambda: UUID(int=next(numbers)))
    vectors = embed(texts)
    for number, text in enumerate(texts):
        clusters.place(
            StoryArticle(
                ArticleId(UUID(int=number)), number * 600.0, number * 600.0, words_of(text),
                vectors[number].astype(np.float16), frozenset({SourceId(UUID(int=number))}), language=language,
            )
        )  # fmt: skip
    clusters.review()
    return [{texts[one.int] for one in ids} for ids in clusters.groups() if len(ids) > 1]


@pytest.mark.parametrize(("texts", "language"), [(PORTUGUESE, "pt"), (GERMAN, "de")])
def test_articles_have_more_in_common_than_their_language(texts: Sequence[str], language: str):
    assert group(texts, language) == []


def test_articles_about_one_event_are_a_story_in_any_language():
    assert group([*PORTUGUESE, SAME["pt"][0]], "pt") == [{PORTUGUESE[2], SAME["pt"][0]}]
    german = group([*GERMAN, *SAME["de"]], "de")
    assert sorted(german, key=sorted) == sorted([{GERMAN[1], SAME["de"][0]}, {GERMAN[8], SAME["de"][1]}], key=sorted)


@pytest.mark.database
async def test_the_language_is_the_one_that_is_shown(database: Database) -> None:
    known, unknown = await a_page(database, "north", "flood"), await a_page(database, "south", "flood")
    async with database.transaction() as conn:
        given = {known: [NewLabel(Scheme.LANGUAGE, "pt", 0.9, "1")]}
        await replace_labels(conn, given=given, method=Method.MODEL, schemes=[Scheme.LANGUAGE], now=START)
        rows = await store.read_articles(conn, ids=[known, unknown])

    articles = {article.id: article.language for row in rows if (article := to_article(row))}
    assert articles == {known: "pt", unknown: ENGLISH}
