"""A data set's card: a README.md as Hugging Face understands it, the credits, and a few sample pictures.

The YAML at its head states the splits, their files and every type, so that `datasets.load_dataset(<folder>)` reads the
shards as they are; the text below it is for people.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Sequence
from typing import Any

import orjson
import yaml
from datatrove.data import Document
from PIL import Image

from . import features
from . import record as records
from .index import SHARD_FOLDER
from .markdown import fence, inline, size, table
from .reader import Dataset

README, ATTRIBUTION, PICTURES = "README.md", "ATTRIBUTION", "samples"
PACKED = "curriculum.json"
"""What a packed stage says of itself."""

TOLD = "card.md"
"""Markdown that a source may put beside its samples (`Source.files`); it becomes a part of the card."""

_SIZES = [(1e3, "n<1K"), (1e4, "1K<n<10K"), (1e5, "10K<n<100K"), (1e6, "100K<n<1M"), (1e7, "1M<n<10M"),
          (1e8, "10M<n<100M"), (1e9, "100M<n<1B")]  # fmt: skip
_LICENCES = frozenset(
    [
        "apache-2.0", "mit", "isc", "unlicense", "zlib", "postgresql", "ofl-1.1", "bsd-2-clause", "bsd-3-clause",
        "mpl-2.0", "cc0-1.0", "cc-by-3.0", "cc-by-4.0", "cc-by-sa-3.0", "cc-by-sa-4.0", "odc-by", "odbl", "pddl",
        "gpl-2.0", "gpl-3.0", "lgpl-2.1", "lgpl-3.0", "agpl-3.0",
    ]
)  # fmt: skip
"""The licence names that the Hub knows."""

_TASK_CATEGORIES = {
    "image_to_code": "image-text-to-text",
    "code_to_caption": "image-to-text",
    "grounding": "object-detection",
}
_PICTURES_PER_KIND = 4
_PICTURE_SIDE = 480
_EXCERPT = 1500


def files(
    dataset: Dataset, name: str, recipe: str, history: Sequence[dict[str, Any]], environment: dict[str, str]
) -> Iterator[tuple[str, bytes]]:
    """The card's files: path relative to the data set, and content.

    Args:
        dataset: the finished indexes and shards.
        name: `<recipe>/<job>`.
        recipe: the recipe as written.
        history: the content of `stats.json` of the run's jobs up to this one, in order.
        environment: versions of what the data depends on.
    """
    pictures = {
        f"{PICTURES}/{kind}-{number}.png": record for kind, number, record in _examples(dataset) if record.media
    }
    for path, record in pictures.items():
        yield path, _thumbnail(record)
    yield ATTRIBUTION, attribution(dataset).encode()
    yield README, readme(dataset, name, recipe, history, environment, pictures).encode()


def readme(
    dataset: Dataset,
    name: str,
    recipe: str,
    history: Sequence[dict[str, Any]],
    environment: dict[str, str],
    pictures: dict[str, Document],
) -> str:
    """The whole README.md; `pictures` are the examples whose pictures lie beside it, by path."""
    front = yaml.safe_dump(front_matter(dataset, name), sort_keys=False, allow_unicode=True)
    sections = [
        f"# {name}",
        _summary(dataset),
        *_shown(pictures),
        "## Contents",
        _contents(dataset),
        *_mixture(dataset),
        *_told(dataset),
        *_one_sample(pictures),
        "## Reading it",
        _reading(dataset),
        "## Licences",
        _licences(dataset),
        "## What was left out",
        *map(_left_out, history),
        "## How it was made",
        _making(recipe, history, environment),
    ]
    return f"---\n{front}---\n\n" + "\n\n".join(sections) + "\n"


def front_matter(dataset: Dataset, name: str) -> dict[str, Any]:
    """The card's metadata."""
    total = len(dataset)
    splits = dataset.sql(
        "select split, sum(samples)::bigint, sum(bytes)::bigint from shards group by split"
        " order by list_position(['train', 'val', 'test'], split)"
    ).fetchall()
    spdx = dataset.sql("select distinct unnest(string_split(spdx, ' AND ')) from samples").fetchall()
    licences = sorted({_hub_licence(one) for (one,) in spdx})
    kinds = [kind for (kind,) in dataset.sql("select distinct kind from samples order by kind").fetchall()]
    return {
        "pretty_name": name,
        "license": licences[0] if len(licences) == 1 else licences or "other",
        "size_categories": [next((label for limit, label in _SIZES if total < limit), "n>1B")],
        "task_categories": _task_categories(dataset),
        "tags": ["webdataset", "k3data", *kinds],
        "configs": [
            {
                "config_name": "default",
                "data_files": [{"split": split, "path": f"{SHARD_FOLDER}/{split}-*.tar"} for split, _, _ in splits],
            }
        ],
        "dataset_info": {
            "features": features.hugging_face(dataset.shards["signature"].to_pylist()),
            "splits": [{"name": split, "num_bytes": size, "num_examples": count} for split, count, size in splits],
            "dataset_size": sum(size for _, _, size in splits),
        },
    }


def attribution(dataset: Dataset) -> str:
    """The ATTRIBUTION file: whom to credit for what, by licence."""
    lines = ["Who made what this data set is made from. Every sample also carries its own licence and credit.", ""]
    if _of_tokens(dataset):
        lines += [f"{credit} ({count} samples)" for credit, count in _credit_lines(dataset)]
        return "\n".join([*lines, "", f"Licences: {', '.join(_parts(dataset))}"]) + "\n"
    for spdx, credit, origin, count in _credits(dataset):
        lines.append(f"{spdx}: {count} samples from {origin}")
        lines += [f"    {line}" for line in (credit or "no credit asked for").splitlines()]
    return "\n".join(lines) + "\n"


def _summary(dataset: Dataset) -> str:
    samples, kinds, media, chars, tokens = dataset.sql(
        "select count(*), count(distinct kind), coalesce(sum(media), 0)::bigint, coalesce(sum(text_chars), 0)::bigint,"
        " sum(tokens)::bigint from samples"
    ).fetchall()[0]
    shards, stored = dataset.sql("select count(*), coalesce(sum(bytes), 0)::bigint from shards").fetchall()[0]
    content = f"{chars:,} characters of text" if tokens is None else f"{tokens:,} tokens"
    return (
        f"{samples:,} samples of {kinds} kinds with {media:,} pictures and {content}, in {shards:,} "
        f"webdataset shards ({size(stored)}). Made by [k3data](https://github.com/k3data/k3data)."
    )


def _shown(pictures: dict[str, Document]) -> Iterator[str]:
    """The sample pictures, a row a kind."""
    kinds: dict[str, list[str]] = {}
    for path, record in pictures.items():
        kinds.setdefault(record.metadata["kind"], []).append(path)
    for kind, paths in kinds.items():
        row = "\n".join(f'<img src="{path}" height="160" alt="a sample of kind {kind}">' for path in paths)
        yield f"<p>\n{row}\n</p>"


def _contents(dataset: Dataset) -> str:
    length, unit = ("tokens", "tokens") if _of_tokens(dataset) else ("text_chars", "characters")
    kinds = dataset.sql(
        "select kind, count(*), count(*) filter (split = 'train'), count(*) filter (split = 'val'),"
        f" count(*) filter (split = 'test'), sum(media)::bigint, count(distinct template), median({length})::bigint"
        " from samples group by kind order by kind"
    ).fetchall()
    tasks = dataset.sql(
        "select task, count(*) from (select unnest(tasks) as task from samples) group by task order by task"
    ).fetchall()
    checks = dataset.sql(
        "select c.name, count(*), count(*) filter (c.passed), round(avg(c.score), 3)"
        " from (select unnest(checks) as c from samples) group by c.name order by c.name"
    ).fetchall()
    parts = [
        table(["kind", "samples", "train", "val", "test", "pictures", "templates", f"{unit} (median)"], kinds),
        "One source item is one sample; what it can be asked is its list of tasks." if tasks else "",
        table(["task", "samples"], tasks) if tasks else "",
        table(["check", "samples", "passed", "mean score"], [[*row[:3], row[3] or ""] for row in checks])
        if checks
        else "",
    ]
    return "\n\n".join(part for part in parts if part)


def _mixture(dataset: Dataset) -> Iterator[str]:
    """What a packed stage wanted and what it got, if the data set is one."""
    if not dataset.store.exists(PACKED):
        return
    stage = orjson.loads(dataset.store.read(PACKED))
    columns = ["wanted_tokens", "got_tokens", "got_share", "documents", "copies"]
    for split, rows in stage["mixture"].items():
        sequences, window = stage["sequences"][split], stage["stage"]["window"]
        yield f"Mixture of the {split} split, {sequences:,} sequences of {window:,} tokens:"
        yield table(["component", *columns], [[row["name"], *(row[name] for name in columns)] for row in rows])
    yield f"Padding takes {stage['padding_share']:.3%} of all positions. What became of the documents' tokens:"
    yield table(["fate", "pieces", "tokens"], [[name, *one.values()] for name, one in stage["fates"].items()])


def _told(dataset: Dataset) -> Iterator[str]:
    """What the source has to say of the data set."""
    if dataset.store.exists(TOLD):
        yield dataset.store.read(TOLD).decode().strip()


def _one_sample(pictures: dict[str, Document]) -> Iterator[str]:
    record = next((one for one in pictures.values() if one.metadata["tasks"]), None)
    if record is None:
        return
    program = record.text.replace(records.OBJECT, "").strip()
    yield "<details><summary>One sample</summary>"
    yield fence(_cut(program))
    for task in record.metadata["tasks"]:
        # The program stands above; it need not be repeated as a question or as an answer.
        prompt = re.sub(r"\s*^(`{3,}).*?^\1$", " […]", task["prompt"], flags=re.MULTILINE | re.DOTALL)
        yield f"**{inline(task['name'].replace('_', ' '))}**: {inline(_cut(prompt))}"
        yield "The program above." if task["answer"].strip() == program else fence(_cut(task["answer"]))
    yield "</details>"


def _of_tokens(dataset: Dataset) -> bool:
    """The samples are made of token ids."""
    return bool(len(dataset)) and dataset.samples["tokens"].null_count == 0


def _reading(dataset: Dataset) -> str:
    """How to read it, by what its samples are made of."""
    if not _of_tokens(dataset):
        record = "record = dataset[0]  # text, media with their bytes, metadata"
        return _READING.format(what=record, more="", form=_RECORDS)
    sample = 'sample = dataset[0].metadata["sample"]  # tokens, groups, documents, images, loss weights'
    packed = "packed" in dataset.samples["kind"].unique().to_pylist()
    return _READING.format(what=sample, more=_TRAINING if packed else "", form=_TOKENS)


_TRAINING = """```python
from k3data.curriculum.reader import PackedReader  # needs nothing of the data side

reader = PackedReader.open("this/folder")
for sequence in reader.iter(rank=0, world=8, cursor=reader.start(seed=7)):
    sequence.tokens, sequence.cu_seqlens, sequence.weights, sequence.images
```

`curriculum.json` says what was wanted and what was got, and how pictures are to be preprocessed; `documents.parquet`
what became of every document; `tokenizer.json` is the tokenizer.

"""


_READING = """```python
import k3data

dataset = k3data.open("this/folder")
{what}
dataset.sql("select kind, count(*) from samples where split = 'train' group by kind")
```

```python
import datasets

# The types and the splits are stated at the head of this file.
train = datasets.load_dataset("this/folder", split="train")
```

```python
import glob
import webdataset

shards = sorted(glob.glob("this/folder/shards/train-*.tar"))
train = webdataset.WebDataset(shards, shardshuffle=False)
```

```sh
energon prepare --tar-index-only this/folder  # once; Megatron-Energon then reads it
duckdb -c "select kind, count(*) from 'this/folder/index/samples.parquet' group by kind"
```

{more}{form}"""

_RECORDS = """A sample with one picture is `<key>.json` and `<key>.png` (or jpg, webp). Any other number of media parts
lies end to end in `<key>.media.bin`; `media` in the JSON gives the `offset`, `bytes` and `mime` of each. Each U+FFFC in
`text` stands for one part, in order."""

_TOKENS = """A sample is `<key>.tokens.npy` (token ids, one-dimensional uint32), `<key>.spans.json` and
`<key>.media.bin`. The JSON says what lies where, in tokens: `groups` are isolated from each other; `docs` says what
each document is; `images` gives each run of image tokens the `offset` and `bytes` of its picture in `media.bin`;
`weights` are loss weights by position, the weight of position t being that of predicting token t + 1; `proofs` are JSON
strings."""


def _licences(dataset: Dataset) -> str:
    classes = "A shard holds samples of one licence class, which is part of its name."
    if _of_tokens(dataset):
        # One sequence is made of many documents: a row for each combination would be a row a sequence.
        told = f"Parts of these samples are under {', '.join(map(inline, _parts(dataset)))}."
        return (
            f"{told}\n\n{table(['credit', 'samples'], _credit_lines(dataset))}\n\n{classes} See also `{ATTRIBUTION}`."
        )
    rows = [[spdx, origin, count, credit] for spdx, credit, origin, count in _credits(dataset)]
    return table(["licence", "from", "samples", "credit"], rows) + f"\n\n{classes} See also `{ATTRIBUTION}`."


def _left_out(stats: dict[str, Any]) -> str:
    outcomes = {name: count for name, count in stats["outcomes"].items() if count}
    text = (
        f"Of {stats['items']:,} items of job {inline(stats['job'])}: "
        + ", ".join(f"{count:,} {name}" for name, count in outcomes.items())
        + "."
    )
    if not stats["codes"]:
        return text
    rows = [[*code.rsplit("/", 1), count] for code, count in sorted(stats["codes"].items(), key=lambda one: -one[1])]
    return text + "\n\n" + table(["stage", "reason", "items"], rows)


def _making(recipe: str, history: Sequence[dict[str, Any]], environment: dict[str, str]) -> str:
    columns = ["in", "out", "filtered", "rejected", "merged"]
    stages = [
        [job["job"], stage["name"], *(stage.get(name, 0) for name in columns)]
        for job in history
        for stage in job["stages"]
    ]
    parts = [fence(recipe, "yaml"), table(["job", "stage", *columns], stages)]
    if environment:
        parts.append(table(["depends on", "version"], sorted(environment.items())))
    return "\n\n".join(parts)


def _examples(dataset: Dataset) -> Iterator[tuple[str, int, Document]]:
    """A few samples a kind, of different templates, always the same ones."""
    chosen = dataset.sql(
        "with firsts as (select kind, min(id) as id from samples group by kind, coalesce(template, id))"
        " select kind, id from firsts"
        f" qualify row_number() over (partition by kind order by id) <= {_PICTURES_PER_KIND} order by kind, id"
    ).fetchall()
    number, last = 0, None
    for kind, id in chosen:
        number, last = (number + 1 if kind == last else 1), kind
        yield kind, number, dataset[id]


def _thumbnail(record: Document) -> bytes:
    picture = Image.open(io.BytesIO(record.media[0].media_bytes or b"")).convert("RGB")
    picture.thumbnail((_PICTURE_SIDE, _PICTURE_SIDE))
    out = io.BytesIO()
    picture.save(out, "PNG", optimize=True)
    return out.getvalue()


def _credits(dataset: Dataset) -> list[tuple[str, str, str, int]]:
    """Licence, credit, origin and number of samples of everything the data set is made from."""
    return dataset.sql(
        "select spdx, attribution, split_part(source, '/', 1) as origin, count(*) as n from samples"
        " group by all order by spdx, attribution, origin"
    ).fetchall()


def _credit_lines(dataset: Dataset) -> list[tuple[str, int]]:
    """Each credit, and of how many samples it is one."""
    return dataset.sql(
        "select credit, count(*) from (select unnest(string_split(attribution, chr(10))) as credit from samples)"
        " where credit <> '' group by credit order by credit"
    ).fetchall()


def _parts(dataset: Dataset) -> list[str]:
    """The licences of the documents that samples are made of."""
    rows = dataset.sql(
        "select distinct unnest(string_split(spdx, ' AND ')) as one from samples order by one"
    ).fetchall()
    return [spdx for (spdx,) in rows]


def _task_categories(dataset: Dataset) -> list[str]:
    names = dataset.sql("select distinct unnest(tasks) from samples").fetchall()
    return sorted({_TASK_CATEGORIES.get(name, "text-generation") for (name,) in names}) or ["text-generation"]


def _hub_licence(spdx: str) -> str:
    name = spdx.lower().removesuffix("-only").removesuffix("-or-later")
    name = name.removesuffix("-1.0") if name.startswith(("odc-by", "odbl", "pddl")) else name
    return name if name in _LICENCES else "other"


def _cut(text: str) -> str:
    return text if len(text) <= _EXCERPT else text[:_EXCERPT] + " …"
