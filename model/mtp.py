"""The extra layer that predicts one token more (K3 report, §4.1.4; the form is the one that serving code runs).

    h'_t = W [RMSNorm(e_{t+1}) ; RMSNorm(h_t)]  →  a layer of MLA and experts with plain residuals  →  RMSNorm

e is what the layers began with, h what came out of the last mix over depth, before the final norm. From h'_t the head,
which is the model's, predicts token t + 2. The last token of a group has no next one: its e is zero.

Letters: B batch, T tokens, D model width.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from .attention import Groups
from .config import ModelConfig
from .mla import GatedMLA
from .moe import LatentMoE
from .norm import RMSNorm


class NextNextToken(nn.Module):
    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        D, eps = config.d_model, config.norm_eps
        self.embedding_norm = RMSNorm(D, eps)
        self.hidden_norm = RMSNorm(D, eps)
        self.fuse_proj = nn.Linear(2 * D, D, bias=False)
        self.attention_norm = RMSNorm(D, eps)
        self.attention = GatedMLA(config)
        self.ffn_norm = RMSNorm(D, eps)
        self.ffn = LatentMoE(config)
        self.norm = RMSNorm(D, eps)
        nn.init.normal_(self.fuse_proj.weight, std=config.init_std)

    def forward(
        self, h_BTD: Tensor, embedded_BTD: Tensor, groups: Groups | Tensor | None = None, real_BT: Tensor | None = None
    ) -> Tensor:
        """Normed states that the head makes logits of token t + 2 of. `embedded_BTD` is not shifted yet."""
        groups = Groups.of(groups, *h_BTD.shape[:2])
        has_next_BT = groups.inner(h_BTD.device)
        next_BTD = embedded_BTD.roll(-1, dims=1).masked_fill(~has_next_BT[..., None], 0)
        x_BTD = self.fuse_proj(torch.cat([self.embedding_norm(next_BTD), self.hidden_norm(h_BTD)], dim=-1))
        x_BTD = x_BTD + self.attention(self.attention_norm(x_BTD), groups)
        return self.norm(x_BTD + self.ffn(self.ffn_norm(x_BTD), real_BT))
