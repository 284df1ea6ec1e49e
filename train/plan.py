"""What a run would do, before it does it: stages, steps, tokens, learning rates, memory."""

from __future__ import annotations

from ..model.counts import count_parameters
from .config import TrainConfig, with_vocabulary
from .memory import check_memory, estimate
from .optim.schedule import CosinePlan, learning_rate
from .parallel import Ranks
from .stages import open_stages


def show_plan(config: TrainConfig, data: str, ranks: Ranks) -> None:
    """Prints it, on the first rank. Raises as `train` does for what would be refused."""
    stages = open_stages(config, data, ranks)
    config = with_vocabulary(config, stages[0].reader.about["tokenizer"]["vocab_size"])
    check_memory(config, stages, ranks)
    if not ranks.first:
        return
    counts, options = count_parameters(config.model), config.optimiser
    total = sum(stage.steps * stage.config.batch_tokens for stage in stages)
    plan = CosinePlan(options.learning_rate, total, options.warmup_fraction, options.final_fraction)
    print(f"{config.name}: {counts.everything / 1e6:.1f}M parameters, {counts.active / 1e6:.1f}M active a token")
    heads = f"{'stage':<10}{'window':>10}{'steps':>8}{'tokens':>14}{'epochs':>8}"
    print(f"{heads}{'rate from':>11}{'to':>10}{'GiB a rank':>12}")
    seen = 0
    for stage in stages:
        tokens = stage.steps * stage.config.batch_tokens
        memory = estimate(config, stage.reader.window * stage.config.micro_sequences, ranks.world) / 2**30
        epochs = tokens / (len(stage.reader) * stage.reader.window)
        rates = [learning_rate(plan, at) for at in (seen + stage.config.batch_tokens / 2, seen + tokens)]
        print(
            f"{stage.config.stage:<10}{stage.reader.window:>10,}{stage.steps:>8,}{tokens:>14,}{epochs:>8.2f}"
            f"{rates[0]:>11.2e}{rates[1]:>10.2e}{memory:>12.1f}"
        )
        seen += tokens
