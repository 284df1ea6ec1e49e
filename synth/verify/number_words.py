"""Words that stand for numbers, units and months."""

from __future__ import annotations

NUMBER_WORDS: dict[str, float] = {
    word: float(value)
    for value, word in enumerate(
        str.split(
            "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
            "seventeen eighteen nineteen"
        )
    )
}
NUMBER_WORDS |= {
    word: 10.0 * value
    for value, word in enumerate(str.split("twenty thirty forty fifty sixty seventy eighty ninety"), start=2)
}
NUMBER_WORDS |= {"half": 0.5, "halves": 0.5, "quarter": 0.25, "dozen": 12.0, "dozens": 12.0}
NUMBER_WORDS |= {"third": 3.0, "fourth": 4.0, "fifth": 5.0, "sixth": 6.0, "seventh": 7.0, "eighth": 8.0, "ninth": 9.0,
                 "tenth": 10.0, "eleventh": 11.0, "twelfth": 12.0, "twentieth": 20.0, "hundredth": 100.0}  # fmt: skip
ORDINALS = frozenset(word for word in NUMBER_WORDS if word.endswith(("th", "third")))
PARTS = {"third": 3, "thirds": 3, "quarter": 4, "quarters": 4, "fourths": 4, "fifth": 5, "fifths": 5, "sixths": 6,
         "eighth": 8, "eighths": 8, "tenth": 10, "tenths": 10, "half": 2, "halves": 2}  # fmt: skip
MULTIPLIERS: dict[str, float] = {
    "hundred": 1e2, "thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12, "dozen": 12.0,
}  # fmt: skip
NUMBER_WORDS |= {word: value for word, value in MULTIPLIERS.items() if word != "dozen"}
# Words of number that are as often no numbers: "one of", "the second", "half open", "a quarter".
WEAK = frozenset({"one", "half", "halves", "quarter", "third", "dozens", "hundred", "zero"})


def _units() -> dict[str, tuple[str, float]]:
    """Dimension and factor by spelling: full names in any case, symbols exactly as they are written."""
    names: dict[str, dict[str, float]] = {
        "length": {"metre": 1, "meter": 1, "kilometre": 1e3, "kilometer": 1e3, "centimetre": 1e-2, "centimeter": 1e-2,
                   "millimetre": 1e-3, "millimeter": 1e-3, "micrometre": 1e-6, "micrometer": 1e-6, "nanometre": 1e-9,
                   "nanometer": 1e-9, "mile": 1609.344, "yard": 0.9144, "inch": 0.0254},
        "mass": {"gram": 1, "kilogram": 1e3, "milligram": 1e-3, "tonne": 1e6, "ton": 1e6, "pound": 453.59237,
                 "ounce": 28.349523125},
        "time": {"second": 1, "minute": 60, "hour": 3600, "day": 86400, "week": 604800, "month": 2629800,
                 "year": 31557600, "decade": 315576000, "century": 3155760000, "millisecond": 1e-3, "microsecond": 1e-6,
                 "nanosecond": 1e-9},
        "data": {"byte": 8, "bit": 1, "kilobyte": 8e3, "megabyte": 8e6, "gigabyte": 8e9, "terabyte": 8e12,
                 "petabyte": 8e15, "kibibyte": 8 * 2**10, "mebibyte": 8 * 2**20, "gibibyte": 8 * 2**30,
                 "tebibyte": 8 * 2**40, "kilobit": 1e3, "megabit": 1e6, "gigabit": 1e9},
        "frequency": {"hertz": 1, "kilohertz": 1e3, "megahertz": 1e6, "gigahertz": 1e9},
        "power": {"watt": 1, "kilowatt": 1e3, "megawatt": 1e6, "gigawatt": 1e9},
        "volume": {"litre": 1, "liter": 1, "millilitre": 1e-3, "milliliter": 1e-3, "gallon": 3.785411784},
        "energy": {"joule": 1, "kilojoule": 1e3, "calorie": 4.184},
        "electric": {"volt": 1, "millivolt": 1e-3}, "current": {"ampere": 1}, "angle": {"degree": 1,
        "radian": 57.29578},
        "pixel": {"pixel": 1}, "money": {"dollar": 1}, "euro": {"euro": 1},
        "": {"percent": 0.01, "%": 0.01},
    }  # fmt: skip
    symbols: dict[str, dict[str, float]] = {
        "length": {"m": 1, "km": 1e3, "cm": 1e-2, "mm": 1e-3, "µm": 1e-6, "nm": 1e-9, "ft": 0.3048, "mi": 1609.344},
        "mass": {"g": 1, "kg": 1e3, "mg": 1e-3, "lb": 453.59237}, "angle": {"°": 1, "rad": 57.29578},
        "time": {"s": 1, "ms": 1e-3, "µs": 1e-6, "us": 1e-6, "ns": 1e-9, "min": 60, "h": 3600, "hr": 3600, "hrs": 3600},
        "data": {"B": 8, "kB": 8e3, "KB": 8e3, "MB": 8e6, "GB": 8e9, "TB": 8e12, "PB": 8e15, "KiB": 8 * 2**10,
                 "MiB": 8 * 2**20, "GiB": 8 * 2**30, "TiB": 8 * 2**40},
        "rate": {"Kbps": 1e3, "kbps": 1e3, "Mbps": 1e6, "Gbps": 1e9, "bps": 1},
        "frequency": {"Hz": 1, "kHz": 1e3, "MHz": 1e6, "GHz": 1e9}, "power": {"W": 1, "kW": 1e3, "MW": 1e6},
        "volume": {"l": 1, "L": 1, "ml": 1e-3, "mL": 1e-3}, "energy": {"J": 1, "kJ": 1e3, "kWh": 3.6e6, "eV": 1.6e-19},
        "electric": {"V": 1, "mV": 1e-3}, "current": {"mA": 1e-3}, "pixel": {"px": 1},
    }  # fmt: skip
    found: dict[str, tuple[str, float]] = {}
    for dimension, units in names.items():
        for name, factor in units.items():
            found[name] = found[name + "s"] = (dimension, float(factor))
    found |= {"feet": ("length", 0.3048), "foot": ("length", 0.3048), "inches": ("length", 0.0254),
              "centuries": ("time", 3155760000.0), "hertz": ("frequency", 1.0)}  # fmt: skip
    for dimension, units in symbols.items():
        found |= {name: (dimension, float(factor)) for name, factor in units.items()}
    return found


UNITS = _units()
_MONTHS = (
    "january jan", "february feb", "march mar", "april apr", "may", "june jun", "july jul", "august aug",
    "september sep sept", "october oct", "november nov", "december dec",
)  # fmt: skip
MONTHS = {name: number for number, names in enumerate(_MONTHS, start=1) for name in names.split()}
