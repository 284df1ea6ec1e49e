"""Wrong operands are refused by every operator, by name, before anything is computed."""

from __future__ import annotations

import pytest
import torch
from k3data.model.bench.oracles import kda_operands
from k3data.model.kda.chunked import kda_chunked
from k3data.model.kda.inputs import sequence_bounds
from k3data.model.kda.recurrent import kda_recurrent
from k3data.model.kda.step import kda_step

NAMES = ("q", "k", "v", "log_decay", "beta", "initial_state")


def with_operand(name, change):
    operands = [x.float() for x in kda_operands(20, 2, 16, "initial")]
    operands[NAMES.index(name)] = change(operands[NAMES.index(name)])
    return operands


def spoiled(value):
    def change(x):
        x = x.clone()
        x.view(-1)[3] = value
        return x

    return change


@pytest.mark.parametrize("operator", [kda_chunked, kda_recurrent])
@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("q", lambda x: x[0], "q and v must be"),
        ("k", lambda x: x[..., :8], r"k is \[1, 20, 2, 8\], but must be \[1, 20, 2, 16\]"),
        ("v", lambda x: x[:, :19], "v is .* but must be"),
        ("log_decay", lambda x: x[..., 0], "log_decay is .* but must be"),
        ("beta", lambda x: x[..., None], "beta is .* but must be"),
        ("initial_state", lambda x: x.expand(2, -1, -1, -1), "initial_state is .* but must be"),
        ("v", lambda x: x.double(), "v is torch.float64 and q is torch.float32"),
        ("k", lambda x: x.bfloat16(), "k is torch.bfloat16 and q is torch.float32"),
        ("beta", lambda x: x.long(), "beta is torch.int64"),
        ("q", spoiled(float("nan")), "q holds a value that is not finite"),
        ("v", spoiled(float("inf")), "v holds a value that is not finite"),
        ("log_decay", spoiled(float("nan")), "log_decay holds a value that is not finite"),
        ("log_decay", spoiled(-float("inf")), "log_decay holds a value that is not finite"),
        ("initial_state", spoiled(float("nan")), "initial_state holds a value that is not finite"),
        ("log_decay", spoiled(-6.0), "log_decay goes from -6 to"),
        ("log_decay", spoiled(0.5), "log_decay goes from .* to 0.5, but must lie in"),
    ],
)
def test_the_operand_that_is_wrong_is_named(operator, name, change, message):
    operands = with_operand(name, change)
    with pytest.raises(ValueError, match=message):
        operator(*operands[:5], initial_state_NHKV=operands[5])


def test_step_checks_like_the_others():
    operands = [x[:, 0].float() for x in kda_operands(1, 2, 16, "initial")[:5]]
    with pytest.raises(ValueError, match="initial_state is"):
        kda_step(*operands, torch.zeros(2, 2, 16, 16))
    operands[0] = operands[0] * float("nan")
    with pytest.raises(ValueError, match="q holds a value that is not finite"):
        kda_step(*operands, torch.zeros(1, 2, 16, 16))


def test_no_tokens_are_refused():
    operands = kda_operands(3, 2, 16, "initial")
    with pytest.raises(ValueError, match="there are no tokens"):
        kda_chunked(*(x[:, :0] for x in operands[:5]))


@pytest.mark.parametrize("chunk_size", [0, 8, 24, 100])
def test_chunks_are_whole_tiles(chunk_size):
    with pytest.raises(ValueError, match=f"chunk_size is {chunk_size}"):
        kda_chunked(*kda_operands(3, 2, 16, "initial")[:5], chunk_size=chunk_size)


@pytest.mark.parametrize(
    ("cu_seqlens", "message"),
    [
        ([1, 20], "must start at 0, not at 1"),
        ([0, 19], "must end at the number of tokens, 20, not at 19"),
        ([0, 21], "must end at the number of tokens, 20, not at 21"),
        ([0, 12, 7, 20], "must not fall, but entry 2 is 7 after 12"),
        ([0], "at least 2 integers"),
        ([[0, 20]], "at least 2 integers"),
        ([0.0, 20.0], "at least 2 integers"),
    ],
)
def test_wrong_cu_seqlens_are_refused(cu_seqlens, message):
    with pytest.raises(ValueError, match=message):
        kda_chunked(*kda_operands(20, 2, 16, "initial")[:5], cu_seqlens=torch.tensor(cu_seqlens))


def test_packed_input_is_one_row():
    with pytest.raises(ValueError, match="but the batch has 2"):
        kda_chunked(*kda_operands(20, 2, 16, "initial", batch=2)[:5], cu_seqlens=torch.tensor([0, 20]))


def test_a_batch_is_sequences_of_one_length():
    assert sequence_bounds(3, 5, None) == [0, 5, 10, 15]
    assert sequence_bounds(1, 5, torch.tensor([0, 0, 5], dtype=torch.int32)) == [0, 0, 5]
