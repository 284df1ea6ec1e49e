"""Ids and back: nothing is lost, nothing becomes special, long texts are encoded as short ones are."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest
import tokenizers
from hypothesis import example, given, settings
from hypothesis import strategies as st
from k3data.tests.tokenizer.texts import library_sources, small_tokenizer
from k3data.tokenizer import Tokenizer, TokenizerError, bpe
from k3data.tokenizer.special import NAMES, spelling
from k3data.tokenizer.train import train

SPELLED = st.sampled_from([spelling(name) for name in NAMES])
TEXT = st.lists(st.one_of(st.text(), SPELLED, st.sampled_from(["'S ", "中文", "  \n", "\r\n", "1234567"]))).map("".join)


@given(st.binary(max_size=400))
@settings(max_examples=400, deadline=None)
@example(bytes(range(256)))
@example("\ud800".encode("utf-8", "surrogatepass"))
def test_any_bytes_come_back(data):
    tokenizer = small_tokenizer()
    ids = tokenizer.encode_bytes(data)
    assert ids.dtype == np.uint32
    assert tokenizer.decode_bytes(ids) == data


@given(TEXT)
@settings(max_examples=400, deadline=None)
def test_any_text_comes_back_and_gives_no_special_id(text):
    tokenizer = small_tokenizer()
    ids = tokenizer.encode(text)
    assert tokenizer.decode(ids) == text
    assert tokenizer.decode_bytes(ids) == text.encode()
    assert not len(ids) or ids.max() < tokenizer.special["bos"]


@given(st.lists(st.sampled_from(["\n", " ", "a", "B", "'s", "\u2028", "\x85", "\x1c", "1", "-", "中", "\r", "é"])))
@settings(max_examples=300, deadline=None)
def test_a_long_text_is_cut_only_where_no_token_lies(pieces):
    tokenizer, text = small_tokenizer(), "".join(pieces)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bpe, "_LONG", 4)
        patch.setattr(bpe, "_CHUNK", 1)
        cut = tokenizer.encode(text)
    assert cut.tolist() == tokenizer.encode(text).tolist()


def test_a_document_is_encoded_as_the_library_does_it_whole():
    tokenizer, text = small_tokenizer(), "".join(library_sources(12))
    assert len(text) > 4 * bpe._LONG
    stored = json.loads(tokenizer._model.to_str())
    assert tokenizer.encode(text).tolist() == tokenizers.Tokenizer.from_str(json.dumps(stored)).encode(text).ids


@given(st.lists(TEXT, max_size=5))
@settings(deadline=None)
def test_a_batch_is_its_texts(texts):
    tokenizer = small_tokenizer()
    assert [ids.tolist() for ids in tokenizer.encode_batch(texts)] == [tokenizer.encode(one).tolist() for one in texts]


def test_split_rule_on_hand_checked_pieces():
    tokenizer = small_tokenizer()
    pieces = tokenizer._model.pre_tokenizer.pre_tokenize_str
    table = bpe.byte_characters()

    def split(text: str) -> list[str]:
        return [bytes(table[c] for c in piece).decode() for piece, _ in pieces(text)]

    assert split("It's HTTPServer's 12345 中文字abc") == [
        "It's",
        " HTTPServer's",
        " ",
        "123",
        "45",
        " ",
        "中文字",
        "abc",
    ]
    assert split("x = y.z  # no\n\n  end") == ["x", " =", " y", ".z", " ", " #", " no", "\n\n", " ", " end"]
    assert split("(foo)\n!!\r\n") == ["(foo", ")\n", "!!\r\n"]
    assert split("éÉ ЖЖж") == ["é", "É", " ЖЖж"]


def test_special_tokens_are_the_last_256_ids_at_the_places_of_k3():
    tokenizer = small_tokenizer()
    first = tokenizer.vocab_size - 256
    assert list(tokenizer.special.values()) == list(range(first, tokenizer.vocab_size))
    assert {tokenizer.special[name] - first for name in ("bos", "eos", "end_of_msg", "open", "close", "sep")} == {
        *range(6)
    }
    assert [tokenizer.special[f"media_{name}"] - first for name in ("begin", "content", "end", "pad")] == [
        18,
        19,
        20,
        21,
    ]
    assert tokenizer.special["unk"] == tokenizer.vocab_size - 2
    assert tokenizer.special["pad"] == tokenizer.vocab_size - 1
    assert tokenizer.decode([tokenizer.special["eos"], *tokenizer.encode("a")]) == "<|eos|>a"
    assert tokenizer.decode_bytes([tokenizer.special["eos"], *tokenizer.encode("a")]) == b"a"


def test_another_reader_of_the_file_finds_the_same_ids():
    content = train(library_sources(40), 2048)
    whole, ours = tokenizers.Tokenizer.from_str(content.decode()), Tokenizer(content)
    assert whole.get_vocab_size() == ours.vocab_size
    assert whole.token_to_id("<|media_pad|>") == ours.special["media_pad"]
    assert whole.encode("def f(x): return 12").ids == ours.encode("def f(x): return 12").tolist()


def test_a_tokenizer_travels_to_another_process():
    tokenizer = small_tokenizer()
    again = pickle.loads(pickle.dumps(tokenizer))
    assert again.encode("a b c").tolist() == tokenizer.encode("a b c").tolist()
    assert again.digest == tokenizer.digest


def test_the_digest_sees_file_template_and_split_rule(monkeypatch):
    content = train(library_sources(40), 2048)
    digests = {Tokenizer(content).digest, Tokenizer(train(library_sources(30), 2048)).digest}
    monkeypatch.setattr(bpe, "CHAT_TEMPLATE_VERSION", 99)
    digests.add(Tokenizer(content).digest)
    assert len(digests) == 3


def test_wrong_ids_and_texts_are_refused_in_one_line():
    tokenizer = small_tokenizer()
    for ids in ([2048], [0, -1], np.array([5, 4_000_000_000], np.uint32)):
        with pytest.raises(TokenizerError, match=r"id -?\d+ is out of range: this tokenizer has 2048 ids"):
            tokenizer.decode(ids)
    with pytest.raises(TokenizerError, match="text 1 has a lone surrogate at character 2"):
        tokenizer.encode_batch(["fine", "ab\ud800"])


def _without_a_byte(stored):
    stored["model"]["vocab"] = {token: id for token, id in stored["model"]["vocab"].items() if id}


def _another_split(stored):
    stored["pre_tokenizer"]["pretokenizers"][0]["pattern"]["Regex"] = r"\w+"


def _swapped_specials(stored):
    first, second, *_ = stored["added_tokens"]
    first["content"], second["content"] = second["content"], first["content"]


@pytest.mark.parametrize("spoil", [_without_a_byte, _another_split, _swapped_specials, lambda s: s.pop("model")])
def test_a_file_that_is_not_ours_is_refused_in_one_line(spoil, tmp_path):
    stored = json.loads(train(library_sources(40), 2048))
    spoil(stored)
    (tmp_path / "tokenizer.json").write_text(json.dumps(stored))
    with pytest.raises(TokenizerError) as caught:
        Tokenizer.load(tmp_path)
    assert "\n" not in str(caught.value) and str(tmp_path) in str(caught.value)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff\xfe", b'{"added_tokens": []}'])
def test_a_damaged_file_is_refused_in_one_line(content, tmp_path):
    (tmp_path / "t.json").write_bytes(content)
    with pytest.raises(TokenizerError, match="damaged"):
        Tokenizer.load(tmp_path / "t.json")


def test_a_missing_file_is_refused_in_one_line(tmp_path):
    with pytest.raises(TokenizerError, match="cannot be read"):
        Tokenizer.load(tmp_path)
