"""The golden losses: fifty steps of the smoke configuration on drawings, in one thread, with portable instructions.

    python tests/train/golden.py            # prints old against new, and writes the file

They change when what is computed changes, and then the commit says why.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

FILE = Path(__file__).parent / "golden" / "smoke.json"
SETTINGS = (
    "stages=[{stage: shapes, tokens: 51200, batch_tokens: 1024}]", "evaluation.every=0", "checkpoint.every=1000",
    "workers=1",
)  # fmt: skip


def losses(packed: str) -> list[float]:
    """Nats a token of each step, by the command itself in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "k3data.train", "train", "smoke", "--data", packed, "--out", folder, "-q"]
        for setting in SETTINGS:
            command += ["--set", setting]
        portable = {"OMP_NUM_THREADS": "1", "ATEN_CPU_CAPABILITY": "default", "MKL_CBWR": "COMPATIBLE"}
        subprocess.run([*command, "--device", "cpu"], check=True, env={**os.environ, **portable})
        rows = map(json.loads, (Path(folder) / "metrics.jsonl").read_text().splitlines())
        return [row["loss"] for row in rows if row["event"] == "step"]


def main() -> None:
    import torch
    from packing import make_packed

    with tempfile.TemporaryDirectory() as folder:
        new = losses(make_packed(Path(folder)))
    old = json.loads(FILE.read_text())["losses"] if FILE.exists() else []
    for step, loss in enumerate(new):
        before = old[step] if step < len(old) else None
        print(f"{step + 1:>3}  {loss!r:<22} {'' if before is None else f'{before!r:<22} {loss - before:+.2e}'}")
    FILE.parent.mkdir(exist_ok=True)
    FILE.write_text(json.dumps({"torch": torch.__version__, "losses": new}, indent=1) + "\n")


if __name__ == "__main__":
    main()
