"""Verbs of technical prose with their forms, and the small closed classes of English words that the rules go by."""

from __future__ import annotations

import re

# Transitive verbs that a passive can be made of, by their base form.
_TRANSITIVE = str.split(
    "accept access add adjust allocate analyse analyze append apply assign attach build calculate call change check "
    "clear close collect combine compare compile compute configure connect construct contain control convert copy "
    "create declare decode define delete describe detach detect determine disable discard display divide draw emit "
    "enable encode ensure enter estimate evaluate examine execute expand export extract fetch filter find fit "
    "flatten flush format forward free gather generate get group handle hold identify ignore implement import "
    "include index initialise initialize insert inspect install invert invoke join keep launch list load lock log "
    "map mark match measure merge modify monitor move multiply name normalise normalize obtain open override pack "
    "parse partition pass perform permute plot populate preserve print process produce project propagate provide "
    "query raise read receive record reduce register reject release remove rename render reorder repeat replace "
    "report represent request reset resolve restore retrieve return reverse rotate round run sample save scale scan "
    "search select send serialise serialize set shift show sort specify split start stop store strip sum suppress "
    "swap terminate test track transform translate transpose trigger truncate try unpack update upload use validate "
    "verify visit wait wrap write yield"
)
# Others that stand as the verb of a sentence.
_OTHER = str.split(
    "affect allow appear apply assume avoid become begin behave belong block cause come consist correspond cover "
    "denote depend differ do exist extend fail follow give go happen have help imply indicate introduce lead lie "
    "live look make mean need occur offer operate point prevent refer relate rely remain require reside result "
    "satisfy say seem serve simplify stand support take tell tend treat vary work expect assume lack leave let "
    "matter force manage maintain improve yield limit inherit interact mimic model own permit present prefer "
    "promote reflect share store tie touch turn wish want know compose divide drop exhibit expose form fulfil hide "
    "host issue minimise minimize maximise maximize mirror overwrite place play rest solve span take"
)
_PARTICIPLES = dict(
    pair.split(":")
    for pair in str.split(
        "build:built draw:drawn find:found fit:fitted get:obtained hold:held keep:kept override:overridden "
        "read:read reset:reset run:run send:sent set:set show:shown split:split write:written begin:begun "
        "become:become come:come do:done give:given go:gone have:had lead:led lie:lain make:made mean:meant "
        "say:said stand:stood take:taken tell:told leave:left let:let know:known hide:hidden overwrite:overwritten "
        "rest:rested map:mapped wrap:wrapped strip:stripped swap:swapped log:logged stop:stopped drop:dropped "
        "plot:plotted refer:referred occur:occurred prefer:preferred permit:permitted control:controlled "
        "flatten:flattened filter:filtered register:registered render:rendered reorder:reordered trigger:triggered "
        "gather:gathered enter:entered specify:specified visit:visited limit:limited submit:submitted "
        "transfer:transferred emit:emitted"
    )
)
PRONOUNS = frozenset(
    str.split("it they we you i he she this these that those there one ones such which what who itself themselves")
)
DETERMINERS = frozenset(
    str.split(
        "the a an this these those each every any all some no both either its their your our most many several "
        "another other such two three four five six seven eight nine ten"
    )
)
AUXILIARIES = frozenset(
    str.split("is are was were can could may might must should will would shall cannot has have had does do did")
)
PREPOSITIONS = frozenset(
    str.split(
        "of in on at by with from into onto to for as through during over under between among within upon via per "
        "about against across along without until inside outside like than toward towards"
    )
)
CLAUSE_WORDS = frozenset(
    str.split(
        "that which who whom whose where when whenever if unless whether because since although though while "
        "whereas so but and or nor until once after before how why what as than"
    )
)
# What may be written small when it comes to stand within a sentence: no name begins with these.
SMALL = (
    PRONOUNS
    | DETERMINERS
    | PREPOSITIONS
    | CLAUSE_WORDS
    | frozenset(
        str.split(
            "here then thus hence only also even just note however therefore otherwise instead default values "
            "objects functions arguments arrays elements data users results errors files names types methods "
            "classes both neither when once unlike similarly conversely further additional different multiple "
            "various certain specific compute return called given using used based common such sparse existing new "
            "old more less fewer further"
        )
    )
) - {"i"}


def third(base: str) -> str:
    """The form for he, she and it."""
    if base in ("have", "do", "go"):
        return {"have": "has", "do": "does", "go": "goes"}[base]
    if base.endswith(("s", "x", "z", "ch", "sh")):
        return base + "es"
    if base.endswith("y") and base[-2] not in "aeiou":
        return base[:-1] + "ies"
    return base + "s"


def participle(base: str) -> str:
    """The past participle."""
    if base in _PARTICIPLES:
        return _PARTICIPLES[base]
    if base.endswith("e"):
        return base + "d"
    if base.endswith("y") and base[-2] not in "aeiou":
        return base[:-1] + "ied"
    return base + "ed"


TRANSITIVE = frozenset(_TRANSITIVE)
BASES = TRANSITIVE | frozenset(_OTHER)
OF_THIRD: dict[str, str] = {third(base): base for base in sorted(BASES)}
"""Base form by the form for he, she and it."""
PASSIVE: dict[str, str] = {
    form: participle(base)
    for base in sorted(TRANSITIVE - {"ensure", "try", "wait", "start", "contain", "hold", "override", "see"})
    for form in (base, third(base))
}
"""Past participle by base form and by the form for he, she and it."""
_LINKING = frozenset(
    str.split(
        "check determine test see know ask decide verify show indicate detect find establish "
        "tell whether specify inspect examine"
    )
)
ASKS = re.compile(
    r"\b(?:" + "|".join(
        sorted(_LINKING | {third(one) for one in _LINKING} | {one + "ing" for one in _LINKING}
               | {"indicating", "determining", "deciding", "unclear", "sure", "unknown", "only", "even", "as", "and",
               "or", "but", "not",
                  "just", "especially", "particularly", "except", "case", "time", "moment", "situation", "useful",
                  "mainly", "usually", "that"})
    ) + r")$"
)  # fmt: skip
"""Ends of clauses after which `if` and `when` do not open a condition of the whole sentence."""

EXCHANGED = """
return = give back
contain = hold
provide = supply
create = make|produce
modify = alter|change
alter = change|modify
perform = carry out
compute = calculate|work out
calculate = compute|work out
ensure = guarantee
guarantee = ensure
generate = produce
remove = delete
delete = remove
ignore = disregard
disregard = ignore
indicate = show|signal
happen = occur
retrieve = fetch
construct = build
build = construct
select = choose|pick
choose = select|pick
display = show
permit = allow
require = need|call for
use = employ|make use of
satisfy = fulfil
utilise = use
utilize = use
employ = use
examine = inspect
inspect = examine
store = keep
execute = run
handle = deal with
supply = provide
acquire = obtain
obtain = get
discard = throw away
assume = suppose
"""
"""Verbs that may stand for each other, by base form, a line `verb = others`; the forms are made. Of these, some are
nouns as well and count only where they must be verbs."""

NO_PARTICIPLE = frozenset({"return", "require", "represent", "denote", "assume", "happen", "occur", "discard"})
"""Verbs whose participle or other forms do not exchange as the others do."""
NOUNS_TOO = frozenset(str.split("require use return display store offer supply handle permit build guarantee"))
"""Base forms that may be nouns: exchanged only behind `to` and modal verbs."""
