"""The gallery in a real browser: what it shows, how it is used, and that nothing in the data can act on it."""

from __future__ import annotations

import json
import re

import k3data
import pytest
from k3data.pipelines import gallery
from k3data.pipelines.errors import UserError
from k3data.pipelines.gallery import write_gallery
from k3data.tests.pipelines.samples import mixed, publish, record
from k3data.tests.visit import Visit

HOSTILE = "</script><img src=x onerror=alert(1)><svg/onload=alert(1)> {{script}} <!-- \u2028 &lt;"


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    root = tmp_path_factory.mktemp("out")
    hostile = record(97, "svg", text=HOSTILE)
    hostile.metadata["tasks"][0].update(name=f"x{HOSTILE}", prompt=HOSTILE, answer=HOSTILE)
    hostile.metadata["tasks"][1]["boxes"][0]["label"] = HOSTILE
    hostile.metadata["checks"][0]["reason"] = HOSTILE
    hostile.metadata["licence"]["attribution"] = HOSTILE
    broken = record(98, "svg", text="<svg>broken picture</svg>")
    broken.media[0].media_bytes = b"no picture at all"
    publish(root, [*mixed(60), hostile, broken])
    return root


@pytest.fixture(scope="module")
def path(out, tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "gallery.html"
    assert write_gallery(k3data.open(str(out)), path) == 62
    return path


@pytest.fixture
def visit(browser, path):
    visit = Visit(browser, path, viewport={"width": 1300, "height": 850})
    yield visit
    visit.page.close()
    assert visit.alarms == []


def test_every_kind_is_there_and_a_sample_shows_picture_program_and_tasks(visit):
    chips = visit.page.locator("#kinds button").all_inner_texts()
    assert chips == ["all62", "cad15", "svg17", "text15", "web15"]
    visit.seek("web-000054")
    assert visit.text(".place") == "1 / 1"
    assert "<h1>Hello 54</h1>" in visit.text(".read .code")
    assert visit.page.locator(".task .name").all_inner_texts() == ["caption", "grounding"]
    assert visit.page.evaluate("document.querySelector('.stage img').naturalWidth") == 60 + 54 % 7


def test_filters_narrow_and_can_be_cleared(visit):
    visit.page.click("#kinds button[value=cad]")
    visit.page.select_option("#task", "caption")
    assert visit.text("#count") == "8 of 62 samples match"
    visit.seek("nothing has these words")
    assert "Nothing matches" in visit.text("#sample")
    visit.page.click("text=Clear the filters")
    assert visit.text("#count") == "62 of the data set's 62 samples"


def test_keys_move_between_samples_pages_and_pictures(visit):
    press = visit.page.keyboard.press
    first = visit.text(".facts")
    press("ArrowRight")
    assert visit.text(".place") == "2 / 62" and visit.text(".facts") != first
    press("]")
    assert visit.text("#page") == "page 2 of 3" and visit.text(".place") == "25 / 62"
    press("[")
    press("[")
    assert visit.text(".place") == "1 / 62"
    visit.page.click("#kinds button[value=cad]")
    before = visit.page.get_attribute(".stage img", "src")
    press("3")
    assert visit.page.get_attribute(".stage img", "src") != before
    press("/")
    assert visit.page.evaluate("document.activeElement.id") == "search"


def test_boxes_lie_where_the_task_says_and_can_be_hidden(visit):
    visit.seek("svg-000056")
    picture = visit.page.locator(".stage img").bounding_box()
    edge = visit.page.locator("rect.edge").bounding_box()
    for side, size, place in (("x", "width", 0.25), ("y", "height", 0.25)):
        assert edge[side] - picture[side] == pytest.approx(place * picture[size], abs=2.5)
        assert edge[size] == pytest.approx(0.25 * picture[size], abs=4)
    assert visit.page.locator(".legend li").all_inner_texts() == ["1\ncircle"]
    visit.page.keyboard.press("b")
    assert visit.page.locator("rect").count() == 0
    visit.page.click(".toggle")
    assert visit.page.locator("rect.edge").count() == 1


def test_a_picture_opens_in_its_full_size(visit):
    visit.seek("svg-000056")
    visit.page.click("button.frame")
    assert visit.page.locator("dialog img").bounding_box()["width"] >= 60
    assert visit.page.locator("dialog rect.edge").count() == 1
    visit.page.keyboard.press("z")
    assert not visit.page.locator("dialog img").is_visible()


def test_a_box_in_another_picture_leads_there(visit):
    visit.seek("cad-000055")
    assert visit.page.locator("rect").count() == 0
    visit.page.click("text=in picture 3")
    assert visit.page.locator("rect.edge").count() == 1
    assert visit.page.get_attribute(".strip button:nth-child(3)", "aria-pressed") == "true"


def test_hostile_text_is_shown_as_text_and_does_nothing(visit):
    visit.seek("onerror")
    assert visit.text(".place") == "1 / 1"
    shown = visit.page.evaluate("document.querySelector('.read .code:last-of-type pre').textContent")
    assert shown == HOSTILE
    visit.page.click("summary")
    assert HOSTILE in visit.page.evaluate("document.querySelector('details').textContent")
    foreign = (
        "document.querySelectorAll('img:not([src^=\"data:image/webp\"]), script:not(#data):not(:last-of-type)').length"
    )
    assert visit.page.evaluate(foreign) == 0


def test_the_policy_stops_a_script_that_is_not_the_page_s_own(browser, path, tmp_path):
    page = path.read_text()
    assert "http" not in re.search(r'Security-Policy" content="([^"]*)', page)[1]
    injected = tmp_path / "injected.html"
    evil = '<script>document.title = "taken"</script><img src="https://example.invalid/x.png">'
    injected.write_text(page.replace("</body>", evil + "</body>"))
    visit = Visit(browser, injected)
    visit.page.wait_for_timeout(200)
    assert visit.page.title() != "taken"
    blocked = [alarm for alarm in visit.alarms if "Content Security Policy" in alarm]
    assert len(blocked) == 2, visit.alarms
    visit.page.close()


def test_what_a_text_was_written_from_stands_beside_it(browser, tmp_path):
    one = record(0, "text", text="In other words.")
    one.metadata["extra"] = json.dumps({"written_from": f"In these words. {HOSTILE}", "style": "plain"})
    publish(tmp_path, [one])
    write_gallery(k3data.open(str(tmp_path)), tmp_path / "page.html")
    visit = Visit(browser, tmp_path / "page.html")
    assert visit.text(".read .prose") == "In other words."
    assert visit.text(".look .prose").startswith("In these words. </script>")
    visit.page.click("summary")
    assert "written_from" not in visit.text(".look")
    assert '{"style":"plain"}' in visit.text(".look")
    visit.page.close()
    assert visit.alarms == []


def test_a_broken_picture_is_said_in_its_place(visit):
    visit.seek("broken picture")
    assert "cannot identify image file" in visit.text(".broken")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_shows_it_without_scrolling_sideways(browser, path, scheme):
    visit = Visit(browser, path, viewport={"width": 390, "height": 844}, color_scheme=scheme)
    assert visit.page.evaluate("document.documentElement.scrollWidth") <= 390
    shade = visit.page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (shade == "rgb(23, 22, 20)") == (scheme == "dark")
    visit.page.click("#theme")
    assert visit.page.evaluate("getComputedStyle(document.body).backgroundColor") != shade
    visit.page.close()
    assert visit.alarms == []


def test_a_limit_takes_some_of_every_kind_and_the_same_ones_each_time(out, tmp_path):
    dataset = k3data.open(str(out))
    pages = []
    for name in "ab":
        assert write_gallery(dataset, tmp_path / name, limit=8) == 8
        pages.append((tmp_path / name).read_text())
    assert pages[0] == pages[1]
    samples = json.loads(re.search(r'type="application/json">(.*?)</script>', pages[0], re.DOTALL)[1])["samples"]
    assert [sample["kind"] for sample in samples] == ["cad", "svg", "text", "web"] * 2
    write_gallery(dataset, tmp_path / "c", limit=8, seed=1)
    assert (tmp_path / "c").read_text() != pages[0]


def test_an_unknown_kind_is_refused_with_those_there_are(out, tmp_path):
    with pytest.raises(UserError, match="no samples of kind 'cda'; there are: cad, svg, text, web"):
        write_gallery(k3data.open(str(out)), tmp_path / "x.html", kind="cda")
    assert write_gallery(k3data.open(str(out)), tmp_path / "x.html", kind="cad") == 15


def test_an_empty_data_set_is_said_to_be_empty(tmp_path):
    publish(tmp_path, [])
    with pytest.raises(UserError, match="has no samples to show"):
        write_gallery(k3data.open(str(tmp_path)), tmp_path / "x.html")


def test_the_template_is_cut_once():
    page = gallery.render("{{data}}", [], 0)
    assert "<h1>{{data}}</h1>" in page
