"""Kimi K3, whole: embedding and pictures, layers of KDA or MLA and of experts under attention residuals, head and loss.

    model = K3Model(preset("nano"))
    loss = model.loss(tokens_BT, weights_BT, images=[preprocess_image(picture)])
    logits_BTV = model.head(model(tokens_BT))

A layer reads a mix over depth, attends, reads another mix and goes through its feed-forward (K3 report, §2.1; the
schedule is `ResidualStream`'s). Features of pictures take the places of `media_pad` tokens; from there on they are
tokens like all others, under the same causal attention.

Letters: B batch, T tokens, D model width, V words, N = B·T.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from .attention import Groups
from .attn_res import AttentionResidual, ResidualStream, TwoPhaseStream, block_mixes
from .cache import HybridCache
from .config import ConfigError, ModelConfig
from .feed_forward import FeedForward
from .inputs import Batch, check_tokens, joined, place_features
from .kda.cache import KDACache
from .kda.inputs import to_device
from .kda.layer import KimiDeltaAttention
from .loss import OfChunk, Targets, TokenLoss, cross_entropy
from .mla import GatedMLA
from .mla_cache import MLACache
from .moe import LatentMoE
from .mtp import NextNextToken
from .norm import RMSNorm
from .operators import HasKernels, Kernels, use_kernels
from .quantile_balancing import QuantileBalancer
from .vision.preprocess import Grid, Patches
from .vision.projector import VisionEncoder


class Losses(NamedTuple):
    """Of the next token, and of the one after it where the model has an extra layer for that."""

    next_token: TokenLoss
    next_next_token: TokenLoss | None


class Layer(HasKernels):
    """Attention and feed-forward, each with its norm and its mix over depth."""

    def __init__(self, config: ModelConfig, number: int) -> None:
        super().__init__()
        D, eps = config.d_model, config.norm_eps
        betas = (config.situ_beta_gate, config.situ_beta_up)
        self.opens_block = number % config.attn_res_block == 0
        self.recompute = False
        self.attention_mix = AttentionResidual(D, eps)
        self.attention_norm = RMSNorm(D, eps)
        self.attention: KimiDeltaAttention | GatedMLA
        self.attention = GatedMLA(config) if config.is_mla(number) else KimiDeltaAttention(config)
        self.ffn_mix = AttentionResidual(D, eps)
        self.ffn_norm = RMSNorm(D, eps)
        self.ffn: LatentMoE | FeedForward
        self.ffn = LatentMoE(config) if config.is_moe(number) else FeedForward(D, config.dense_inner, *betas)

    def forward(
        self, stream: ResidualStream, groups: Groups, cache: KDACache | MLACache | None, real_BT: Tensor | None
    ) -> None:
        """Adds both sublayers to the stream; see `K3Model.forward` for the rest."""
        x_BTD = self._read(stream, self.attention_mix, self.attention_norm)
        if self.opens_block:
            stream.close_block()
        stream.add(self._run(self.attention, x_BTD, groups, cache))
        x_BTD = self._read(stream, self.ffn_mix, self.ffn_norm)
        stream.add(self._run(self.ffn, x_BTD, *([real_BT] if isinstance(self.ffn, LatentMoE) else [])))

    def mixed(
        self, mix: AttentionResidual, norm: RMSNorm, partial_BTD: Tensor, added_BTD: Tensor | None, *blocks: Tensor
    ) -> tuple[Tensor, Tensor]:
        """The running sum with what was added last, and the norm of the mix over depth."""
        if added_BTD is not None:
            partial_BTD = partial_BTD + added_BTD
        return partial_BTD, norm(mix([*blocks, partial_BTD]) if blocks else partial_BTD)

    def _read(self, stream: ResidualStream, mix: AttentionResidual, norm: RMSNorm) -> Tensor:
        if stream.partial is None:
            stream.settle()
        if isinstance(stream, TwoPhaseStream) or stream.partial is None:
            return norm(stream.read(mix))
        if self.kernels == "triton":
            from .kernels import fused

            weights = (mix.query, mix.norm_weight, mix.eps, norm.weight, norm.eps)
            partial_BTD, x_BTD, blocks = self._run(
                fused.chained_mix, *weights, stream.partial, stream.added, *stream.blocks
            )
            stream.blocks = list(blocks)
        else:
            partial_BTD, x_BTD = self._run(self.mixed, mix, norm, stream.partial, stream.added, *stream.blocks)
        if stream.added is not None:
            stream.partial, stream.added = partial_BTD, None
        return x_BTD

    def _run(self, piece, *inputs):  # type: ignore[no-untyped-def]
        if self.recompute and torch.is_grad_enabled():
            # Nothing here draws random numbers, whose state would be kept otherwise.
            return checkpoint(piece, *inputs, use_reentrant=False, preserve_rng_state=False)
        return piece(*inputs)


class K3Model(HasKernels):
    def __init__(self, config: ModelConfig) -> None:
        """Freshly initialised: matrices normal with `config.init_std`, parts as they say themselves."""
        super().__init__()
        self.config = config
        D, eps = config.d_model, config.norm_eps
        self.embedding = nn.Embedding(config.vocab_size, D)
        self.vision = VisionEncoder(config) if config.vision else None
        self.layers = nn.ModuleList(Layer(config, number) for number in range(config.layers))
        self.output_mix = AttentionResidual(D, eps)
        self.norm = RMSNorm(D, eps)
        self.head = nn.Linear(D, config.vocab_size, bias=False)
        self.mtp = NextNextToken(config) if config.mtp_layers else None
        for matrix in (self.embedding, self.head):
            nn.init.normal_(matrix.weight, std=config.init_std)
        self.of_chunk: OfChunk | None = None

    def forward(
        self, tokens_BT: Tensor, *, images: Sequence[Patches] = (), groups: Groups | Tensor | None = None,
        cache: HybridCache | None = None, real_BT: Tensor | None = None,
    ) -> Tensor:  # fmt: skip
        """The normed states h_BTD that `head` makes logits of.

        Args:
            tokens_BT: int64.
            images: the pictures and clips of all rows, in the order of their places.
            groups: for packed input (B = 1), `cu_seqlens` or a `Groups` made of it: where each sequence begins, and T.
            cache: the sequences (groups, or rows) go on from it, and it is brought up to date. No gradients then.
            real_BT: bool, false for padding, which the balancing of experts must not count.

        Raises:
            ValueError: a token that is no word; more or fewer places than features of pictures; a cache of another
                configuration or for another number of sequences; bounds that do not end at T.
        """
        return self.norm(self.states(self.embed(tokens_BT, images), groups, cache, real_BT))

    def logits(
        self, tokens_BT: Tensor, *, images: Sequence[Patches] = (), groups: Groups | Tensor | None = None,
        cache: HybridCache | None = None, at_N: Tensor | None = None,
    ) -> Tensor:  # fmt: skip
        """[N, V] of the tokens numbered `at_N` among all B·T, or of all of them; see `forward` for the rest."""
        h_ND = self(tokens_BT, images=images, groups=groups, cache=cache).flatten(0, 1)
        return self.head(h_ND if at_N is None else h_ND[at_N])

    def embed(self, tokens_BT: Tensor, images: Sequence[Patches] = ()) -> Tensor:
        """x_BTD that the layers begin with. Raises ValueError for tokens and pictures as `forward` does."""
        _refuse_autocast(self.embedding.weight.device)
        check_tokens(tokens_BT, images, self.config)
        device = self.embedding.weight.device
        return self._embedded(to_device(tokens_BT, device), joined(images, device), [one.grid for one in images])

    def states(
        self, x_BTD: Tensor, groups: Groups | Tensor | None = None, cache: HybridCache | None = None,
        real_BT: Tensor | None = None,
    ) -> Tensor:  # fmt: skip
        """The layers alone: the last mix over depth, before the final norm."""
        groups = Groups.of(groups, *x_BTD.shape[:2])
        if cache is None:
            stream = ResidualStream(x_BTD)
            caches: Sequence[KDACache | MLACache | None] = [None] * len(self.layers)
        else:
            cache.check(self.config, groups.sequences)
            stream = TwoPhaseStream(x_BTD, self._schedule())
            caches = cache.layers
        for layer, layer_cache in zip(self.layers, caches, strict=True):
            layer(stream, groups, layer_cache, real_BT)
        return stream.read(self.output_mix)

    def loss(
        self, tokens_BT: Tensor, weights_BT: Tensor, *, images: Sequence[Patches] = (),
        groups: Groups | Tensor | None = None, real_BT: Tensor | None = None, z_loss: float = 0.0,
    ) -> Losses:  # fmt: skip
        """Sums of cross-entropies: `weights_BT[b, t]` is the weight of predicting token t + 1 at t.

        It must be 0 at the last position of every row and group. Raises ValueError when it is not for a row, and as
        `forward` does.
        """
        return self._losses(
            Batch.of(
                self.config, tokens_BT, weights_BT, self.embedding.weight.device,
                images=images, groups=groups, real_BT=real_BT,
            ), z_loss,
        )  # fmt: skip

    def loss_of(self, batch: Batch, z_loss: float = 0.0) -> Losses:
        """The same of a batch that was made ready before; waits for nothing."""
        return self._losses(batch, z_loss)

    def balancers(self) -> list[QuantileBalancer]:
        """Those of all mixtures of experts, in the order of the layers; for `quantile_balancing.balance`."""
        return [module for module in self.modules() if isinstance(module, QuantileBalancer)]

    def check_kernels(self) -> None:
        from .kernels.fused.mix_op import MOST_SOURCES

        sources = -(-self.config.layers // self.config.attn_res_block) + 1
        if sources > MOST_SOURCES:
            raise ConfigError(f"kernels: triton mixes at most {MOST_SOURCES} sources over depth, not {sources}")

    def use_kernels(self, kernels: Kernels) -> None:
        """As the function of that name says; the loss, too, is by the kernels then."""
        use_kernels(self, kernels)
        self.of_chunk = None
        if kernels == "triton":
            from .kernels.cross_entropy import of_chunk

            self.of_chunk = of_chunk

    def recompute(self, on: bool = True) -> None:
        """Keep nothing of a sublayer's forward but its input, and run it again in the backward."""
        for module in self.modules():
            if isinstance(module, Layer):
                module.recompute = on

    def _losses(self, batch: Batch, z_loss: float) -> Losses:
        _refuse_autocast(batch.tokens_BT.device)
        embedded_BTD = self._embedded(batch.tokens_BT, batch.pixels_PCSS, batch.grids)
        h_BTD = self.states(embedded_BTD, batch.groups, None, batch.real_BT)
        next_token = self._cross_entropy(self.norm(h_BTD), batch.next_token, z_loss)
        if self.mtp is None or batch.next_next_token is None:
            return Losses(next_token, None)
        ahead_BTD = self.mtp(h_BTD, embedded_BTD, batch.groups, batch.real_BT)
        return Losses(next_token, self._cross_entropy(ahead_BTD, batch.next_next_token, z_loss))

    def _cross_entropy(self, h_BTD: Tensor, targets: Targets, z_loss: float) -> TokenLoss:
        head_VD = self.head.weight.to(h_BTD.dtype)
        return cross_entropy(h_BTD.flatten(0, 1), head_VD, targets, z_loss=z_loss, of_chunk=self.of_chunk)

    def _embedded(self, tokens_BT: Tensor, pixels_PCSS: Tensor | None, grids: Sequence[Grid]) -> Tensor:
        x_BTD = self.embedding(tokens_BT)
        if self.vision is None:
            return x_BTD
        if pixels_PCSS is not None:
            features_FD = self.vision(pixels_PCSS, grids)
            return place_features(x_BTD, tokens_BT == self.config.media_pad_id, features_FD)
        if self.training and torch.is_grad_enabled():
            # The tower takes part in every training step, or ranks without a picture would leave the others waiting.
            return x_BTD + 0 * self.vision(*_blank(self.config, x_BTD.device)).sum().to(x_BTD.dtype)
        return x_BTD

    def _schedule(self) -> list[list[AttentionResidual]]:
        layers: list[Layer] = list(self.layers)  # type: ignore[arg-type]
        return block_mixes(
            [layer.attention_mix for layer in layers], [layer.ffn_mix for layer in layers],
            self.output_mix, self.config.attn_res_block,
        )  # fmt: skip


def _refuse_autocast(device: torch.device) -> None:
    if torch.is_autocast_enabled(device.type):
        raise RuntimeError(
            "K3Model does not run under autocast, which would halve what must stay fp32; "
            "cast the model (model.bfloat16()), or train it under FSDP's mixed precision"
        )


def _blank(config: ModelConfig, device: torch.device) -> tuple[Tensor, list[tuple[int, int, int]]]:
    """The patches of the smallest picture, and its grid."""
    assert config.vision is not None
    side, merge = config.vision.patch, config.vision.merge
    return torch.zeros(merge**2, 3, side, side, device=device), [(1, merge, merge)]
