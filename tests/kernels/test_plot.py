"""The picture of what the benchmark of kernels found."""

from __future__ import annotations

import json

import pytest
from k3data.model.bench.plot import bars, main, svg

FOUND = {
    "bench": "kernels",
    "machine": {"gpu": "NVIDIA <H200>"},
    "figures": {
        "16x4096_h16_d128_forward_ms": 2.0, "16x4096_h16_d128_inference_ms": 1.8, "16x4096_h16_d128_peak_gib": 4.0,
        "16x4096_h16_d128_forward_backward_ms": 5.0, "16x4096_h16_d128_one_thread_ms": 5.0,
        "experts_latent_forward_ms": 2.0, "mix_small_forward_ms": 1.0,
    },
    "peers": {
        "fla": {
            "16x4096_h16_d128_forward_ms": 3.0, "16x4096_h16_d128_inference_ms": 3.6,
            "16x4096_h16_d128_peak_gib": 9.0, "16x4096_h16_d128_forward_backward_ms": 15.0,
            "16x4096_h16_d128_one_thread_ms": 15.0,
        },
        "pytorch_compiled": {"experts_latent_forward_ms": 5.0, "norm_forward_ms": 1.0},
    },
}  # fmt: skip


def test_both_passes_and_a_forward_that_keeps_nothing_are_bars_where_the_peer_has_them():
    assert [(bar.what, bar.passes, bar.times) for bar in bars(FOUND, "fla")] == [
        ("16 × 4,096 tokens, 16 heads of 128", "both passes", 3.0),
        ("16 × 4,096 tokens, 16 heads of 128", "forward", 2.0),
    ]
    assert [(bar.what, bar.passes, bar.times) for bar in bars(FOUND, "pytorch_compiled")] == [
        ("experts latent", "forward", 2.5)
    ]
    drawn = svg(FOUND)
    assert "NVIDIA &lt;H200&gt;" in drawn and drawn.count(">3.00 <") == drawn.count(">2.50 <") == 1
    assert "(5 ms, 15)" in drawn


def test_nothing_to_draw_is_one_line(tmp_path, capsys):
    (tmp_path / "found.json").write_text(
        json.dumps({"figures": {"a_forward_ms": 1.0}, "peers": {"pytorch": {"a_forward_ms": 2.0}}})
    )
    assert main([str(tmp_path / "found.json"), "--to", str(tmp_path / "a.svg")]) == 2
    assert "no time here has a peer" in capsys.readouterr().err and not (tmp_path / "a.svg").exists()
    with pytest.raises(ValueError, match="no time"):
        svg({"figures": {}, "peers": {}})


def test_the_picture_is_written(tmp_path):
    (tmp_path / "found.json").write_text(json.dumps(FOUND))
    assert main([str(tmp_path / "found.json"), "--to", str(tmp_path / "a.svg")]) == 0
    assert (tmp_path / "a.svg").read_text().startswith("<svg")
