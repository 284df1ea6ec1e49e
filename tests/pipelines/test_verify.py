"""verify: delete, double and flip one sample in every kind of file, and it is named."""

from __future__ import annotations

import io
import shutil
from pathlib import Path

import orjson
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from k3data.pipelines.errors import K3DataError
from k3data.pipelines.gc import collect
from k3data.pipelines.look import rejects_relation
from k3data.pipelines.tar import scan
from k3data.pipelines.verify import verify
from k3data.tests.pipelines.toy import command, run, stage, toy_recipe, write_lines

PARQUETS = [
    "index/samples.parquet",
    "index/shards.parquet",
    "index/units/*.parquet",
    "rejects/*.parquet",
    "plan.parquet",
]
OTHERS = [
    "dataset.json", "stats.json", "recipe.yaml", "README.md", "ATTRIBUTION", "inputs.parquet", "ledger/*.json",
    ".nv-meta/split.yaml", ".nv-meta/dataset.yaml", ".nv-meta/.info.json",
]  # fmt: skip


@pytest.fixture(scope="module")
def undamaged(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("undamaged")
    write_lines(folder, 24)
    stages = stage("Sieve", filtered=[3, 13], raised=[5])
    run(toy_recipe(folder, stages, unit=12, more="errors: {budget: 0.5}"), folder / "out")
    assert verify(str(folder / "out")).problems == []
    return folder / "out"


@pytest.fixture
def out(undamaged, tmp_path) -> Path:
    return Path(shutil.copytree(undamaged, tmp_path / "out"))


def one(out: Path, pattern: str) -> Path:
    """The largest file that matches: the one with samples in it."""
    return max((out / "work").glob(pattern), key=lambda path: path.stat().st_size)


def lines(out: Path) -> list[str]:
    return [problem.line for problem in verify(str(out)).problems]


def members(path: Path) -> list[tuple[str, int, int]]:
    """(key, first byte, byte after the last) of every sample of a shard."""
    found: dict[str, list[int]] = {}
    with path.open("rb") as file:
        for member in scan(file):
            start, end = member.header, -(-(member.offset + member.size) // 512) * 512
            found.setdefault(member.key, [start, end])[1] = end
    return [(key, *place) for key, place in found.items()]


def test_a_sample_deleted_from_a_shard_is_named(out):
    path = one(out, "shards/*.tar")
    key, start, end = members(path)[1]
    data = path.read_bytes()
    path.write_bytes(data[:start] + data[end:])
    told = lines(out)
    assert any(key in line and "does not list" not in line for line in told)
    assert any(path.name in line for line in told)
    assert {problem.kind for problem in verify(str(out)).problems} >= {"lost"}


def test_a_sample_doubled_in_a_shard_is_named(out):
    path = one(out, "shards/*.tar")
    key, start, end = members(path)[1]
    data = path.read_bytes()
    for at in (end, len(data) - 1024):  # behind itself, and at the end
        path.write_bytes(data[:at] + data[start:end] + data[at:])
        assert any(path.name in line and key in line for line in lines(out)), at


def test_a_sample_copied_into_another_shard_is_doubled(out):
    path, other = sorted((out / "work").glob("shards/*.tar"), key=lambda path: -path.stat().st_size)[:2]
    key, start, end = members(path)[0]
    data = other.read_bytes()
    other.write_bytes(path.read_bytes()[start:end] + data)
    report = verify(str(out))
    assert any(problem.kind == "doubled" and key in problem.line for problem in report.problems)


@pytest.mark.parametrize("where", ["json", "end", "header"])
def test_a_flipped_bit_in_a_shard_is_named(out, where):
    path = one(out, "shards/*.tar")
    _, start, _ = members(path)[2]
    at = {"json": start + 512 + 40, "end": path.stat().st_size - 3, "header": start + 20}[where]
    flip(path, at)
    assert any(path.name in line for line in lines(out))


def flip(path: Path, at: int) -> None:
    data = bytearray(path.read_bytes())
    data[at] ^= 4
    path.write_bytes(data)


@pytest.mark.parametrize("pattern", PARQUETS)
@pytest.mark.parametrize("how", ["delete", "double"])
def test_a_row_deleted_or_doubled_in_a_table_is_named(out, pattern, how):
    path = one(out, pattern)
    table = pq.read_table(path)
    row = table.slice(0, 1)
    changed = table.slice(1) if how == "delete" else pa.concat_tables([table, row])
    pq.write_table(changed, path, compression="zstd")
    told = lines(out)
    name = path.relative_to(out / "work").as_posix()
    assert any(name in line for line in told), told
    if "samples" in pattern or "units" in pattern:
        assert any(row["id"][0].as_py() in line for line in told), told
    if "shards" in pattern:
        assert any(row["path"][0].as_py() in line for line in told), told


@pytest.mark.parametrize("pattern", [*PARQUETS, *OTHERS])
def test_a_flipped_bit_in_any_other_file_is_named(out, pattern):
    path = one(out, pattern)
    flip(path, path.stat().st_size // 2)
    name = path.relative_to(out / "work").as_posix()
    told = lines(out)
    assert any(name in line for line in told), told


@pytest.mark.parametrize("pattern", ["shards/*.tar", *PARQUETS, *OTHERS[1:]])
def test_a_file_that_is_gone_is_named(out, pattern):
    path = one(out, pattern)
    path.unlink()
    name = path.relative_to(out / "work").as_posix()
    unit = path.stem.split("-")[0]
    assert any(name in line or unit in line for line in lines(out)), lines(out)


def test_a_ledger_record_copied_to_another_unit_is_named(out):
    first, second = sorted((out / "work/ledger").glob("*.json"))
    second.write_bytes(first.read_bytes())
    assert any(second.stem in line for line in lines(out))


def test_the_command_exits_with_1_and_names_the_file(out):
    path = one(out, "shards/*.tar")
    flip(path, 700)
    process = command("verify", str(out), "--json", cwd=out)
    told, log = process.communicate()
    assert process.returncode == 1, log
    assert told, log
    report = orjson.loads(told)
    assert not report["ok"]
    assert any(path.name in problem["line"] for problem in report["problems"])


def test_gc_lists_leftovers_only_and_removes_them_when_told(out):
    left = out / "work/shards/train-permissive-0123-000-beef.tar"
    left.write_bytes(b"left by a killed worker")
    assert [entry.path for entry in collect(str(out), min_age_s=3600, remove=True)] == []
    assert [entry.path for entry in collect(str(out), min_age_s=0, remove=False)] == [f"work/shards/{left.name}"]
    assert left.exists()
    collect(str(out), min_age_s=0, remove=True)
    assert not left.exists()
    assert verify(str(out)).problems == []


def test_rejects_can_be_selected_by_sql(out):
    rows = rejects_relation(str(out), "work", "outcome = 'filtered'").select("code").fetchall()
    assert rows == [("chosen",), ("chosen",)]
    with pytest.raises(K3DataError, match="--where 'nonsense'"):
        rejects_relation(str(out), None, "nonsense")


def test_a_verify_of_nothing_is_refused(tmp_path):
    with pytest.raises(K3DataError, match="no such folder"):
        verify(str(tmp_path / "nothing"))
    (tmp_path / "x").mkdir()
    with pytest.raises(K3DataError, match="is not an output of k3data"):
        verify(str(tmp_path / "x"))


def test_tables_are_plain_parquet(out):
    table = pq.read_table(io.BytesIO(one(out, "index/samples.parquet").read_bytes()))
    assert len(table) == 21
