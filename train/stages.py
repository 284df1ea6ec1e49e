"""The packed stages that a run reads, opened together, and refused together when they do not fit each other."""

from __future__ import annotations

from ..curriculum.reader import PackedReader
from ..model.config import ConfigError
from .config import TrainConfig
from .data import StageData
from .parallel import Ranks


def open_stages(config: TrainConfig, data: str, ranks: Ranks) -> list[StageData]:
    """One for each stage of the configuration, in its order.

    Raises ConfigError when stages were packed with different tokenizers or image preprocessing than each other or than
    the model's patches, and UserError when one is not there or not complete.
    """
    stages = [
        StageData(
            one, PackedReader.open(data, one.stage), seed=config.seed, rank=ranks.rank, world=ranks.world,
            threads=config.workers,
        )
        for one in config.stages
    ]  # fmt: skip
    first = stages[0].reader.about
    for stage in stages:
        about = stage.reader.about
        if about["tokenizer"]["digest"] != first["tokenizer"]["digest"]:
            raise ConfigError(
                f"stages {stages[0].config.stage} and {stage.config.stage} were packed with different tokenizers"
            )
        if about["images"]["max_tokens"] != first["images"]["max_tokens"]:
            raise ConfigError(
                f"stages {stages[0].config.stage} and {stage.config.stage} were packed for different image "
                f"preprocessing: max_tokens is {first['images']['max_tokens']} and {about['images']['max_tokens']}"
            )
        vision = config.model.vision
        if vision and (about["images"]["patch"], about["images"]["token_pixels"]) != (
            vision.patch, vision.patch * vision.merge
        ):  # fmt: skip
            raise ConfigError(
                f"stage {stage.config.stage} was packed for patches of {about['images']['patch']} pixels and tokens of "
                f"{about['images']['token_pixels']}, but the model has {vision.patch} and {vision.patch * vision.merge}"
            )
    return stages
