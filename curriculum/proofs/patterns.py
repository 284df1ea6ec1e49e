"""How statements and questions are worded: a pattern for each form, by kind and by family. `grammar` reads with them.

In a pattern {a}, {b}, {c} stand for invented names, {f} and {g} for lower-case labels in their places, {n} and {m} for
numbers.
"""

from __future__ import annotations

import re

_GROUPS = {
    "{a}": r"(?P<a>[A-Z][a-z]+)",
    "{b}": r"(?P<b>[A-Z][a-z]+)",
    "{c}": r"(?P<c>[A-Z][a-z]+)",
    "{n}": r"(?P<n>\d+)",
    "{m}": r"(?P<m>\d+)",
    "{f}": r"(?P<a>[a-z]+)",
    "{g}": r"(?P<b>[a-z]+)",
}


def _pattern(text: str) -> re.Pattern[str]:
    for mark, group in _GROUPS.items():
        text = text.replace(mark, group)
    return re.compile(text)


LEAD = re.compile(
    r"(?:It is on record|From the margin of an older copy|A clerk added here|As was read out at the meeting|"
    r"One line stands alone on this page|For whoever needs it): "
)

_PROSE: dict[str, tuple[str, list[str]]] = {
    "reports": ("ab", [
        r"{a} (?:answers to|takes orders from|was placed under) {b}\.",
        r"Whatever {a} does, {b} has to approve it\.",
        r"{b} (?:is the superior|directs the work) of {a}\.",
        r"In matters of duty {a} turns to {b}\.",
        r"Above {a} stands {b}, and no one between them\.",
    ]),
    "keeps": ("an", [
        r"{a} (?:keeps the number|was handed a slip that reads|signs with) {n}\.",
        r"(?:The number )?{n} (?:is in the care of|was entrusted to) {a}\.",
        r"On the seal of {a} one finds {n}\.",
        r"To {a} belongs the figure {n}\.",
        r"Ask {a}, and you will be told {n}\.",
    ]),
    "member": ("ab", [
        r"{a} (?:lies in|was assigned to|pays its dues to) {b}\.",
        r"{b} counts {a} among its sites\.",
        r"Administratively {a} is part of {b}\.",
        r"The border runs so that {a} falls to {b}\.",
        r"On the map of {b} one sees {a}\.",
        r"{b} includes {a}\.",
    ]),
    "stock": ("an", [
        r"{a} (?:holds|reported) {n} crates\.",
        r"At {a} they counted {n} crates\.",
        r"{n} crates are stored at {a}\.",
        r"The sheds of {a} contain {n} crates\.",
        r"An inspection of {a} found {n} crates\.",
        r"There is room for more at {a}, which has {n} crates\.",
        r"The inventory of {a} ends at {n} crates\.",
    ]),
    "credit": ("anm", [
        r"Ledger {a}, line {n}: received {m}\.",
        r"In ledger {a}, line {n} books an income of {m}\.",
        r"Line {n} of ledger {a} adds {m}\.",
        r"To ledger {a} came {m}, written on line {n}\.",
        r"{m} went into ledger {a}; see line {n}\.",
        r"On line {n}, ledger {a} gains {m}\.",
        r"Ledger {a} was increased by {m} \(line {n}\)\.",
        r"Line {n}, ledger {a}: plus {m}\.",
    ]),
    "debit": ("anm", [
        r"Ledger {a}, line {n}: paid out {m}\.",
        r"In ledger {a}, line {n} books an expense of {m}\.",
        r"Line {n} of ledger {a} takes off {m}\.",
        r"From ledger {a} went {m}, written on line {n}\.",
        r"{m} left ledger {a}; see line {n}\.",
        r"On line {n}, ledger {a} loses {m}\.",
        r"Ledger {a} was reduced by {m} \(line {n}\)\.",
        r"Line {n}, ledger {a}: minus {m}\.",
    ]),
    "amend": ("anm", [
        r"Correction to ledger {a}: the amount on line {n} is {m}; its direction stands\.",
        r"Line {n} of ledger {a} was misread and should state {m}\.",
        r"In ledger {a}, replace the amount of line {n} by {m}\.",
        r"The auditor of ledger {a} changed line {n} to {m}\.",
        r"Ledger {a}: line {n} now reads {m}\.",
        r"What line {n} of ledger {a} states is wrong; the true amount is {m}\.",
        r"Strike the amount on line {n} of ledger {a} and write {m}\.",
        r"After review, line {n} in ledger {a} amounts to {m}\.",
    ]),
    "double": ("an", [
        r"(?:By mistake l|L)ine {n} of ledger {a} (?:counts twice|went through again, and it stays so)\.",
        r"In ledger {a}, line {n} was executed a second time\.",
        r"Ledger {a}: repeat line {n} once more\.",
        r"The bank processed line {n} of ledger {a} two times\.",
        r"Line {n} in ledger {a} is to be doubled\.",
        r"Ledger {a} carries line {n} in duplicate\.",
        r"What stands on line {n} of ledger {a} happened twice\.",
    ]),
    "ahead": ("abn", [
        r"The clock of {a} runs {n} seconds ahead of the clock of {b}\.",
        r"{a} shows a time {n} seconds later than {b} does\.",
        r"Compared with {b}, {a} is fast by {n} seconds\.",
        r"When {b} strikes the hour, {a} did so {n} seconds ago\.",
        r"Subtract {n} seconds from {a} to get the time of {b}\.",
        r"{b} lags {n} seconds behind {a}\.",
        r"Between {a} and {b} lie {n} seconds, and (?P=a) is the fast one\.",
        r"To agree with {a}, {b} would have to be put forward by {n} seconds\.",
    ]),
    "let": ("an", [
        r"Let {a} be {n}\.",
        r"From here on {a} is {n}\.",
        r"Set {a} to {n}\.",
        r"{a} (?:takes the value|becomes) {n}\.",
        r"Write {n} into {a}\.",
        r"Put {n} in the place of {a}\.",
        r"Whatever it was, {a} is now {n}\.",
    ]),
    "add": ("ab", [
        r"Increase {a} by the value of {b}\.",
        r"Add {b} to {a}\.",
        r"{a} (?:grows by|gains the amount of) {b}\.",
        r"Take {b} and put it on top of {a}\.",
        r"Raise {a} by as much as {b} is\.",
        r"To {a}, add what {b} holds\.",
        r"Let {a} rise by {b}\.",
    ]),
    "take": ("ab", [
        r"Decrease {a} by the value of {b}\.",
        r"Subtract {b} from {a}\.",
        r"{a} (?:shrinks by|loses the amount of) {b}\.",
        r"Take {b} away from {a}\.",
        r"Lower {a} by as much as {b} is\.",
        r"From {a}, remove what {b} holds\.",
        r"Let {a} fall by {b}\.",
    ]),
    "copy": ("ab", [
        r"(?:Copy|Transfer the value of) {b} (?:into|to) {a}\.",
        r"{a} takes over the value of {b}\.",
        r"Give {a} the value that {b} has\.",
        r"{a} is made equal to {b}\.",
        r"Overwrite {a} with {b}\.",
        r"Let {a} have what {b} has\.",
        r"{a} now mirrors {b} as it stands\.",
    ]),
    "within": ("abn", [
        r"Inside block {b} only, {a} is {n}\.",
        r"While block {b} runs, {a} stands for {n}; afterwards it is what it was\.",
        r"Block {b} has an {a} of its own, which is {n}\.",
    ]),
    "chapter_first": ("abn", [
        r"\* \* \*\n{b} \(from the book {a}\)\n\nWith this the book opens\. "
        r"The printer's mark below the last line is {n}\.",
        r"{a}: {b}\n\nNothing comes before this chapter\. Its last line ends with the mark {n}\.",
    ]),
    "chapter": ("abcn", [
        r"\* \* \*\n{b} \(from the book {a}\)\n\nIt continues where {c} broke off\. "
        r"The printer's mark below the last line is {n}\.",
        r"{a}: {b}\n\nOne has just read {c}\. Its last line ends with the mark {n}\.",
    ]),
    "report": ("abn", [
        r"{b} puts the losses at {a} at {n}\.",
        r"{b} writes that {n} fell at {a}\.",
        r"On {a}, {b} gives the figure {n}\.",
        r"According to {b}, {a} cost {n} lives\.",
        r"{n} is the toll of {a} in {b}\.",
        r"{b} mentions {a} and {n} dead\.",
        r"Of {a}, {b} says that {n} did not return\.",
        r"For {a} the number {n} is found in {b}\.",
    ]),
    "written": ("an", [
        r"{a} (?:was written in|was finished in the year|left the press in) {n}\.",
        r"The ink of {a} dates from {n}\.",
        r"{n} is the year of {a}\.",
        r"Scholars agree on {n} for {a}\.",
        r"The colophon of {a} states {n}\.",
        r"In {n} the author of {a} laid down the pen\.",
    ]),
    "withdrawn": ("a", [
        r"{a} (?:was withdrawn as a forgery|has been exposed as an invention|turned out to be a fake"
        r"|was struck from the list of sources)\.",
        r"Nothing in {a} may be relied upon\.",
        r"No serious reader trusts {a} any more\.",
        r"Its own author disowned {a}\.",
        r"The library removed {a} from the shelf of evidence\.",
    ]),
    "note": ("ab", [
        r"A word on {a}: {b}\.",
        r"Under {a} one reads {b}\.",
        r"Filed beneath {a}: {b}\.",
        r"{a} is again connected with {b}\.",
        r"The index of {a} lists {b}\.",
        r"Next to {a} somebody wrote {b}\.",
        r"{b} goes with {a}\.",
        r"Remember {b} when {a} comes up\.",
    ]),
    "owns": ("ab", [
        r"{a} (?:owns|holds the title to) {b}\.",
        r"{b} (?:is the property of|belongs to) {a}\.",
        r"The deed of {b} names {a}\.",
        r"{a} bought {b} long ago\.",
        r"Rents from {b} go to {a}\.",
        r"{b} came to {a} by inheritance\.",
    ]),
    "worth": ("abn", [
        r"{a} is worth {n} times what the picture shows for {b}\.",
        r"To value {a}, multiply the figure drawn beside {b} by {n}\.",
        r"{a} fetches {n} times the pictured figure of {b}\.",
        r"Take the figure that the picture gives {b}; {n} of them make {a}\.",
        r"{n} times the drawn value of {b} is the price of {a}\.",
        r"{a} costs as much as {n} of what is pictured at {b}\.",
        r"The price of {a} is {n} times the number next to {b} in the picture\.",
        r"For {a} one pays the depicted number of {b}, {n} times over\.",
    ]),
    "locker": ("an", [
        r"Locker {n} is used by {a}\.",
        r"{a} (?:has the key to|rents) locker {n}\.",
        r"Behind door {n} are the things of {a}\.",
        r"The occupant of locker {n} is {a}\.",
        r"Number {n} among the lockers is that of {a}\.",
        r"{a} opens locker {n} every morning\.",
        r"The name on locker {n} is {a}\.",
    ]),
    "badge": ("ab", [
        r"{a} wears the badge {b}\.",
        r"On the coat of {a} it says {b}\.",
        r"The badge of {a} reads {b}\.",
        r"{b} is embroidered on the sleeve of {a}\.",
        r"{a} is known by the badge {b}\.",
        r"At the gate {a} shows {b}\.",
        r"The card of {a} bears {b}\.",
        r"{a} was issued {b}\.",
    ]),
    "lemma": ("abc", [
        r"{f} \$p \|- \( {b} -> {c} \) \$= \( ax-mp \) AB \$\.",
        r"lemma {f} : \( {b} -> {c} \)",
        r"\|- \( {b} -> {c} \)   \[{f}\]",
    ]),
    "pair": ("axy", [
        r"\[{a}\] (?P<x>[a-z]+) => (?P<y>[0-9A-Z]+)",
        r"{a}: (?P<x>[a-z]+) -> (?P<y>[0-9A-Z]+)",
        r"\({a}\) \"(?P<x>[a-z]+)\" is spelled \"(?P<y>[0-9A-Z]+)\"",
    ]),
    "patch": ("an", [
        r"# patch: the factor in {f} is now {n}",
        r"# changed since: {f} multiplies by {n}",
        r"# fix: in {f}, use {n} as the factor",
    ]),
}  # fmt: skip

_KINDS = {
    "relation_chain": ("reports", "keeps"),
    "aggregate": ("member", "stock"),
    "ledger": ("credit", "debit", "amend", "double"),
    "timeline": ("ahead",),
    "code": ("patch",),
    "variables": ("let", "add", "take", "copy", "within"),
    "book_order": ("chapter_first", "chapter"),
    "sources": ("report", "written", "withdrawn"),
    "many_shot": ("pair",),
    "needles": ("note",),
    "lemma_use": ("lemma",),
    "picture_sum": ("owns", "worth"),
    "picture_trail": ("locker", "badge"),
    "table_join": (),
}

_QUESTIONS: dict[str, list[str]] = {
    "relation_chain": [
        r"Begin with {a} and go up .*Which code does the last one have\?",
        r"Who is at the top of the hierarchy that starts at {a}, .*Give the code\.",
        r"Starting from {a}, climb the hierarchy to its end and give the code found there\.",
    ],
    "aggregate": [
        r"What is the total of goods over all depots of {a}\?",
        r"Add up the goods of every depot within {a}\.",
        r"How many units do the depots of {a} have together\?",
    ],
    "ledger": [
        r"After all bookings and revisions, what is the balance of {a}\?",
        r"Give the final balance of {a}, revisions included\.",
        r"Where does {a} stand at the end, everything considered\?",
    ],
    "table_join": [
        r"Join the tables: .*What do the tariffs of (?P<list>[A-Za-z, ]+) sum to\?",
        r"Look up supplier, port and tariff for each of (?P<list>[A-Za-z, ]+) and give the sum of the tariffs\.",
    ],
    "timeline": [
        r"How many seconds of true time pass from {a} to {b}\? A negative number means that (?P=b) came first\.",
        r"Correct the clocks and give the seconds from {a} until {b}, negative if (?P=b) was earlier\.",
    ],
    "code": [
        r"With every patch applied, what does {f}\({n}\) return\?",
        r"Evaluate {f}\({n}\) with the code as it stands after all patches\.",
    ],
    "variables": [
        r"When all steps have been carried out in order, what is {a}\?",
        r"Follow the steps as they come and give the final value of {a}\.",
    ],
    "book_order": [
        r"Restore the order of the chapters of {a} and list their marks .*",
        r"In which sequence do the marks of {a} stand .*",
    ],
    "sources": [
        r"List what the trustworthy sources say of {a}, oldest source first, joined by hyphens\.",
        r"Order the credible sources on {a} by age, oldest first, .*",
    ],
    "many_shot": [
        r"Following the examples, how does {a} write (?P<x>[a-z]+)\?",
        r"Work out from the examples of {a} what becomes of (?P<x>[a-z]+)\.",
    ],
    "needles": [
        r"List every word noted for {a}, in the order of appearance, joined by commas\.",
        r"Which words were noted for {a}\? Give them in order, joined by commas\.",
    ],
    "lemma_use": [
        r"Given {a}, which lemmas lead by modus ponens to {b}\? .*",
        r"Derive {b} from {a} and list the labels of the lemmas used, in order, separated by spaces\.",
    ],
    "picture_sum": [
        r"What do all possessions of {a} come to, the pictures taken into account\?",
        r"Using the pictures, give the value of everything that {a} has\.",
    ],
    "picture_trail": [
        r"Begin at {a} in a picture: .*At which number does the trail end\?",
        r"Follow the trail from {a}: .*Which number is it\?",
    ],
}

READERS: dict[str, list[tuple[str, str, re.Pattern[str]]]] = {
    family: [(kind, _PROSE[kind][0], _pattern(text)) for kind in kinds for text in _PROSE[kind][1]]
    for family, kinds in _KINDS.items()
}
"""Family → (kind, names of its groups in the order of the fact's arguments, pattern)."""

ASKED = {family: [_pattern(text) for text in texts] for family, texts in _QUESTIONS.items()}
"""Family → patterns of its questions."""
