"""How facts and questions are put into words. Every field has a name.

Each statement of prose has at least eight phrasings, most of which share no content word with the questions; formal
statements (code, logs, lemmas, chapters) have a syntax instead. The proof verifier reads them with patterns of its own.
"""

from __future__ import annotations

LEAD_INS = (
    "{}",
    "{}",
    "It is on record: {}",
    "From the margin of an older copy: {}",
    "A clerk added here: {}",
    "As was read out at the meeting: {}",
    "One line stands alone on this page: {}",
    "For whoever needs it: {}",
)

STATEMENTS: dict[str, tuple[str, ...]] = {
    # relation chain
    "reports": (
        "{a} answers to {b}.",
        "{a} takes orders from {b}.",
        "Whatever {a} does, {b} has to approve it.",
        "{b} is the superior of {a}.",
        "{b} directs the work of {a}.",
        "In matters of duty {a} turns to {b}.",
        "{a} was placed under {b}.",
        "Above {a} stands {b}, and no one between them.",
    ),
    "keeps": (
        "{a} keeps the number {n}.",
        "The number {n} is in the care of {a}.",
        "{n} was entrusted to {a}.",
        "{a} was handed a slip that reads {n}.",
        "On the seal of {a} one finds {n}.",
        "{a} signs with {n}.",
        "To {a} belongs the figure {n}.",
        "Ask {a}, and you will be told {n}.",
    ),
    # aggregate behind a hop
    "member": (
        "{a} lies in {b}.",
        "{a} was assigned to {b}.",
        "{b} counts {a} among its sites.",
        "Administratively {a} is part of {b}.",
        "The border runs so that {a} falls to {b}.",
        "{a} pays its dues to {b}.",
        "On the map of {b} one sees {a}.",
        "{b} includes {a}.",
    ),
    "stock": (
        "{a} holds {n} crates.",
        "At {a} they counted {n} crates.",
        "{n} crates are stored at {a}.",
        "The sheds of {a} contain {n} crates.",
        "An inspection of {a} found {n} crates.",
        "{a} reported {n} crates.",
        "There is room for more at {a}, which has {n} crates.",
        "The inventory of {a} ends at {n} crates.",
    ),
    # ledger with revisions
    "credit": (
        "Ledger {a}, line {n}: received {m}.",
        "In ledger {a}, line {n} books an income of {m}.",
        "Line {n} of ledger {a} adds {m}.",
        "To ledger {a} came {m}, written on line {n}.",
        "{m} went into ledger {a}; see line {n}.",
        "On line {n}, ledger {a} gains {m}.",
        "Ledger {a} was increased by {m} (line {n}).",
        "Line {n}, ledger {a}: plus {m}.",
    ),
    "debit": (
        "Ledger {a}, line {n}: paid out {m}.",
        "In ledger {a}, line {n} books an expense of {m}.",
        "Line {n} of ledger {a} takes off {m}.",
        "From ledger {a} went {m}, written on line {n}.",
        "{m} left ledger {a}; see line {n}.",
        "On line {n}, ledger {a} loses {m}.",
        "Ledger {a} was reduced by {m} (line {n}).",
        "Line {n}, ledger {a}: minus {m}.",
    ),
    "amend": (
        "Correction to ledger {a}: the amount on line {n} is {m}; its direction stands.",
        "Line {n} of ledger {a} was misread and should state {m}.",
        "In ledger {a}, replace the amount of line {n} by {m}.",
        "The auditor of ledger {a} changed line {n} to {m}.",
        "Ledger {a}: line {n} now reads {m}.",
        "What line {n} of ledger {a} states is wrong; the true amount is {m}.",
        "Strike the amount on line {n} of ledger {a} and write {m}.",
        "After review, line {n} in ledger {a} amounts to {m}.",
    ),
    "double": (
        "Line {n} of ledger {a} counts twice.",
        "In ledger {a}, line {n} was executed a second time.",
        "Ledger {a}: repeat line {n} once more.",
        "The bank processed line {n} of ledger {a} two times.",
        "Line {n} in ledger {a} is to be doubled.",
        "By mistake line {n} of ledger {a} went through again, and it stays so.",
        "Ledger {a} carries line {n} in duplicate.",
        "What stands on line {n} of ledger {a} happened twice.",
    ),
    # clocks and events
    "ahead": (
        "The clock of {a} runs {n} seconds ahead of the clock of {b}.",
        "{a} shows a time {n} seconds later than {b} does.",
        "Compared with {b}, {a} is fast by {n} seconds.",
        "When {b} strikes the hour, {a} did so {n} seconds ago.",
        "Subtract {n} seconds from {a} to get the time of {b}.",
        "{b} lags {n} seconds behind {a}.",
        "Between {a} and {b} lie {n} seconds, and {a} is the fast one.",
        "To agree with {a}, {b} would have to be put forward by {n} seconds.",
    ),
    "event": (
        "{t} {a} kernel: {b} begins",
        '[{t}] host={a} msg="{b} begins"',
        "{t} INFO {a} - {b} begins",
        "{a} | {t} | {b} begins",
    ),
    # code
    "def": (
        "def {a}(n):\n    return ({n} * {b}(n) + {m}) % 997",
        "{a} = lambda n: ({n} * {b}(n) + {m}) % 997",
        "def {a}(n):\n    inner = {b}(n)\n    return ({n} * inner + {m}) % 997",
    ),
    "def_base": (
        "def {a}(n):\n    return ({n} * n + {m}) % 997",
        "{a} = lambda n: ({n} * n + {m}) % 997",
    ),
    "patch": (
        "# patch: the factor in {a} is now {n}",
        "# changed since: {a} multiplies by {n}",
        "# fix: in {a}, use {n} as the factor",
    ),
    # variables with shadowing
    "let": (
        "Let {a} be {n}.",
        "From here on {a} is {n}.",
        "Set {a} to {n}.",
        "{a} takes the value {n}.",
        "Write {n} into {a}.",
        "{a} becomes {n}.",
        "Put {n} in the place of {a}.",
        "Whatever it was, {a} is now {n}.",
    ),
    "add": (
        "Increase {a} by the value of {b}.",
        "Add {b} to {a}.",
        "{a} grows by {b}.",
        "Take {b} and put it on top of {a}.",
        "Raise {a} by as much as {b} is.",
        "To {a}, add what {b} holds.",
        "{a} gains the amount of {b}.",
        "Let {a} rise by {b}.",
    ),
    "take": (
        "Decrease {a} by the value of {b}.",
        "Subtract {b} from {a}.",
        "{a} shrinks by {b}.",
        "Take {b} away from {a}.",
        "Lower {a} by as much as {b} is.",
        "From {a}, remove what {b} holds.",
        "{a} loses the amount of {b}.",
        "Let {a} fall by {b}.",
    ),
    "copy": (
        "Copy {b} into {a}.",
        "{a} takes over the value of {b}.",
        "Give {a} the value that {b} has.",
        "{a} is made equal to {b}.",
        "Overwrite {a} with {b}.",
        "Let {a} have what {b} has.",
        "{a} now mirrors {b} as it stands.",
        "Transfer the value of {b} to {a}.",
    ),
    "within": (
        "Inside block {b} only, {a} is {n}.",
        "While block {b} runs, {a} stands for {n}; afterwards it is what it was.",
        "Block {b} has an {a} of its own, which is {n}.",
    ),
    # a book whose chapters were shuffled
    "chapter_first": (
        "* * *\n{b} (from the book {a})\n\nWith this the book opens. The printer's mark below the last line is {n}.",
        "{a}: {b}\n\nNothing comes before this chapter. Its last line ends with the mark {n}.",
    ),
    "chapter": (
        "* * *\n{b} (from the book {a})\n\nIt continues where {c} broke off. "
        "The printer's mark below the last line is {n}.",
        "{a}: {b}\n\nOne has just read {c}. Its last line ends with the mark {n}.",
    ),
    # contradicting sources
    "report": (
        "{b} puts the losses at {a} at {n}.",
        "{b} writes that {n} fell at {a}.",
        "On {a}, {b} gives the figure {n}.",
        "According to {b}, {a} cost {n} lives.",
        "{n} is the toll of {a} in {b}.",
        "{b} mentions {a} and {n} dead.",
        "Of {a}, {b} says that {n} did not return.",
        "For {a} the number {n} is found in {b}.",
    ),
    "written": (
        "{a} was written in {n}.",
        "The ink of {a} dates from {n}.",
        "{n} is the year of {a}.",
        "{a} was finished in the year {n}.",
        "Scholars agree on {n} for {a}.",
        "The colophon of {a} states {n}.",
        "{a} left the press in {n}.",
        "In {n} the author of {a} laid down the pen.",
    ),
    "withdrawn": (
        "{a} was withdrawn as a forgery.",
        "Nothing in {a} may be relied upon.",
        "{a} has been exposed as an invention.",
        "No serious reader trusts {a} any more.",
        "{a} turned out to be a fake.",
        "Its own author disowned {a}.",
        "{a} was struck from the list of sources.",
        "The library removed {a} from the shelf of evidence.",
    ),
    # a rule from many examples
    "pair": (
        "[{a}] {b} => {c}",
        "{a}: {b} -> {c}",
        '({a}) "{b}" is spelled "{c}"',
    ),
    # recall of many needles
    "note": (
        "A word on {a}: {b}.",
        "Under {a} one reads {b}.",
        "Filed beneath {a}: {b}.",
        "{a} is again connected with {b}.",
        "The index of {a} lists {b}.",
        "Next to {a} somebody wrote {b}.",
        "{b} goes with {a}.",
        "Remember {b} when {a} comes up.",
    ),
    # lemmas
    "lemma": (
        "{a} $p |- ( {b} -> {c} ) $= ( ax-mp ) AB $.",
        "lemma {a} : ( {b} -> {c} )",
        "|- ( {b} -> {c} )   [{a}]",
    ),
    # facts in pictures
    "owns": (
        "{a} owns {b}.",
        "{b} is the property of {a}.",
        "The deed of {b} names {a}.",
        "{a} bought {b} long ago.",
        "{b} belongs to {a}.",
        "{a} holds the title to {b}.",
        "Rents from {b} go to {a}.",
        "{b} came to {a} by inheritance.",
    ),
    "worth": (
        "{a} is worth {n} times what the picture shows for {b}.",
        "To value {a}, multiply the figure drawn beside {b} by {n}.",
        "{a} fetches {n} times the pictured figure of {b}.",
        "Take the figure that the picture gives {b}; {n} of them make {a}.",
        "{n} times the drawn value of {b} is the price of {a}.",
        "{a} costs as much as {n} of what is pictured at {b}.",
        "The price of {a} is {n} times the number next to {b} in the picture.",
        "For {a} one pays the depicted number of {b}, {n} times over.",
    ),
    "locker": (
        "Locker {n} is used by {a}.",
        "{a} has the key to locker {n}.",
        "Behind door {n} are the things of {a}.",
        "{a} rents locker {n}.",
        "The occupant of locker {n} is {a}.",
        "Number {n} among the lockers is that of {a}.",
        "{a} opens locker {n} every morning.",
        "The name on locker {n} is {a}.",
    ),
    "badge": (
        "{a} wears the badge {b}.",
        "On the coat of {a} it says {b}.",
        "The badge of {a} reads {b}.",
        "{b} is embroidered on the sleeve of {a}.",
        "{a} is known by the badge {b}.",
        "At the gate {a} shows {b}.",
        "The card of {a} bears {b}.",
        "{a} was issued {b}.",
    ),
}

QUESTIONS: dict[str, tuple[str, ...]] = {
    "ask_chain": (
        "Begin with {a} and go up from subordinate to chief until there is nobody further up. "
        "Which code does the last one have?",
        "Who is at the top of the hierarchy that starts at {a}, and what code goes with that person? Give the code.",
        "Starting from {a}, climb the hierarchy to its end and give the code found there.",
    ),
    "ask_total": (
        "What is the total of goods over all depots of {a}?",
        "Add up the goods of every depot within {a}.",
        "How many units do the depots of {a} have together?",
    ),
    "ask_balance": (
        "After all bookings and revisions, what is the balance of {a}?",
        "Give the final balance of {a}, revisions included.",
        "Where does {a} stand at the end, everything considered?",
    ),
    "ask_tariff": (
        "Join the tables: from product to supplier, from supplier to port, from port to tariff. "
        "What do the tariffs of {a} sum to?",
        "Look up supplier, port and tariff for each of {a} and give the sum of the tariffs.",
    ),
    "ask_elapsed": (
        "How many seconds of true time pass from {a} to {b}? A negative number means that {b} came first.",
        "Correct the clocks and give the seconds from {a} until {b}, negative if {b} was earlier.",
    ),
    "ask_call": (
        "With every patch applied, what does {a}({n}) return?",
        "Evaluate {a}({n}) with the code as it stands after all patches.",
    ),
    "ask_value": (
        "When all steps have been carried out in order, what is {a}?",
        "Follow the steps as they come and give the final value of {a}.",
    ),
    "ask_marks": (
        "Restore the order of the chapters of {a} and list their marks from first to last, joined by hyphens.",
        "In which sequence do the marks of {a} stand once its chapters are in their right order? Join them by hyphens.",
    ),
    "ask_by_year": (
        "List what the trustworthy sources say of {a}, oldest source first, joined by hyphens.",
        "Order the credible sources on {a} by age, oldest first, and join their figures by hyphens.",
    ),
    "ask_spelling": (
        "Following the examples, how does {a} write {b}?",
        "Work out from the examples of {a} what becomes of {b}.",
    ),
    "ask_notes": (
        "List every word noted for {a}, in the order of appearance, joined by commas.",
        "Which words were noted for {a}? Give them in order, joined by commas.",
    ),
    "ask_proof": (
        "Given {a}, which lemmas lead by modus ponens to {b}? Give their labels in order of use, separated by spaces.",
        "Derive {b} from {a} and list the labels of the lemmas used, in order, separated by spaces.",
    ),
    "ask_estate": (
        "What do all possessions of {a} come to, the pictures taken into account?",
        "Using the pictures, give the value of everything that {a} has.",
    ),
    "ask_trail": (
        "Begin at {a} in a picture: its number leads to a locker, the person there to a badge, the badge to a picture, "
        "and so on. At which number does the trail end?",
        "Follow the trail from {a}: pictured number, locker, person, badge, pictured number, until no locker has the "
        "number. Which number is it?",
    ),
}
