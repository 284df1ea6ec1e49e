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
from PIL import Image, ImageColor


def test_no_two_drawings_are_the_same():
    assert [drawings(number) for number in (1, 2, 3, 4)] == [1_152, 82_944, 2_654_208, 31_850_496]
    for number, step in ((1, 1), (2, 7), (3, 977), (4, 9973)):
        places = range(0, drawings(number), step)
        assert len({drawing(number, place)[0] for place in places}) == len(places)


@pytest.mark.parametrize("total", [1, 2, 1_152, 82_944, 2_654_208])
def test_every_drawing_has_its_turn(total):
    turns = range(min(total, 5000))
    assert len({_scattered(index, total, 7) for index in turns}) == len(turns)


def test_captions_are_true_of_the_program():
    for place in random.Random(0).sample(range(drawings(2)), 50):
        text, caption = drawing(2, place)
        assert text.count("fill=") == 3
        ground, *shapes = caption.rstrip(".").split("; ")
        assert f'height="{SIDE}" fill="{ground.removeprefix("On ")}"' in text
        for said in shapes:
            size, colour, form, row, column = re.fullmatch(
                r"a (small|large) (\w+) (\w+) in row (\d), column (\d)", said.lower()
            ).groups()
            assert colour in COLOURS and form in FORMS and f'fill="{colour}"' in text
            x, y = (int(column) - 1) * 56 + 28, (int(row) - 1) * 56 + 28
            radius = {"small": 12, "large": 24}[size]
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
        ground = ImageColor.getrgb(caption.split(";")[0].removeprefix("On "))
        assert picture.getpixel((column * 56 + 28, row * 56 + 28)) != ground
        picture.paste(ground, (column * 56, row * 56, column * 56 + 56, row * 56 + 56))
        assert picture.getcolors() == [(SIDE * SIDE, ground)]


def test_more_than_there_are_is_refused(tmp_path):
    with pytest.raises(UserError, match="1,153 drawings of 1 shapes are asked for, and there are 1,152"):
        list(Shapes(shapes=[1], count=1153).plan(Context.__new__(Context), None))
    with pytest.raises(UserError, match="a drawing of 5 shapes"):
        list(Shapes(shapes=[5], count=1).plan(Context.__new__(Context), None))
    slices = list(Shapes(shapes=[2, 3], count=1000).plan(Context.__new__(Context), 300))
    assert [one.items for one in slices] == [300, 300, 300, 100]
