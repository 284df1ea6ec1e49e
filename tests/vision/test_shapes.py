"""The closed grammar of drawings: each once, all of them drawable, the words true of the picture."""

from __future__ import annotations

import io
import random
import re

import pytest
from k3data.pipelines.errors import UserError
from k3data.pipelines.stage import Context
from k3data.vision.shapes import COLOURS, FORMS, SIDE, Shapes, _scattered, drawing, drawings
from k3data.vision.svg import SvgRenderer
from k3data.vision.types import RenderSpec
from PIL import Image


def test_one_shape_makes_768_different_drawings_and_two_276480():
    assert drawings(1) == len({drawing(1, place)[0] for place in range(drawings(1))}) == 768
    assert drawings(2) == 276_480
    assert len({drawing(2, place)[0] for place in range(0, drawings(2), 17)}) == len(range(0, drawings(2), 17))


@pytest.mark.parametrize("total", [1, 2, 768, 276_480])
def test_every_drawing_has_its_turn(total):
    turns = range(min(total, 5000))
    assert len({_scattered(index, total, 7) for index in turns}) == len(turns)


def test_captions_are_true_of_the_program():
    for place in random.Random(0).sample(range(drawings(2)), 50):
        text, caption = drawing(2, place)
        assert text.count("fill=") == 2
        for said in caption.rstrip(".").split("; "):
            size, colour, form, row, column = re.fullmatch(
                r"a (small|large) (\w+) (\w+) in row (\d), column (\d)", said.lower()
            ).groups()
            assert colour in COLOURS and form in FORMS and f'fill="{colour}"' in text
            x, y = (int(column) - 1) * 28 + 14, (int(row) - 1) * 28 + 14
            radius = {"small": 7, "large": 12}[size]
            corner = {"circle": f'cx="{x}" cy="{y}" r="{radius}"', "square": f'x="{x - radius}" y="{y - radius}"'}
            assert corner.get(form, f"{x},{y - radius}") in text


def test_pictures_show_the_shape_in_its_cell():
    renderer = SvgRenderer()
    for place in random.Random(1).sample(range(drawings(1)), 12):
        text, caption = drawing(1, place)
        outcome = renderer.render(text, RenderSpec(SIDE, SIDE, trusted=True))
        picture = Image.open(io.BytesIO(outcome.images[0].png)).convert("RGB")
        assert picture.size == (SIDE, SIDE)
        row, column = (int(number) - 1 for number in re.findall(r"\d", caption))
        inside = picture.crop((column * 28, row * 28, column * 28 + 28, row * 28 + 28))
        assert inside.getpixel((14, 14)) != (255, 255, 255)
        picture.paste("white", (column * 28, row * 28, column * 28 + 28, row * 28 + 28))
        assert picture.getextrema() == ((255, 255),) * 3


def test_more_than_there_are_is_refused(tmp_path):
    with pytest.raises(UserError, match="769 drawings of 1 shapes are asked for, and there are 768"):
        list(Shapes(count=769).plan(Context.__new__(Context), None))
    with pytest.raises(UserError, match="a drawing of 17 shapes"):
        list(Shapes(shapes=[17], count=1).plan(Context.__new__(Context), None))
    slices = list(Shapes(shapes=[1, 2], count=1000).plan(Context.__new__(Context), 300))
    assert [one.items for one in slices] == [300, 300, 300, 100]
