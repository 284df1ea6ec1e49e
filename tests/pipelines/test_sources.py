"""Sources: every byte and row belongs to exactly one unit, names hold no absolute path, and licences come along."""

from __future__ import annotations

import gzip
import json
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from k3data.pipelines.errors import UserError
from k3data.pipelines.plan import Unit, _spread
from k3data.pipelines.sources.files import Files, InputChanged
from k3data.pipelines.sources.jsonl import Jsonl
from k3data.pipelines.sources.parquet import Parquet
from k3data.pipelines.stage import Context, InvalidInput, Source


def context(folder: Path) -> Context:
    return Context(7, "r", "j", "", folder, base=folder)


def items(source: Source, folder: Path, unit_items: int | None = None) -> list:
    at = context(folder)
    slices = list(source.plan(at, unit_items))
    return [item for piece in slices for item in source.read(piece.where, piece.inputs, at)]


LINES = st.lists(
    st.one_of(st.just(""), st.text(max_size=30).map(lambda text: json.dumps({"text": text or "x"}))), max_size=40
)


@given(lines=LINES, end=st.booleans(), per_unit=st.integers(1, 7), block=st.integers(1, 50))
@settings(max_examples=150, deadline=None)
def test_line_ranges_cover_a_file_exactly_once(tmp_path_factory, lines, end, per_unit, block):
    folder = tmp_path_factory.mktemp("lines")
    data = ("\n".join(lines) + ("\n" if end else "")).encode()
    (folder / "a.jsonl").write_bytes(data)
    source = Jsonl(glob="*.jsonl", licence="MIT")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("k3data.pipelines.sources.jsonl._BLOCK", block)
        slices = list(source.plan(context(folder), per_unit))
    spans = [(piece.where["start"], piece.where["stop"]) for piece in slices]
    wanted = [line for line in data.splitlines() if line.strip()]
    if wanted:
        assert spans[0][0] == 0
        assert not data[spans[-1][1] :].strip()  # only blank lines may belong to nobody
        assert all(one[1] == other[0] for one, other in pairwise(spans))
    assert sum(piece.items for piece in slices) == len(wanted)
    found = [item for piece in slices for item in source.read(piece.where, piece.inputs, context(folder))]
    assert len({item.key for item in found}) == len({item.identity for item in found}) == len(wanted)
    assert [item.load().text for item in found] == [json.loads(line)["text"].replace("\ufffc", "") for line in wanted]


def test_bad_lines_are_refused_one_by_one(tmp_path):
    lines = ['{"text": "good"}', "{broken", "[1, 2]", '{"other": 1}', '{"text": 3}', '{"text": ""}']
    (tmp_path / "a.jsonl").write_text("\n".join(lines))
    codes = []
    for item in items(Jsonl(glob="*.jsonl", licence="MIT"), tmp_path):
        try:
            item.load()
            codes.append("good")
        except InvalidInput as why:
            codes.append(why.code)
    assert codes == ["good", "parse", "not_an_object", "no_text", "no_text", "empty"]


def test_compressed_lines_read_the_same(tmp_path):
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(b'{"text": "one", "stars": 3}\n\n{"text": "two"}\n'))
    found = [item.load() for item in items(Jsonl(glob="*.gz", licence="MIT"), tmp_path)]
    assert [record.text for record in found] == ["one", "two"]
    assert found[0].metadata["stars"] == 3


@pytest.mark.parametrize("rows_per_group", [3, 100])
def test_rows_of_parquet_are_read_exactly_once(tmp_path, rows_per_group):
    table = pa.table({"text": [f"row {at}" for at in range(25)], "licence_id": ["MIT", "CC-BY-4.0"] * 12 + ["MIT"]})
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=rows_per_group)
    found = items(Parquet(glob="*.parquet", licence_key="licence_id"), tmp_path, unit_items=4)
    records = [item.load() for item in found]
    assert [record.text for record in records] == table["text"].to_pylist()
    assert len({item.identity for item in found}) == 25
    assert {record.metadata["licence"]["class"] for record in records} == {"permissive", "attribution"}


def test_copies_of_one_file_have_different_identities(tmp_path):
    for name in ("a", "b", "c"):
        (tmp_path / f"{name}.svg").write_text("<svg/>" if name != "c" else "<svg></svg>")
    found = items(Files(glob="*.svg", kind="svg"), tmp_path, unit_items=1)
    assert len({item.identity for item in found}) == 3
    assert [item.key for item in found] == [f"{tmp_path.name}/{name}.svg" for name in "abc"]


def test_a_sample_of_files_is_the_same_every_time(tmp_path):
    for at in range(30):
        (tmp_path / f"{at:02d}.txt").write_text(f"text {at}")
    few = [item.key for item in items(Files(glob="*.txt", kind="text", sample=5), tmp_path)]
    more = [item.key for item in items(Files(glob="*.txt", kind="text", sample=10), tmp_path)]
    assert len(few) == 5
    assert set(few) < set(more)


def test_a_file_that_changes_after_planning_is_noticed(tmp_path):
    (tmp_path / "a.txt").write_text("before")
    (item,) = items(Files(glob="*.txt", kind="text"), tmp_path)
    (tmp_path / "a.txt").write_text("after!")
    with pytest.raises(InputChanged, match=r"a\.txt has changed since the plan was frozen"):
        item.load()


def test_files_too_large_or_empty_are_refused_unread(tmp_path):
    (tmp_path / "large.txt").write_bytes(b"x" * 2000)
    (tmp_path / "empty.txt").write_bytes(b"")
    codes = {}
    for item in items(Files(glob="*.txt", kind="text", max_bytes=1000), tmp_path):
        with pytest.raises(InvalidInput) as why:
            item.load()
        codes[item.key.rsplit("/", 1)[-1]] = why.value.code
    assert codes == {"large.txt": "too_large", "empty.txt": "empty"}


@pytest.mark.parametrize(
    ("kind", "data", "text"),
    [
        ("text", "ünï".encode(), "ünï"),
        ("text", "\ufeffünï".encode(), "ünï"),
        ("svg", "ünï".encode("utf-16"), "ünï"),
        ("svg", b'<?xml version="1.0" encoding="iso-8859-1"?>\xfc', '<?xml version="1.0" encoding="iso-8859-1"?>ü'),
        ("web", b"<meta charset=windows-1252>\x80", "<meta charset=windows-1252>€"),
        ("text", b"\xff\xfe\xfa", None),
        ("text", b"\xfc", None),
        ("text", b"a\0b", None),
        ("svg", b'<?xml version="1.0" encoding="no-such-thing"?>', None),
    ],
)
def test_text_is_decoded_as_declared_or_refused(tmp_path, kind, data, text):
    (tmp_path / "a").write_bytes(data)
    (item,) = items(Files(glob="*", kind=kind), tmp_path)
    if text is None:
        with pytest.raises(InvalidInput, match="encoding"):
            item.load()
    else:
        assert item.load().text == text


def test_a_python_package_brings_its_licence_and_its_credit(tmp_path):
    found = items(Files(package="pytest", glob="_pytest/*.py", kind="code", domain="code", sample=3), tmp_path)
    record = found[0].load()
    assert record.metadata["licence"]["spdx"] == "MIT"
    assert record.metadata["licence"]["attribution"].startswith("pytest ")
    assert record.metadata["source"]["uri"].startswith("package:pytest/_pytest/")
    with pytest.raises(UserError, match=r"'no-such-package' is not installed: pip install no-such-package"):
        items(Files(package="no-such-package", glob="*", kind="x"), tmp_path)
    with pytest.raises(UserError, match="no file matches"):
        items(Files(package="pytest", glob="*.nothing", kind="x"), tmp_path)


@given(sizes=st.lists(st.integers(1, 50), min_size=1, max_size=60), limit=st.integers(1, 500))
@settings(deadline=None)
def test_a_limit_takes_enough_whole_units_and_no_more_than_it_must(sizes, limit):
    units = [Unit(f"u{at}", at, 0, {}, size, ()) for at, size in enumerate(sizes)]
    chosen = _spread(units, limit)
    assert sum(unit.items for unit in chosen) >= min(limit, sum(sizes))
    assert {unit.id for unit in chosen} <= {unit.id for unit in units}
    assert [unit.position for unit in chosen] == list(range(len(chosen)))
