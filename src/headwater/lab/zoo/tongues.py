"""The words a newspaper of the zoo is made of: one Tongue per language, every line of it invented here.

In: nothing. Out: TONGUES. A subject is always plural and an object always fits any verb, so that every combination that
`press` rolls is a grammatical sentence.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Tongue:
    """A language, with its word lists and the sentences that use them."""

    code: str
    who: tuple[str, ...]
    verbs: tuple[str, ...]  # as in a headline, a slash, as in a report
    things: tuple[str, ...]
    places: tuple[str, ...]
    reasons: tuple[str, ...]
    people: tuple[str, ...]
    sections: tuple[str, ...]
    headlines: tuple[str, ...]
    opening: str
    sentences: tuple[str, ...]
    space: str = " "


def _words(listed: str) -> tuple[str, ...]:
    return tuple(" ".join(word.split()) for word in listed.split(","))


ENGLISH = Tongue(
    code="en",
    who=_words("""
        ferry pilots, lighthouse keepers, night bakers, orchard growers, bell founders, river wardens, kite makers,
        allotment neighbours, tram drivers, paper makers, beekeepers, choir singers, bridge painters, school
        gardeners, tide watchers, clock menders, map printers, hill shepherds
    """),
    verbs=_words("""
        reopen/reopened, rescue/rescued, rebuild/rebuilt, rename/renamed, save/saved, repaint/repainted,
        rediscover/rediscovered, map/mapped, protect/protected, bring back/brought back, restore/restored, light
        up/lit up
    """),
    things=_words("""
        the old ropewalk, the night market, a forgotten canal, the valley railway, the winter gardens, a century-old
        orchard, the clock tower, the island library, the floating theatre, the salt road, the stone bridge, the
        lamplighters’ walk, the swimming steps, the seed bank, the hilltop observatory, the tidal mill, the
        post-boat landing, the covered bandstand
    """),
    places=_words("""
        Alder Quay, Marrow Hill, Saltmere, Upper Fennick, Port Lindow, Thistledown, Greywater, Osier Bend, Lower
        Quill, Castle Brand, Wickersea, Three Elms, Northwold, Pebbleford
    """),
    reasons=_words("""
        after a year of patient work, ahead of the spring tides, with a little help from the neighbours, on a very
        small budget, in time for the harvest fair, to everyone’s surprise, one plank at a time, against all advice,
        before the first frost, for the second time this century
    """),
    people=_words("""
        Ines Harrow, Tobias Wren, Marguerite Olds, Samir Teague, Petra Lindqvale, Odhran Pike, Lucía Barrowell, Hal
        Mistry, Yuna Castellan, Bram Okoro-Vale, Dora Finch, Anselm Reyes-Holt
    """),
    sections=_words("harbour, town, weather, culture, science, sport"),
    headlines=(
        "{who} {do} {thing} in {place}",
        "{place}: {who} {do} {thing}",
        "{who} {do} {thing} {reason}",
        "How {who} {did} {thing}, {reason}",
        "{reason}, {who} {do} {thing}",
        "Why {place} cares so much about {thing}",
        "‘We never gave up’: {who} and {thing}",
        "In pictures: {thing} and the people of {place}",
        "What {who} learned when they {did} {thing}",
        "{who} & friends {do} {thing}",
    ),
    opening="{who} in {place} {did} {thing} this week, {reason}.",
    sentences=(
        "“People kept asking when it would happen, and then it had,” said {person}, {count} years a resident.",
        "Some {count} people came to see it on the first morning, most of them by bicycle.",
        "The plan had been put off three times, once for the weather and twice for want of timber.",
        "A small exhibition about {thing} stays open until the end of the month.",
        "The council voted {count} to two in favour and then, unusually, applauded.",
        "“I have a photograph of my grandmother standing exactly here,” {person} said, holding it up to compare.",
        "Nobody is quite sure who first suggested it, and at least four families claim the honour.",
        "The work cost less than a new bus shelter, according to figures seen by this newspaper.",
        "Children from the school in {place} drew the signs, which are cheerful and only slightly misspelled.",
        "For most of the last century {thing} appeared on every map of the district except the official one.",
        "A brass band played, stopped for rain, and played again.",
        "There are still {count} things on the list, and the list hangs in the window of the bakery for all to read.",
        "“You learn to be patient with old timber,” said {person}. “It has been patient with us.”",
        "Visitors are asked to come on foot, to bring a cup, and to leave the ducks alone.",
        "Engineers who looked at the plans called them optimistic; they have since asked for copies.",
        "The first mention of {thing} is in a letter of 1787, which complains about the noise.",
        "Opponents feared for the quiet of {place}, and several of them were seen dancing by nine o’clock.",
        "Every Thursday evening {count} volunteers met in the net loft to sort screws by size.",
        "The weather held, which in {place} counts as a kind of endorsement.",
        "A film about the project, shot on a borrowed camera, is to be shown outdoors if the wind allows.",
        "“It was never about the money, which is lucky,” {person} told a crowd of about {count}.",
        "The paint is a shade called gull grey, mixed by hand and impossible to buy.",
        "Ferries ran late all morning because their crews had stopped to watch.",
        "Two historians disagreed in public about the date above the door, and shook hands afterwards.",
        "Until now the nearest of its kind was half a day’s travel from {place}.",
        "The accounts, all {count} pages of them, can be read at the library, where the kettle is on.",
        "Next comes the roof, then the garden, and then, says {person}, a long rest.",
        "A heron has taken to standing there at dusk and is now considered part of the staff.",
        "Similar efforts in {place} have failed before, usually over who would keep the key.",
        "The key, for the record, hangs on a nail inside the door.",
        "Local shops reported their best week since the great cheese festival.",
        "“We measured everything twice and still had {count} tiles left over,” {person} admitted.",
        "Readers have already sent us more than {count} letters on the subject, nearly all of them kind.",
        "The ribbon was cut by the oldest and the youngest person in {place}, using the same pair of scissors.",
        "A sceptic from the next valley inspected it for an hour and pronounced it sound.",
        "Seen from the hill, {thing} looks much as it does in the old engravings, apart from the solar panels.",
        "Bookings open on the first of the month, by post only, as tradition demands.",
        "The tools were lent by {count} households and, remarkably, all of them have been returned.",
        "On the last day somebody found a time capsule, which turned out to hold an umbrella.",
        "What happens in winter is another question, and {person} already has a notebook full of answers.",
    ),
)

FRENCH = Tongue(
    code="fr",
    who=_words("""
        les gardiens du phare, les boulangers de nuit, les passeurs du fleuve, les élèves jardiniers, les horlogers,
        les apiculteurs, les veilleurs des marées
    """),
    verbs=_words("""
        rouvrent/ont rouvert, sauvent/ont sauvé, repeignent/ont repeint, redécouvrent/ont redécouvert, protègent/ont
        protégé
    """),
    things=_words("""
        le marché de nuit, l’ancien moulin à marée, le théâtre flottant, la bibliothèque de l’île, le chemin du sel,
        le vieux verger, la tour de l’horloge
    """),
    places=_words("Portclair, Saint-Orme, Bellegrève, Grand-Aulne, Montécume, Vieilles-Écluses"),
    reasons=_words("""
        après une année de patience, à la surprise générale, avant les premières gelées, avec l’aide des voisins,
        pour la fête de la moisson
    """),
    people=_words("Aurélie Vasselin, Théo Marchevel, Hélène d’Aubrac, Noël Fargette, Zoé Lespérance"),
    sections=_words("port, ville, culture"),
    headlines=(
        "{who} {do} {thing} à {place}",
        "{place} : {who} {do} {thing}",
        "{who} {do} {thing} {reason}",
        "Pourquoi {place} aime tant {thing}",
    ),
    opening="À {place}, {who} {did} {thing} cette semaine, {reason}.",
    sentences=(
        "« On n’y croyait plus, et voilà que c’est fait », raconte {person}, {count} ans de métier.",
        "Près de {count} curieux sont venus dès le premier matin, la plupart à vélo.",
        "Le projet avait été repoussé trois fois, une fois à cause de la pluie et deux fois faute de bois.",
        "Le conseil a voté pour, puis, chose rare, il a applaudi.",
        "Une petite exposition reste ouverte jusqu’à la fin du mois.",
        "Les enfants de l’école ont dessiné les panneaux, fort gais et à peine mal orthographiés.",
        "La clé est accrochée à un clou, derrière la porte, où chacun peut la trouver.",
        "Un héron vient s’y poser au crépuscule et fait désormais partie de l’équipe.",
        "Il reste {count} choses à faire ; la liste est affichée à la boulangerie.",
        "« Nous avons tout mesuré deux fois », assure {person} en riant.",
        "La fanfare a joué, s’est arrêtée pour l’averse, puis a repris de plus belle.",
        "Vu de la colline, le lieu ressemble aux vieilles gravures, à quelques détails près.",
    ),
)

GERMAN = Tongue(
    code="de",
    who=_words("Leuchtturmwärter, Nachtbäcker, Fährleute, Uhrmacherinnen, Obstbäuerinnen, Brückenmaler"),
    verbs=_words("""
        retten/haben {thing} gerettet, eröffnen/haben {thing} eröffnet, schützen/haben {thing} geschützt,
        entdecken/haben {thing} entdeckt
    """),
    things=_words("""
        den alten Nachtmarkt, die Gezeitenmühle, das schwimmende Theater, die Inselbücherei, den vergessenen Kanal,
        die Sternwarte über der Stadt
    """),
    places=_words("Erlenkai, Salzmoor, Oberfenning, Grauwasser, Dreilinden, Möwenbrück"),
    reasons=_words("""
        nach einem Jahr geduldiger Arbeit, zur Überraschung aller, noch vor dem ersten Frost, mit Hilfe der
        Nachbarn, rechtzeitig zum Erntefest
    """),
    people=_words("Käthe Böhmwald, Jürgen Früh, Änne Großkopf, Matthäus Löwe, Ulrike Süßmilch"),
    sections=_words("hafen, stadt, kultur"),
    headlines=(
        "{who} {do} {thing} in {place}",
        "{place}: {who} {do} {thing}",
        "{who} {do} {thing} – {reason}",
    ),
    opening="{who} in {place} {did}, {reason}.",
    sentences=(
        "„Wir hatten kaum noch daran geglaubt“, sagt {person} und zeigt auf das frisch gestrichene Tor.",
        "Rund {count} Menschen kamen schon am ersten Morgen, die meisten mit dem Fahrrad.",
        "Dreimal wurde der Plan verschoben – einmal wegen des Wetters, zweimal fehlte das Holz.",
        "Der Gemeinderat stimmte zu und klatschte dann, was selten vorkommt.",
        "Für die Schilder sorgten die Kinder der Schule: fröhlich und fast fehlerfrei.",
        "Der Schlüssel hängt an einem Nagel hinter der Tür – dort sucht ihn niemand.",
        "Noch {count} Dinge stehen auf der Liste im Fenster der Bäckerei.",
        "„Zweimal messen, einmal sägen“, erklärt {person}, „und trotzdem blieben Bretter übrig.“",
        "Ein Reiher steht dort jeden Abend und gehört inzwischen zur Belegschaft.",
        "Die Kapelle spielte, wartete den Schauer ab und spielte weiter.",
    ),
)

SPANISH = Tongue(
    code="es",
    who=_words("los fareros, las panaderas de noche, los barqueros, las relojeras, los apicultores"),
    verbs=_words("""
        reabren/han reabierto, salvan/han salvado, protegen/han protegido, redescubren/han redescubierto
    """),
    things=_words("""
        el mercado nocturno, el viejo molino de mareas, la biblioteca de la isla, el teatro flotante, el camino de
        la sal, la torre del reloj
    """),
    places=_words("Puerto Aliso, Salmar, Villa Junquera, Tres Olmos, Aguaparda"),
    reasons=_words("""
        tras un año de paciencia, para sorpresa de todos, antes de las primeras heladas, con la ayuda de los vecinos
    """),
    people=_words("Inés Robledal, Íñigo Sotomar, Begoña Niebla, Andrés Peñalosa"),
    sections=_words("puerto, pueblo, cultura"),
    headlines=(
        "{who} {do} {thing} en {place}",
        "{place}: {who} {do} {thing}",
        "¿Por qué {who} {do} {thing}?",
    ),
    opening="En {place}, {who} {did} {thing} esta semana, {reason}.",
    sentences=(
        "«Ya nadie lo esperaba, y de pronto sucedió», cuenta {person}, con {count} años de oficio.",
        "Unas {count} personas llegaron la primera mañana, casi todas en bicicleta.",
        "El plan se había aplazado tres veces: una por la lluvia y dos por falta de madera.",
        "El concejo votó a favor y después, cosa rara, aplaudió.",
        "Los niños de la escuela pintaron los carteles, alegres y con apenas dos faltas.",
        "La llave cuelga de un clavo detrás de la puerta.",
        "Quedan {count} tareas en la lista que hay en el escaparate de la panadería.",
        "Una garza se posa allí al anochecer y ya forma parte del equipo.",
        "«Medimos todo dos veces», asegura {person} entre risas.",
    ),
)

GREEK = Tongue(
    code="el",
    who=_words("οι φαροφύλακες, οι νυχτερινοί φουρνάρηδες, οι βαρκάρηδες, οι μελισσοκόμοι, οι ωρολογοποιοί"),
    verbs=_words("σώζουν/έσωσαν, ανοίγουν ξανά/άνοιξαν ξανά, προστατεύουν/προστάτευσαν"),
    things=_words("τη νυχτερινή αγορά, τον παλιό νερόμυλο, το πλωτό θέατρο, τη βιβλιοθήκη του νησιού"),
    places=_words("Ασπροπόρτι, Αλυκές, Καλαμιά, Τρεις Λεύκες"),
    reasons=_words("ύστερα από έναν χρόνο υπομονής, προς έκπληξη όλων, με τη βοήθεια των γειτόνων"),
    people=_words("Ευγενία Θαλασσινού, Στρατής Λευκαδίτης, Ξένια Αρμύρα"),
    sections=_words("limani, poli"),
    headlines=(
        "{who} {do} {thing}",
        "{place}: {who} {do} {thing}",
        "{who} {do} {thing} {reason}",
    ),
    opening="Αυτή την εβδομάδα {who} {did} {thing}, {reason}.",
    sentences=(
        "«Κανείς δεν το περίμενε πια», λέει χαμογελώντας ο κόσμος στην πλατεία.",
        "Γύρω στα {count} άτομα ήρθαν το πρώτο πρωί, τα περισσότερα με ποδήλατο.",
        "Το σχέδιο είχε αναβληθεί τρεις φορές, μία για τη βροχή και δύο για τα ξύλα.",
        "Τα παιδιά του σχολείου ζωγράφισαν τις πινακίδες με πολύ κέφι.",
        "Το κλειδί κρέμεται σε ένα καρφί πίσω από την πόρτα.",
        "Ένας ερωδιός στέκεται εκεί κάθε σούρουπο και θεωρείται πια μέλος της ομάδας.",
    ),
)

CHINESE = Tongue(
    code="zh",
    who=_words("灯塔守护人, 夜班面包师, 渡船船长们, 养蜂人, 修钟匠, 河道巡护员"),
    verbs=_words("重新开放/重新开放了, 抢救/抢救了, 修复/修复了, 保护/保护了"),
    things=_words("老夜市, 潮汐磨坊, 水上剧场, 海岛图书馆, 百年果园, 山顶天文台"),
    places=_words("桤木码头, 盐湖镇, 三榆村, 灰水湾, 芦苇渡"),
    reasons=_words("历时整整一年, 出乎所有人的意料, 在邻居们的帮助下, 赶在初霜之前"),
    people=_words("林知夏, 周望潮, 顾小满, 沈听雨"),
    sections=_words("gangkou, chengzhen"),
    headlines=(
        "{place}{who}{do}{thing}",
        "{reason}，{who}{do}{thing}",
        "{who}与{thing}的故事",
    ),
    opening="本周，{place}的{who}{did}{thing}，{reason}。",
    sentences=(
        "“我们几乎不敢相信这一天真的来了，”{person}说。",
        "第一天清晨就来了大约{count}位居民，多数人骑着自行车。",
        "计划曾三次推迟，一次因为下雨，两次因为缺少木料。",
        "镇议会投票赞成，随后罕见地鼓起掌来。",
        "学校的孩子们画了路牌，色彩明快，只有几个错字。",
        "钥匙就挂在门后的钉子上，人人都知道。",
        "清单上还剩{count}件事，贴在面包店的橱窗里。",
        "每到黄昏，一只苍鹭都会站在那里，如今它已算是工作人员。",
    ),
    space="",
)

JAPANESE = Tongue(
    code="ja",
    who=_words("灯台守たち, 夜のパン職人たち, 渡し船の船長たち, 養蜂家たち, 時計職人たち"),
    verbs=_words("再開/再開した, 救う/救った, 修復/修復した, 守る/守った"),
    things=_words("夜市, 潮の水車, 水上劇場, 島の図書館, 百年の果樹園, 丘の天文台"),
    places=_words("榛の木埠頭, 塩見町, 三本楡, 灰水浦, 葦原"),
    reasons=_words("一年がかりで, 誰もが驚くなか, 近所の人々の助けを借りて, 初霜を前に"),
    people=_words("潮崎ひなた, 森野かえで, 月岡つばさ, 小鳥遊みなと"),
    sections=_words("minato, machi"),
    headlines=(
        "{place}で{who}が{thing}を{do}",
        "{reason}、{who}が{thing}を{do}",
        "{who}と{thing}の物語",
    ),
    opening="今週、{place}の{who}が{reason}{thing}を{did}。",
    sentences=(
        "「本当にこの日が来るとは思いませんでした」と{person}さんは語る。",
        "初日の朝にはおよそ{count}人が訪れ、その多くは自転車だった。",
        "計画は三度延期された。一度は雨のため、二度は木材不足のためである。",
        "町議会は賛成を可決し、めずらしく拍手が起きた。",
        "学校の子どもたちが看板を描き、町はすっかり明るくなった。",
        "鍵は扉の裏の釘に掛けてある。",
        "残る作業は{count}件で、一覧はパン屋の窓に貼られている。",
        "夕暮れになると一羽の鷺がそこに立ち、今では職員の一員とされている。",
    ),
    space="",
)

TONGUES = {tongue.code: tongue for tongue in (ENGLISH, FRENCH, GERMAN, SPANISH, GREEK, CHINESE, JAPANESE)}
