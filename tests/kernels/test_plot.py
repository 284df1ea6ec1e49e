"""The picture of what the benchmark of kernels found."""

from __future__ import annotations

import json

import pytest
from k3data.model.bench.plot import bars, main, svg

FOUND = {
    "bench": "kernels",
    "machine": {"gpu": "NVIDIA <H200>"},
    "figures": {
        "16x4096_h16_d128_forward_ms": 1.8, "16x4096_h16_d128_peak_gib": 4.0, "experts_latent_forward_backward_ms": 2.0,
    },
    "peers": {
        "fla": {"16x4096_h16_d128_forward_ms": 3.6, "16x4096_h16_d128_peak_gib": 9.0},
        "pytorch_compiled": {"experts_latent_forward_backward_ms": 5.0, "norm_forward_ms": 1.0},
    },
}  # fmt: skip


def test_every_time_that_a_peer_has_is_a_bar():
    assert [(bar.what, bar.peer, bar.times) for bar in bars(FOUND)] == [
        ("16x4096 h16 d128 forward", "fla", 2.0), ("experts latent forward backward", "pytorch_compiled", 2.5),
    ]  # fmt: skip
    drawn = svg(FOUND)
    assert "NVIDIA &lt;H200&gt;" in drawn and drawn.count(">2.00<") == drawn.count(">2.50<") == 1


def test_nothing_to_draw_is_one_line(tmp_path, capsys):
    (tmp_path / "found.json").write_text(json.dumps({"figures": {"a_ms": 1.0}, "peers": {"pytorch": {"a_ms": 2.0}}}))
    assert main([str(tmp_path / "found.json"), "--to", str(tmp_path / "a.svg")]) == 2
    assert "no time here has a peer" in capsys.readouterr().err and not (tmp_path / "a.svg").exists()
    with pytest.raises(ValueError, match="no time"):
        svg({"figures": {}, "peers": {}})


def test_the_picture_is_written(tmp_path):
    (tmp_path / "found.json").write_text(json.dumps(FOUND))
    assert main([str(tmp_path / "found.json"), "--to", str(tmp_path / "a.svg")]) == 0
    assert (tmp_path / "a.svg").read_text().startswith("<svg")
