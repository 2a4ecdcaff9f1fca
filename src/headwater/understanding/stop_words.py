"""Words that say nothing about what a text is about, in the languages that most feeds are written in. Pure data."""

from collections.abc import Mapping
from typing import Final

_ENGLISH: Final = """
a about above according across after again against ago all almost along already also although always am among an
and another any anyone anything are around as ask asked at away back be became because become been before began
behind being below between both but by came can cannot come could day days did didn do does doesn doing don done
down during each early either else end enough especially etc even ever every everyone everything far few first five
following for former found four from further get gets getting give given go goes going gone good got had half has
have having he her here hers herself him himself his how however hundred if in including indeed instead into is isn
it its itself just keep know known last late later latest least left less let like likely ll long look made main
make makes making many may maybe me mean means might million month months more most much must my myself near need
needs never new news next nine no non nor not nothing now number of off often on once one only onto or other others
our ours out over own part per perhaps please put quite rather re read really recent recently reported reports
right said same saw say saying says second see seen seven several shall she should show shows since six so some
someone something soon still such take taken takes ten than that the their them themselves then there these they
thing things think third this those though thought thousand three through thus time times to today together told
tomorrow too took toward towards two under until up upon us use used uses using usually ve very via want wants was
wasn way ways we week weeks well went were weren what when where whether which while who whole whom whose why will
with within without won would year years yes yesterday yet you your yours monday tuesday wednesday thursday friday
saturday sunday january february march april june july august september october november december com www http
https html
"""
_GERMAN: Final = """
aber alle allem allen aller alles als also am an ander andere anderen auch auf aus bei beim bin bis bist da damit
dann das dass dein dem den denn der des dich die dies diese diesem diesen dieser dieses doch dort du durch ein eine
einem einen einer eines er es euch für gegen gibt habe haben hat hatte hatten hier hin ich ihm ihn ihr ihre ihrem
ihren ihrer im in ist ja jede jeder jetzt kann kein keine können könnte man mehr mein mit muss müssen nach nicht
noch nun nur ob oder ohne schon sehr sei sein seine seinem seinen seiner seit sich sie sind so soll sollen sondern
über um und uns unser unter vom von vor war waren was wegen weil wenn wer werden wie wieder will wir wird wo worden
wurde wurden zu zum zur zwei zwischen jahr jahre jahren uhr sagte laut heute
"""
_FRENCH: Final = """
afin ai ainsi alors après au aucun aujourd aussi autre autres aux avant avec avoir ce cela celle celui ces cet
cette ceux chez comme contre dans de depuis des deux dit donc du elle elles en encore entre est et été être eu fait
faire faut font hui ici il ils jamais je jusqu la le les leur leurs lors lui mais me même mes moins mon ne ni non
nos notre nous on ont ou où par parce pas pendant peu peut plus pour pourquoi puis qu quand que quel quelle qui
quoi sa sans se selon sera ses si son sont sous sur ta tant te tes toujours tous tout toute toutes très trop tu un
une vers vos votre vous an ans année
"""
_SPANISH: Final = """
a al algo algunos ante antes años aquí así aún aunque cada casi como con contra cual cuando de del desde después
dice dijo donde dos durante e el ella ellos en entre era es esa ese eso esta está están estaba este esto estos fue
fueron ha había han hasta hay hace hoy la las le les lo los más me mi mientras mismo mucho muy nada ni no nos o
otra otro otros para pero poco por porque puede que quien qué se según ser si sí sido sin sino sobre solo son su
sus también tan tanto tener tiene tienen todo todos tras tres un una uno unos y ya yo año
"""
_ITALIAN: Final = """
a ad ai al alla alle agli allo anche ancora anni anno aveva avere c che chi ci come con contro così cui da dai dal
dalla dalle degli dei del della delle dello di dopo dove due e è ed era erano essere fa fino fra già gli ha hanno i
il in io l la le lei li lo loro lui ma mentre mi molto ne negli nei nel nella nelle noi non nostro o ogni oggi per
perché più poi prima proprio può qual quando quanto quella quelle quelli quello questa queste questi questo se sei
sempre senza si sia solo sono sta stata stati stato su sua sue sugli sui sul sulla suo suoi tra tre tutta tutte
tutti tutto un una uno vi
"""
_PORTUGUESE: Final = """
a ao aos após as até cada com como contra da das de dele dela depois desde do dois dos e é ela elas ele eles em
entre era essa esse esta está estão este eu foi foram há isso isto já lhe mais mas me mesmo meu minha muito na não
nas nem no nos nós o os ou outra outro outros para pela pelas pelo pelos per pode por porque quando que quem são se
segundo sem ser seu seus sobre sua suas também tem têm ter toda todas todo todos três tudo um uma você anos ano
disse
"""
_DUTCH: Final = """
aan al alle alles als altijd andere ben bij daar dan dat de der deze die dit doch doen door dus een en er ge geen
haar had heb hebben heeft hem het hier hij hoe hun ik in is ja je jaar kan kon kunnen maar me meer men met mij mijn
moet na naar niet niets nog nu of om omdat onder ons ook op over reeds te tegen tot twee u uit uw van veel voor
want waren was wat werd wezen wie wil worden wordt zal ze zei zelf zich zij zijn zo zonder zou
"""

STOP_WORDS: Mapping[str, frozenset[str]] = {
    language: frozenset(words.split())
    for language, words in {
        "en": _ENGLISH, "de": _GERMAN, "fr": _FRENCH, "es": _SPANISH, "it": _ITALIAN, "pt": _PORTUGUESE, "nl": _DUTCH,
    }.items()
}  # fmt: skip
