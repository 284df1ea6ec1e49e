"""The verbs that need torch: train, generate, and the export of a run's weights.

    k3data train nano --data out/curriculum --out runs/nano
    torchrun --nproc-per-node 8 -m k3data.train train small --data s3://bucket/curriculum --out runs/small
    k3data generate runs/nano --image icon.png --prompt "Write the SVG that draws this picture."
    k3data train export runs/nano --to nano-model --dtype bf16

`k3data` hands these verbs on as they are, so that they are the same on machines that have torch and nothing else. Exit
codes: 0 done, 1 it failed, 2 the input is wrong, 130 stopped; the same command goes on.
"""

from __future__ import annotations

import argparse
import errno
import json
import sys
from collections.abc import Sequence
from pathlib import Path

DONE, FAILED, WRONG_INPUT, INTERRUPTED = 0, 1, 2, 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a verb and returns its exit code; what is wrong is one line."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    # `train export` is a verb of its own in the way people type it.
    if given[:2] == ["train", "export"]:
        given[:2] = ["export"]
    options = _parser().parse_args(given)
    from ..model.config import ConfigError
    from ..model.shards import ModelFileError
    from ..pipelines.errors import K3DataError
    from ..tokenizer.bpe import TokenizerError
    from .checkpoint import CheckpointError
    from .optim.guard import TooManySkips
    from .run_folder import RunFolderError

    try:
        return int(options.verb(options))
    except (ConfigError, ModelFileError, TokenizerError, RunFolderError) as error:
        return _told(error, WRONG_INPUT)
    except K3DataError as error:
        return _told(error, error.exit_code)
    except (TooManySkips, CheckpointError) as error:
        return _told(error, FAILED)
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EACCES, errno.EROFS):
            raise
        where = f"{error.filename}: " if error.filename else ""
        return _told(f"{where}{error.strerror}; the last checkpoint is intact", FAILED)
    except KeyboardInterrupt:
        return _told("interrupted; the same command goes on from the last checkpoint", INTERRUPTED)


def _told(message: object, code: int) -> int:
    print(f"k3data: {message}", file=sys.stderr)
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="k3data", description="Train K3 models and use them.")
    verbs = parser.add_subparsers(required=True, metavar="VERB")
    train = verbs.add_parser("train", help="train a model on packed stages; goes on where a run was stopped")
    train.add_argument("config", help="a YAML file, or the name of one that ships: smoke, nano, small, base")
    train.add_argument("--data", required=True, help="an output of a curriculum recipe; a path or a URL")
    train.add_argument("--out", required=True, type=Path, metavar="RUN", help="the folder of the run")
    train.add_argument("--set", action="append", default=[], metavar="A.B=VALUE", help="change the configuration")
    train.add_argument("--device", choices=["cpu", "cuda"], help="cuda where there is one")
    train.add_argument("--stop-after", type=int, metavar="STEPS", help="stop after so many more steps")
    train.add_argument("--plan", action="store_true", help="show what would be done, and do nothing")
    train.add_argument("--tensorboard", action="store_true", help="write the metrics for TensorBoard, too")
    train.add_argument("-q", "--quiet", action="store_true")
    train.set_defaults(verb=_train)
    generate = verbs.add_parser("generate", help="write on from a prompt and pictures")
    generate.add_argument("model", type=Path, help="a run, or a folder of a model")
    generate.add_argument("--prompt", default="", help="text, or the user's turn with --chat; - for standard input")
    generate.add_argument("--image", action="append", default=[], type=Path, help="a picture before the prompt")
    generate.add_argument("--chat", action="store_true", help="as a conversation in the chat template")
    generate.add_argument("--tokenizer", type=Path, help="where the model's folder has none beside it")
    generate.add_argument("--max-tokens", type=int, default=512)
    generate.add_argument("--temperature", type=float, default=0.0)
    generate.add_argument("--top-p", type=float, default=1.0)
    generate.add_argument("--top-k", type=int, default=0)
    generate.add_argument("--seed", type=int, default=0)
    generate.add_argument("--max-image-tokens", type=int, default=1024)
    generate.add_argument("--device", choices=["cpu", "cuda"])
    generate.add_argument("--json", action="store_true")
    generate.set_defaults(verb=_generate)
    export = verbs.add_parser("export", prog="k3data train export", help="write a run's weights as safetensors")
    export.add_argument("run", type=Path)
    export.add_argument("--to", required=True, type=Path)
    export.add_argument("--step", type=int, help="of a checkpoint; the newest unless given")
    export.add_argument("--dtype", choices=["fp32", "bf16"], default="fp32")
    export.set_defaults(verb=_export)
    return parser


def _train(options: argparse.Namespace) -> int:
    from . import parallel
    from .config import load_config
    from .loop import FINISHED, train
    from .plan import show_plan

    config = load_config(options.config, tuple(options.set))
    with parallel.started(options.device) as ranks:
        if options.plan:
            show_plan(config, options.data, ranks)
            return DONE
        end = train(
            config, options.data, options.out, ranks,
            quiet=options.quiet, stop_after=options.stop_after, tensorboard=options.tensorboard,
        )  # fmt: skip
    return DONE if end == FINISHED or options.stop_after is not None else INTERRUPTED


def _generate(options: argparse.Namespace) -> int:
    import torch

    from ..model.checkpoint import load_model
    from ..model.generate import Sampling, generate
    from ..tokenizer.bpe import Tokenizer
    from .prompting import build_prompt, said

    folder = options.model / "model" if (options.model / "model").is_dir() else options.model
    beside = [one for one in (folder.parent / "tokenizer", folder) if (one / "tokenizer.json").exists()]
    tokenizer = Tokenizer.load(options.tokenizer or (beside[0] if beside else folder))
    device = options.device or ("cuda" if torch.cuda.is_available() else "cpu")
    model = load_model(folder, device=device)
    text = sys.stdin.read() if options.prompt == "-" else options.prompt
    prompt = build_prompt(tokenizer, text, options.image, chat=options.chat, max_tokens=options.max_image_tokens)
    ends = (tokenizer.special["eos"], tokenizer.special["end_of_msg"])
    sampling = Sampling(
        max_tokens=options.max_tokens, temperature=options.temperature, top_k=options.top_k, top_p=options.top_p,
        stop=ends, seed=options.seed,
    )  # fmt: skip
    (written,) = generate(model, [prompt], sampling)
    answer = said(tokenizer, written.tokens) if options.chat else tokenizer.decode(written.tokens)
    if options.json:
        print(json.dumps({"text": answer, "tokens": written.tokens, "finish": written.finish}, ensure_ascii=False))
    else:
        print(answer)
    return DONE


def _export(options: argparse.Namespace) -> int:
    import torch

    from .export import export_run

    step = export_run(options.run, options.to, options.step, torch.bfloat16 if options.dtype == "bf16" else None)
    print(f"{options.to}: the weights of step {step:,} in {options.dtype}")
    return DONE


