"""Units as symbols: a unit is a factor times powers of base dimensions, so that quantities add, multiply and compare.

`3 cm` is 3·(1/100)·[length]. Angles and percentages are plain numbers: 30° is π/6, 50 % is 1/2. Degrees Celsius and
Fahrenheit have zeros of their own and are dimensions of their own. A noun that is counted (5 apples) is a dimension
too, made from its singular.
"""

from __future__ import annotations

import re
from functools import lru_cache

from sympy import Expr, Integer, Rational, Symbol, pi

from .lexicon import wordlist

_BASE = {
    "length": "m metre meter", "mass": "", "time": "s sec second", "current": "A ampere amp", "heat": "K kelvin",
    "amount": "mol mole", "light": "cd candela", "celsius": "°C ℃ celsius", "fahrenheit": "°F ℉ fahrenheit",
    "dollar": "$ usd dollar buck", "euro": "€ eur euro", "pound_sterling": "£ gbp pound_sterling", "yen": "¥ yen jpy",
    "rupee": "₹ rupee", "bit": "bit",
}  # fmt: skip
_DERIVED = {
    "g gram gramme": "1/1000 kg", "t tonne": "1000 kg", "lb lbs pound": "0.45359237 kg",
    "oz ounce": "0.028349523125 kg",
    "in inch inches": "0.0254 m", "ft foot feet": "0.3048 m", "yd yard": "0.9144 m", "mi mile": "1609.344 m",
    "angstrom Å": "1/10000000000 m",
    "min minute": "60 s", "h hr hour": "3600 s", "day": "86400 s", "week": "604800 s", "month": "[month]",
    "year yr": "12 [month]", "decade": "120 [month]", "century": "1200 [month]",
    "L l litre liter": "1/1000 m^3", "ha hectare": "10000 m^2", "acre": "4046.8564224 m^2", "gal gallon": "[gallon]",
    "cc": "1/1000000 m^3",
    "N newton": "1 kg m s^-2", "J joule": "1 kg m^2 s^-2", "W watt": "1 kg m^2 s^-3", "Pa pascal": "1 kg m^-1 s^-2",
    "Hz hertz": "1 s^-1", "C coulomb": "1 A s", "V volt": "1 kg m^2 s^-3 A^-1", "F farad": "1 kg^-1 m^-2 s^4 A^2",
    "Ω ohm": "1 kg m^2 s^-3 A^-2", "T tesla": "1 kg s^-2 A^-1", "Wb weber": "1 kg m^2 s^-2 A^-1",
    "H henry": "1 kg m^2 s^-2 A^-2",
    "cal calorie": "4.184 J", "eV": "1602176634/10000000000000000000000000000 J", "bar": "100000 Pa",
    "atm": "101325 Pa", "mph": "1609.344/3600 m s^-1", "kph kmh": "1000/3600 m s^-1", "rpm": "1/60 s^-1",
    "kWh": "3600000 J", "B byte": "8 bit", "M molar": "1000 mol m^-3",
    "cent ¢ penny pence": "1/100 dollar",
}  # fmt: skip
_PREFIXES = {"n": -9, "μ": -6, "µ": -6, "u": -6, "m": -3, "c": -2, "d": -1, "k": 3, "M": 6, "G": 9, "T": 12}
_LONG_PREFIXES = {"nano": -9, "micro": -6, "milli": -3, "centi": -2, "deci": -1, "kilo": 3, "mega": 6, "giga": 9}
_PREFIXED = frozenset(wordlist("m g s A mol L l N J W Pa Hz C V F Ω T eV cal bit B bar K"))
_LONG_PREFIXED = frozenset(
    wordlist("metre meter gram gramme second ampere mole litre liter newton joule watt pascal hertz volt ohm byte bit")
)
_WHOLE = frozenset(wordlist("° deg degree degrees % percent rad radian radians"))
_POWERS = {"square": 2, "sq": 2, "cubic": 3, "cu": 3}
# Words after a number that tell about it and are no unit; a text with one of them is not a quantity.
_NO_NOUNS = frozenset(
    wordlist(
        "the of is are was and or not to from in at by for with than then if so as it be no more less times plus minus "
        "divided over about only each"
    )
)


def dimension(name: str) -> Symbol:
    """The symbol of a base dimension."""
    return Symbol(f"[{name}]", positive=True)


@lru_cache(maxsize=4096)
def unit(word: str) -> Expr | None:
    """A unit's value by its sign or name, singular or plural, with or without an SI prefix; None where it is none."""
    if word in _WHOLE:
        return pi / 180 if word[0] in "°d" else Integer(1) if word[0] == "r" else Rational(1, 100)
    table = _table()
    if word in table:
        return table[word]
    low = word.lower()
    for name in (low, low.removesuffix("s"), low.removesuffix("es"), low.removesuffix("ies") + "y"):
        if len(name) > 2 and name in table:
            return table[name]
        for prefix, power in _LONG_PREFIXES.items():
            if name.startswith(prefix) and name[len(prefix) :] in _LONG_PREFIXED:
                return Integer(10) ** power * table[name[len(prefix) :]]
    if len(word) > 1 and word[0] in _PREFIXES and word[1:] in _PREFIXED:
        return Integer(10) ** _PREFIXES[word[0]] * table[word[1:]]
    return None


def unit_phrase(text: str) -> Expr | None:
    """The value of several words or signs: `square metres`, `km/h`, `kg·m/s²`, `metres per second`, `N m`."""
    text = text.replace("²", "^2").replace("³", "^3").replace("⁻¹", "^-1").strip().rstrip(".")
    parts = re.findall(r"\s*(per\b|/|·|⋅|\*|\^\s*\{?-?\d+\}?|[^\W\d_]+|°[CF]?|[%$€£¥¢℃℉])|\s*(\S)", text)
    if not parts or any(bad for _, bad in parts):
        return None
    value: Expr = Integer(1)
    sign, power, last = 1, 1, None
    for part, _ in parts:
        if part in ("per", "/"):
            sign = -1
        elif part in ("·", "⋅", "*"):
            continue
        elif part[0] == "^":
            if last is None:
                return None
            value *= last ** (int(re.sub(r"[^\d-]", "", part)) - 1)
        elif part.lower() in _POWERS:
            power = _POWERS[part.lower()]
        elif part.lower() == "squared" and last is not None:
            value *= last
        elif part.lower() == "cubed" and last is not None:
            value *= last**2
        elif (one := unit(part)) is not None:
            last = one ** (sign * power)
            value *= last
            # After a slash one unit stands below it; `m/s·kg` is read in two ways and is not a unit here.
            power = 1
        else:
            return None
    return None if last is None else value


def noun(word: str) -> Symbol | None:
    """The dimension of a counted noun, as of `apples`; None for words that do not count anything."""
    low = word.lower()
    if low in _NO_NOUNS or not re.fullmatch(r"[^\W\d_]{3,}", low):
        return None
    for ending, singular in (("ies", "y"), ("sses", "ss"), ("xes", "x"), ("ches", "ch"), ("shes", "sh"), ("s", "")):
        if low.endswith(ending) and not low.endswith("ss"):
            low = low[: -len(ending)] + singular
            break
    return Symbol(f"[count:{low}]", positive=True)


def dimensions(expr: Expr) -> dict[str, Expr] | None:
    """Powers of the base dimensions; None for a sum whose parts differ (3 m + 2 s)."""
    if not any(one.name[0] == "[" for one in expr.free_symbols if isinstance(one, Symbol)):
        return {}
    if expr.is_Add:
        parts = [dimensions(part) for part in expr.args]
        return parts[0] if all(part is not None and part == parts[0] for part in parts) else None
    if expr.is_Mul:
        together: dict[str, Expr] = {}
        for part in (dimensions(part) for part in expr.args):
            if part is None:
                return None
            for name, power in part.items():
                together[name] = together.get(name, Integer(0)) + power
        return {name: power for name, power in together.items() if power != 0}
    if expr.is_Pow:
        inner = dimensions(expr.base)
        return None if inner is None else {name: power * expr.exp for name, power in inner.items()}
    return {expr.name: Integer(1)} if isinstance(expr, Symbol) else None


def is_count(expr: Expr) -> bool:
    """Whether the only dimension is a counted noun to the first power."""
    names = dimensions(expr)
    return names is not None and len(names) == 1 and all(k.startswith("[count:") and v == 1 for k, v in names.items())


@lru_cache(maxsize=1)
def _table() -> dict[str, Expr]:
    table: dict[str, Expr] = {"kg": dimension("mass")}
    for name, words in _BASE.items():
        table |= dict.fromkeys(words.split(), dimension(name))
    for words, formula in _DERIVED.items():
        number, *factors = formula.split() if formula[0] != "[" else ("1", formula)
        top, _, below = number.partition("/")
        value: Expr = Rational(top) / Rational(below or "1")
        for factor in factors:
            name, _, power = factor.partition("^")
            base = dimension(name[1:-1]) if name[0] == "[" else table[name]
            value *= base ** int(power or 1)
        table |= dict.fromkeys(words.split(), value)
    return table
