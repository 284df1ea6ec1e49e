"""The tar writer's bytes, and what the strict scanner refuses."""

from __future__ import annotations

import hashlib
import io
import tarfile

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from k3data.pipelines.tar import BLOCK, MAX_MEMBER, TarError, TarWriter, _header, scan

keys = st.text("abcxyz0189_-", min_size=1, max_size=96)
suffixes = st.sampled_from(["json", "png", "media.bin", "txt"])
samples = st.dictionaries(keys, st.dictionaries(suffixes, st.binary(max_size=1500), min_size=1), min_size=1, max_size=6)


def write(path, content):
    path.unlink(missing_ok=True)
    with TarWriter(path) as tar:
        return {key: tar.add(key, list(members.items())) for key, members in content.items()}


def three(tmp_path):
    path = tmp_path / "three.tar"
    write(path, {name: {"json": b"{}" * 300, "png": name.encode() * 700} for name in ("a", "b", "c")})
    return path.read_bytes()


@given(samples)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_everything_written_is_found_by_tarfile_by_scan_and_by_location(tmp_path, content):
    path = tmp_path / "x.tar"
    places = write(path, content)
    data = path.read_bytes()
    expected = {f"{key}.{suffix}": value for key, members in content.items() for suffix, value in members.items()}
    with tarfile.open(path) as tar:
        assert {member.name: tar.extractfile(member).read() for member in tar} == expected
    found = {f"{m.key}.{m.suffix}": data[m.offset : m.offset + m.size] for m in scan(data)}
    assert found == expected and list(found) == list(expected)
    with path.open("rb") as file:
        assert list(scan(file)) == list(scan(data))
    end = 0
    for key, place in places.items():
        assert place.offset == end
        end = place.offset + place.size
        assert {m.suffix: data[m.offset : m.offset + m.size] for m in place.members} == content[key]
    assert len(data) == end + 2 * BLOCK


def test_the_digest_is_that_of_the_file_and_nothing_depends_on_time_or_user(tmp_path):
    with TarWriter(tmp_path / "x.tar") as tar:
        for number in range(40):
            tar.add(f"k{number}", [("json", b"x" * 100_000)])  # several flushes
    size, digest = tar.close()
    data = (tmp_path / "x.tar").read_bytes()
    assert (size, digest) == (len(data), hashlib.sha256(data).hexdigest())
    with tarfile.open(tmp_path / "x.tar") as read:
        assert {(m.mtime, m.uid, m.gid, m.mode, m.uname, m.gname) for m in read} == {(0, 0, 0, 0o644, "", "")}


@pytest.mark.parametrize("key", ["", "a.b", "A", "é", "a/b", "x" * 97, "a\n"])
def test_keys_that_other_readers_would_split_differently_are_refused(tmp_path, key):
    with pytest.raises(ValueError, match="not a sample key"), TarWriter(tmp_path / "x.tar") as tar:
        tar.add(key, [("json", b"{}")])
    assert not (tmp_path / "x.tar").exists()  # a failed shard never looks finished


@pytest.mark.parametrize("suffix", ["", ".png", "png.", "PNG", "a/b", "a b"])
def test_suffixes_that_other_readers_would_change_are_refused(tmp_path, suffix):
    with pytest.raises(ValueError, match="not a member suffix"), TarWriter(tmp_path / "x.tar") as tar:
        tar.add("k", [(suffix, b"")])


def test_a_member_too_large_for_the_format_is_refused():
    assert len(_header("k", "bin", MAX_MEMBER)) == BLOCK
    with pytest.raises(ValueError, match="holds at most"):
        _header("k", "bin", MAX_MEMBER + 1)


def test_a_cut_anywhere_is_noticed(tmp_path):
    data = three(tmp_path)
    assert len(list(scan(data))) == 6
    for cut in sorted({*range(0, len(data), 97), *range(0, len(data), BLOCK), len(data) - 1}):
        with pytest.raises(TarError, match=r"truncated at byte|no end-of-archive|end-of-archive blocks is missing"):
            list(scan(data[:cut]))


def test_every_flipped_bit_of_a_header_and_of_the_padding_is_noticed(tmp_path):
    data = bytearray(three(tmp_path))
    last = list(scan(data))[-1]
    places = [*range(last.header, last.offset), *range(last.offset + last.size, len(data))]
    for place in places:
        data[place] ^= 4
        with pytest.raises(TarError):
            list(scan(bytes(data)))
        data[place] ^= 4


def ustar(names):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name in names:
            info = tarfile.TarInfo(name)
            if name.endswith("/"):
                info.type = tarfile.DIRTYPE
            tar.addfile(info)
    return out.getvalue()


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["a.json", "b.json", "a.png"], "members of sample a are not adjacent"),
        (["a.json", "a.json"], r"a\.json is there twice"),
        (["a.json", "b/"], "is not a plain file"),
        (["nothing"], "is not named <key>.<suffix>"),
    ],
)
def test_what_other_readers_merge_or_skip_in_silence_is_named(names, message):
    with pytest.raises(TarError, match=message):
        list(scan(ustar(names)))


def test_archives_of_other_writers_are_read():
    assert [(m.key, m.suffix) for m in scan(ustar(["a.json", "a.png", "b.json"]))] == [
        ("a", "json"),
        ("a", "png"),
        ("b", "json"),
    ]


def test_bytes_after_the_end_are_noticed(tmp_path):
    data = three(tmp_path)
    with pytest.raises(TarError, match="after the end"):
        list(scan(data + b"x"))
