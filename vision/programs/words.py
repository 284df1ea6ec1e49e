"""Words for generated programs: names, places, goods, short sentences, amounts and dates, all drawn from own lists."""

from __future__ import annotations

import random


def _split(text: str, separator: str | None = None) -> list[str]:
    return text.split(separator)


FIRST = _split(
    "Ada Amir Anika Bruno Carla Chen Dalia Deniz Elif Emil Farah Felix Freya Gita Hana Hugo Ines Ivan Jonas Kaya Kenji "
    "Lars Leila Lin Luca Maya Milan Nadia Nils Noor Olga Omar Paulo Priya Rafael Rosa Samir Sofia Tariq Tessa Uma "
    "Viktor Wanda Yara Yuki Zoe"
)
LAST = _split(
    "Abe Alvarez Becker Bianchi Castro Dahl Das Diallo Engel Farouk Fischer Garcia Haddad Hansen Ito Jensen "
    "Kaur Keller "
    "Kim Kovacs Lang Lopez Marin Mehta Moreau Nakamura Novak Okafor Olsen Park Petrov Rao Rossi Sato Silva "
    "Singh Tanaka "
    "Torres Vega Weber Wolf Yilmaz Zhang"
)
CITIES = _split(
    "Aarhus Bergen Bologna Cusco Dakar Dresden Fez Ghent Hanoi Hobart Izmir Jaipur Kobe Kyoto Lagos Leeds Lima Lyon "
    "Malmo Medellin Nairobi Nantes Oaxaca Osaka Oulu Porto Quito Recife Riga Salta Sapporo Seville Split Tampere "
    "Tbilisi Turin Utrecht Valencia Vilnius Zagreb"
)
ADJECTIVES = _split(
    "amber bold brave bright calm clear coastal cosmic crisp distant early fresh gentle golden grand green hidden "
    "hollow humble little lively lunar modern northern open paper quiet rapid rustic silent silver simple slow solar "
    "steady still sunny swift tidal urban velvet warm wild winter"
)
NOUNS = _split(
    "anchor arbor atlas beacon birch bridge brook canyon cedar cloud comet compass coral crane delta dune ember falcon "
    "fern field finch forge garden glacier grove harbor harvest heron horizon island kite lantern lark maple meadow "
    "mill mountain oak orchard otter peak pebble pine prairie quarry reef river sail signal sparrow spruce stone "
    "summit thistle tide trail valley wave willow"
)
GOODS = _split(
    "backpack|bread|candle|ceramic mug|chair|coffee beans|desk lamp|dinner plate|fountain pen|garden hose|hammer|"
    "headphones|honey jar|kettle|keyboard|linen shirt|notebook|olive oil|plant pot|rain jacket|running shoes|scarf|"
    "soap bar|tea tin|tent|toolbox|umbrella|wall clock|water bottle|wool blanket",
    "|",
)
TOPICS = _split(
    "Energy|Water|Transport|Housing|Health|Schools|Forests|Harvest|Tourism|Exports|Wages|Rainfall|Traffic|Sales|"
    "Visitors|Downloads|Orders|Repairs|Library loans|Recycling|Air quality|Electricity|Ferry trips|Cycling|Museums",
    "|",
)
UNITS = ("kWh", "tonnes", "litres", "visits", "orders", "trips", "units", "hours", "items", "points")
VERBS = _split(
    "build check clean collect compare count design draft export fix gather import label launch map measure merge mix "
    "pack paint plan print review scan send sort store test train update verify write"
)
OBJECTS = _split(
    "the report|the samples|the budget|the index|each order|the catalogue|new sensors|the archive|the schedule|"
    "the queue|the survey|the prototype|the invoices|the photographs|the manual|the data set|the backlog|the garden",
    "|",
)
ROLES = _split(
    "Designer|Engineer|Editor|Librarian|Architect|Botanist|Chemist|Surveyor|Carpenter|Analyst|Photographer|Teacher|"
    "Translator|Baker|Nurse|Planner|Researcher|Producer",
    "|",
)
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
MONTHS_LONG = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip
DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
SENTENCES = (
    "The {a} {n} opens at first light and closes after dusk.",
    "We {v} {o} before the week ends.",
    "A {a} path leads from the {n} to the {m}.",
    "{p} keeps the {n} in good order all year.",
    "Nothing here is {a} by accident.",
    "Every {n} tells you something about the {m} behind it.",
    "In {c}, people still {v} {o} by hand.",
    "It took {k} days to {v} {o}, and it was worth it.",
    "{p} moved to {c} to study the {a} {n}.",
    "Small changes to the {n} add up over {k} seasons.",
    "Ask {p} first, then {v} {o}.",
    "The {m} is older than the {n}, and quieter too.",
    "Our {a} method needs only {k} minutes a day.",
    "Visitors to {c} remember the {n} and the {a} light.",
)


def word(rng: random.Random) -> str:
    """A capitalised noun."""
    return rng.choice(NOUNS).capitalize()


def title(rng: random.Random) -> str:
    """Two words in capitals-first, such as "Silent Harbor"."""
    return f"{rng.choice(ADJECTIVES).capitalize()} {rng.choice(NOUNS).capitalize()}"


def brand(rng: random.Random) -> str:
    """A company's name."""
    stem = rng.choice(NOUNS).capitalize()
    ending = rng.choice(("", " & Co", " Labs", " Works", " Studio", " Supply", "ly", " House", " Press", " Collective"))
    return stem.rstrip("y") + "ly" if ending == "ly" else stem + ending


def person(rng: random.Random) -> str:
    return f"{rng.choice(FIRST)} {rng.choice(LAST)}"


def sentence(rng: random.Random) -> str:
    """One plausible sentence."""
    text = rng.choice(SENTENCES).format(
        a=rng.choice(ADJECTIVES), n=rng.choice(NOUNS), m=rng.choice(NOUNS), v=rng.choice(VERBS), o=rng.choice(OBJECTS),
        p=rng.choice(FIRST), c=rng.choice(CITIES), k=rng.randint(3, 60),
    )  # fmt: skip
    for vowel in "aeiou":
        text = text.replace(f"A {vowel}", f"An {vowel}")
    return text


def paragraph(rng: random.Random, sentences: int) -> str:
    return " ".join(sentence(rng) for _ in range(sentences))


def action(rng: random.Random) -> str:
    """A short task, such as "Verify the archive"."""
    return f"{rng.choice(VERBS).capitalize()} {rng.choice(OBJECTS)}"


def good(rng: random.Random) -> str:
    """Something one can buy, capitalised."""
    return f"{rng.choice(ADJECTIVES)} {rng.choice(GOODS)}".capitalize()


def price(rng: random.Random, low: int = 3, high: int = 240) -> float:
    return rng.randint(low, high) + rng.choice((0.0, 0.5, 0.9, 0.95, 0.99))


def some(rng: random.Random, options: tuple[str, ...] | list[str], count: int) -> list[str]:
    """`count` different members of `options`, in random order."""
    return rng.sample(list(options), count)


def join(parts: list[str] | tuple[str, ...]) -> str:
    """ "a", "a and b", "a, b and c"."""
    parts = list(parts)
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


_NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")


def number(count: int) -> str:
    """A count in words up to twelve, in digits above."""
    return _NUMBERS[count] if count < len(_NUMBERS) else str(count)


def plural(count: int, noun: str, many: str | None = None) -> str:
    """ "one petal", "three petals"; `many` is the plural where it is not regular."""
    if count == 1:
        return f"one {noun}"
    if many is None and noun.endswith("y") and noun[-2] not in "aeo":
        many = f"{noun[:-1]}ies"
    return f"{number(count)} {many or noun + ('es' if noun.endswith(('s', 'x', 'ch', 'sh')) else 's')}"


def article(noun: str) -> str:
    """The noun with "a" or "an" before it."""
    return f"{'an' if noun[0].lower() in 'aeiou' else 'a'} {noun}"
