"""Two ranks, one of which has no picture: both must get through a step, to the gradients of one process.

Then again with compiled pieces, which run inside what is gathered.
"""

from __future__ import annotations

import torch
from k3data.model.attention import Groups
from k3data.model.compiled import compile_blocks
from k3data.model.config import preset
from k3data.model.transformer import K3Model
from k3data.model.vision.preprocess import preprocess_image
from k3data.train import parallel
from k3data.train.optim.sharding import whole
from PIL import Image

SMOKE = preset("smoke")


def main() -> None:
    torch.set_num_threads(1)
    image = preprocess_image(Image.new("RGB", (56, 28), "red"))
    tokens = torch.randint(0, 200, (2, 40), generator=torch.Generator().manual_seed(0))
    tokens[0, 5 : 5 + image.tokens] = SMOKE.media_pad_id
    weights = torch.ones(2, 40)
    with parallel.started("cpu") as ranks:
        torch.manual_seed(0)
        alone = K3Model(SMOKE)
        alone.loss(tokens, weights, images=[image]).next_token.total.backward()
        expected = {name: parameter.grad for name, parameter in alone.named_parameters()}
        torch.manual_seed(0)
        model = K3Model(SMOKE)
        parallel.shard(model, ranks, "fp32")
        mine = slice(ranks.rank, ranks.rank + 1)
        for attempt in range(3):  # twice, as what is gathered wrongly shows at the second step
            if attempt == 2:
                compile_blocks(model, "aot_eager")
            model.zero_grad()
            images = [image] if ranks.first else []
            loss = model.loss(tokens[mine], weights[mine], images=images, groups=Groups(1, 40, None)).next_token.total
            (loss * ranks.world).backward()
        for name, parameter in model.named_parameters():
            if expected[name] is None:
                assert parameter.grad is None, name
                continue
            torch.testing.assert_close(whole(parameter.grad), expected[name], rtol=1e-4, atol=1e-4, msg=name)
        print(f"rank {ranks.rank} is right", flush=True)


if __name__ == "__main__":
    main()
