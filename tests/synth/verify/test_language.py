"""Texts that are plainly English need no detector; all others are asked about."""

from __future__ import annotations

import pytest
from k3data.synth.verify.facts import fact_sheet
from k3data.synth.verify.form import _english
from k3data.synth.verify.verify import verify

ENGLISH = (
    "The server keeps a log of all requests that reach it, and a client which sends too many of them is shut "
    "out for an hour. When the hour has passed, the ban is lifted by hand or by the clock. The log should "
    "then be read by those who know the network, because not every ban is deserved and because some clients "
    "only repeat what others have told them."
)
OTHERS = {
    "German": (
        "Der Server schreibt alle Anfragen mit, die ihn erreichen, und ein Klient, der zu viele davon "
        "schickt, wird für eine Stunde ausgesperrt. Ist die Stunde vorbei, so wird die Sperre von Hand oder "
        "von der Uhr aufgehoben. Das Protokoll sollte dann von denen gelesen werden, die das Netz kennen, "
        "weil nicht jede Sperre verdient ist."
    ),
    "French": (
        "Le serveur garde une trace de toutes les demandes qui lui parviennent, et un client qui en envoie "
        "trop est exclu pendant une heure. Quand cette heure est passée, l'exclusion est levée à la main ou "
        "par l'horloge. La trace devrait ensuite être lue par ceux qui connaissent le réseau, car toute "
        "exclusion n'est pas méritée."
    ),
    "Dutch": (
        "De server houdt alle aanvragen bij die hem bereiken, en een client die er te veel stuurt wordt een "
        "uur lang buitengesloten. Als het uur voorbij is, wordt de uitsluiting met de hand of door de klok "
        "opgeheven. Het logboek moet dan worden gelezen door wie het netwerk kent, want niet elke uitsluiting"
        " is verdiend."
    ),
    "Danish": (
        "Serveren fører log over alle forespørgsler, der når den, og en klient, som sender for mange af dem, "
        "lukkes ude i en time. Når timen er gået, ophæves udelukkelsen med hånden eller af uret. Loggen bør "
        "så læses af dem, der kender netværket, for ikke enhver udelukkelse er fortjent, og nogle klienter "
        "gentager kun, hvad andre siger."
    ),
}


def test_english_is_told_by_its_frequent_words():
    assert _english(fact_sheet(ENGLISH))


@pytest.mark.parametrize("language", OTHERS)
def test_no_other_language_is_taken_for_english(language: str):
    assert not _english(fact_sheet(OTHERS[language]))
    assert "lang" in verify(ENGLISH, OTHERS[language]).codes


def test_english_ends_around_another_language_are_not_enough():
    words = ENGLISH.split()
    mixed = " ".join(words[:8] + OTHERS["German"].split() + words[-8:])
    assert not _english(fact_sheet(mixed))
