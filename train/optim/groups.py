"""Which optimiser each parameter has, which matrices it holds and whether it decays: one explicit table.

`RULES` names every parameter of every module by hand; one that no rule names, or two do, is an error, so that nothing
is trained by another optimiser than it says here. `describe` prints what came of a model, `digest` is kept by
checkpoints.

Muon by head: the K3 report (§2.5) splits W_q, W_k and W_v. The rows of the decay's and of the output gate's projection
belong to one head just as those of v do, so they are split too, as torchtitan does it. The first projections into
latents and those out of the heads mix all heads and are one matrix, and so are router and feed-forwards.

Weight decay: K3 has 0.1 throughout, and Moonlight found that norms gain from it too. Only A_log and dt_bias have none,
as in flash-linear-attention: zero is no special value of either.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from math import prod
from typing import Any, Literal

from torch import nn

from ...model.attn_res import AttentionResidual
from ...model.experts import Experts
from ...model.feed_forward import FeedForward
from ...model.kda.conv import ShortConvolution
from ...model.kda.layer import KimiDeltaAttention
from ...model.mla import GatedMLA
from ...model.moe import LatentMoE
from ...model.mtp import NextNextToken
from ...model.norm import RMSNorm
from ...model.router import Router
from ...model.transformer import K3Model
from ...model.vision.positions import PatchPositions
from ...model.vision.projector import Projector
from ...model.vision.vit import MoonViT, VisionBlock

Optimiser = Literal["muon", "adamw", "none"]
Blocks = Callable[[Any], tuple[int, ...]]
"""The pattern of rows (see `newton_schulz`) of a parameter, read from the module that it belongs to."""


@dataclass(frozen=True)
class Rule:
    owner: type[nn.Module]
    names: tuple[str, ...]
    """Of parameters, as seen from the owner."""
    optimiser: Optimiser
    blocks: Blocks | None = None
    """None for Muon: each matrix is one block."""
    decays: bool = True


@dataclass(frozen=True)
class Entry:
    """A parameter of a model and what is done with it."""

    name: str
    owner: str
    shape: tuple[int, ...]
    optimiser: Optimiser
    block_rows: tuple[int, ...]
    """Of Muon's matrices; empty for AdamW, which knows none."""
    weight_decay: float

    @property
    def matrices(self) -> list[tuple[int, int, int]]:
        """Number, rows and columns of its logical matrices, by kind."""
        if not self.block_rows:
            return []
        count = prod(self.shape[:-1]) // sum(self.block_rows)
        return [(count, height, self.shape[-1]) for height in self.block_rows]


def _linears(*names: str) -> tuple[str, ...]:
    return tuple(f"{name}.weight" for name in names)


def _kda_head(layer: KimiDeltaAttention) -> tuple[int, ...]:
    return (layer.config.head_dim,)


def _mla_query(layer: GatedMLA) -> tuple[int, ...]:
    return (layer.config.qk_dim,)


def _mla_key_value(layer: GatedMLA) -> tuple[int, ...]:
    """A head's keys and its values are two matrices, though they lie together."""
    return (layer.config.qk_nope_dim, layer.config.v_dim)


def _mla_gate(layer: GatedMLA) -> tuple[int, ...]:
    return (layer.config.v_dim,)


RULES = (
    Rule(KimiDeltaAttention, _linears("q_proj", "k_proj", "v_proj", "decay_up", "gate_proj"), "muon", _kda_head),
    Rule(KimiDeltaAttention, _linears("decay_down", "o_proj"), "muon"),
    Rule(KimiDeltaAttention, _linears("beta_proj"), "adamw"),
    Rule(KimiDeltaAttention, ("A_log", "dt_bias"), "adamw", decays=False),
    Rule(ShortConvolution, ("weight",), "adamw"),
    Rule(GatedMLA, _linears("q_up"), "muon", _mla_query),
    Rule(GatedMLA, _linears("kv_up"), "muon", _mla_key_value),
    Rule(GatedMLA, _linears("gate_proj"), "muon", _mla_gate),
    Rule(GatedMLA, _linears("q_down", "kv_down", "o_proj"), "muon"),
    Rule(FeedForward, _linears("gate_proj", "up_proj", "down_proj"), "muon"),
    Rule(LatentMoE, _linears("down_proj", "up_proj"), "muon"),
    Rule(Router, ("weight",), "muon"),
    Rule(Experts, ("gate_EIL", "up_EIL", "down_ELI"), "muon"),
    Rule(NextNextToken, _linears("fuse_proj"), "muon"),
    Rule(K3Model, _linears("embedding", "head"), "adamw"),
    Rule(RMSNorm, ("weight",), "adamw"),
    Rule(AttentionResidual, ("query", "norm_weight"), "adamw"),
    # K3 says nothing of how its tower is trained.
    Rule(MoonViT, ("patch_weight",), "adamw"),
    Rule(PatchPositions, ("table",), "adamw"),
    Rule(VisionBlock, _linears("qkv_proj", "o_proj", "mlp_up", "mlp_down"), "adamw"),
    Rule(Projector, _linears("in_proj", "out_proj"), "adamw"),
)

IDLE = ("layers.0.attention_mix.query", "layers.0.attention_mix.norm_weight")
"""What no gradient reaches, and no optimiser has: the first mix of all has one source (see `ResidualStream`)."""


def parameter_table(model: nn.Module, weight_decay: float = 0.1) -> list[Entry]:
    """An entry for each parameter, in the order of the model, which may be on the meta device, or sharded.

    Raises ValueError for a parameter that no rule names, or more than one.
    """
    table = []
    for name, parameter in model.named_parameters():
        found = _rules_of(model, name)
        if len(found) != 1:
            owners = ", ".join(rule.owner.__name__ for rule, _ in found)
            problem = f"{len(found)} rules of the optimisers' table ({owners})" if found else "no rule"
            raise ValueError(f"parameter {name} {list(parameter.shape)} falls under {problem}, and must under one")
        rule, owner = found[0]
        optimiser: Optimiser = "none" if name in IDLE else rule.optimiser
        pattern: tuple[int, ...] = ()
        if optimiser == "muon":
            pattern = rule.blocks(owner) if rule.blocks else (parameter.shape[-2],)
        decay = weight_decay if rule.decays and optimiser != "none" else 0.0
        table.append(Entry(name, rule.owner.__name__, tuple(parameter.shape), optimiser, pattern, decay))
    return table


def digest(table: Sequence[Entry]) -> str:
    """Of all that the table says; the order does not matter."""
    lines = sorted(json.dumps(asdict(entry), sort_keys=True) for entry in table)
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def describe(table: Sequence[Entry]) -> str:
    """The table for people: a line for all parameters that are alike but for numbers in their names, and the sums."""
    alike: dict[tuple[Any, ...], list[Entry]] = {}
    for entry in table:
        pattern = entry.name if entry.name in IDLE else re.sub(r"(?<=\.)\d+(?=\.)", "*", entry.name)
        key = (entry.owner, pattern, entry.shape, entry.optimiser, entry.block_rows, entry.weight_decay)
        alike.setdefault(key, []).append(entry)
    lines = [("part", "parameter", "tensors", "shape", "matrices of each", "optimiser", "decay")]
    for (owner, pattern, shape, optimiser, _, decay), entries in alike.items():
        matrices = " + ".join(f"{count} of {height} x {width}" for count, height, width in entries[0].matrices)
        size = " x ".join(map(str, shape))
        lines.append((owner, pattern, str(len(entries)), size, matrices or "-", optimiser, f"{decay:g}"))
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    text = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines]
    return "\n".join([*text, *_sums(table)]) + "\n"


def _rules_of(model: nn.Module, name: str) -> list[tuple[Rule, nn.Module]]:
    """Every rule that names the parameter, with the module that the rule is about."""
    parts = name.split(".")
    found = []
    for cut in range(len(parts)):
        owner = model.get_submodule(".".join(parts[:cut]))
        below = ".".join(parts[cut:])
        found += [(rule, owner) for rule in RULES if isinstance(owner, rule.owner) and below in rule.names]
    return found


def _sums(table: Sequence[Entry]) -> list[str]:
    lines = []
    for optimiser in ("muon", "adamw", "none"):
        entries = [entry for entry in table if entry.optimiser == optimiser]
        if not entries:
            continue
        matrices = sum(count for entry in entries for count, _, _ in entry.matrices)
        held = f", {matrices:,} matrices" if matrices else ""
        numbers = sum(prod(entry.shape) for entry in entries)
        lines.append(f"{optimiser}: {len(entries):,} tensors{held}, {numbers:,} parameters")
    return lines
