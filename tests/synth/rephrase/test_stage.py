"""The stages in runs: a real server that rewrites well and badly, a second run without it, other rules, the mixture,
the report; and what is wrong with a recipe, told before a call is made."""

from __future__ import annotations

import json
import random
import shutil
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import k3data
import orjson
import pytest
from k3data.pipelines import recipe as recipes
from k3data.pipelines.errors import K3DataError, UserError
from k3data.pipelines.look import plan_facts, rejects_relation
from k3data.pipelines.run import Options
from k3data.pipelines.run import run as run_recipe
from k3data.pipelines.screen import Quiet
from k3data.pipelines.stage import Context
from k3data.pipelines.verify import verify
from k3data.synth.chat.store import Calls
from k3data.synth.rephrase import prompts, report
from k3data.synth.rephrase.judge import JudgeAgain
from k3data.synth.rephrase.rows import codes_of, rewrite_of
from k3data.synth.verify.edits import rewritten
from k3data.tests.pipelines.toy import tar_bytes
from k3data.tests.synth.chat import server as servers
from k3data.tests.visit import Visit

SUBJECTS = ("planner", "writer", "cleaner", "scanner", "loader", "checker", "keeper", "reader", "sender", "merger")
FACTS = (
    "The {0} reads {1} pages of the table before it chooses one of the plans that answer a query. ",
    "Every {2} minutes the {0} writes the pages that were changed, because a crash would lose them. ",
    "If more than {1} rows were added since the last run, the statistics of the table are gathered again. ",
    "Its settings are stored in the file of the cluster, and a user can change them for one session only. ",
    "The {0} provides information about {2} kinds of errors, for example about pages that are not readable. ",
)
AGAIN = "Once more. "
COUNT = 16
RECIPE = """
name: rewriting
seed: 3
jobs:
  - name: documents
    source: [{{jsonl: {{glob: items.jsonl, licence: MIT, domain: knowledge}}}}]
    units: {{items: 4}}
  - name: rewritten
    source: [{{dataset: {{job: documents}}}}]
    stages: [{{synth.rephrase: {rephrase}}}]
    units: {{items: 4}}
  - name: accepted
    source: [{{dataset: {{job: rewritten}}}}]
    stages: [{{synth.judge: {judge}}}]
  - name: mixed
    source: [{{synth.mix: {{originals: documents, rewrites: accepted, share: {share}, written: rewritten}}}}]
"""
SHORT = """
name: rewriting
seed: 3
jobs:
  - name: rewritten
    source: [{{jsonl: {{glob: items.jsonl, licence: MIT, domain: knowledge}}}}]
    stages: [{{synth.rephrase: {rephrase}}}]
    units: {{items: 4}}
"""
REPHRASE = {
    "styles": {"encyclopedic": 2, "expert_memo": 1}, "chunk_tokens": 64, "rules": {"all": {"copied": None}},
    "rewrites": 2, "at_once": 8,
}  # fmt: skip
PRICE = {"usd_in": 1.0, "usd_out": 4.0}
JUDGE = {"rules": {"all": {"copied": None}}}


def document(number: int) -> str:
    values = SUBJECTS[number % len(SUBJECTS)], 100 + number, 2 + number % 7
    return f"# The {values[0]}\n\n" + "".join(FACTS[(number + at) % 5].format(*values) for at in range(5))


def answer(message: str) -> str:
    """Fact-preserving edits of the passage; a third has other numbers, half of which are mended when asked again."""
    again, passage = message.startswith(AGAIN), message.split("The passage:\n", 1)[-1]
    rng = random.Random(passage)
    text = rewritten(passage.replace("# ", ""), rng)
    return text.replace("1", "7") if rng.random() < (0.15 if again else 0.3) else text


class Rewriting(servers.Server):
    """Attributes: bodies, how often each whole request came."""

    def __init__(self) -> None:
        super().__init__()
        self.bodies: Counter[str] = Counter()

    def chat(self, handler, body) -> None:
        self.bodies[json.dumps(body)] += 1
        if len(body["messages"]) > 2:
            body = {**body, "messages": [{"content": AGAIN + body["messages"][1]["content"]}]}
        super().chat(handler, body)


@pytest.fixture(scope="module", autouse=True)
def answers():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(servers, "answer_to", answer)
        yield


@pytest.fixture
def server():
    with Rewriting() as running:
        yield running


def written(folder: Path) -> Path:
    texts = [document(number) for number in range(COUNT)]
    # What must not come to life on a page.
    texts[3] = texts[3].replace("# The", "# <script>alert(1)</script> The")
    (folder / "items.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    return folder


@pytest.fixture
def folder(tmp_path) -> Path:
    return written(tmp_path)


class Made(NamedTuple):
    folder: Path
    server: Rewriting

    @property
    def out(self) -> Path:
        return self.folder / "out"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A run of all jobs, and its server."""
    folder = written(tmp_path_factory.mktemp("made"))
    with Rewriting() as running:
        run(loaded(folder, endpoint(running.url, **PRICE)), folder / "out", workers=2)
        yield Made(folder, running)


def loaded(folder: Path, rephrase: dict, judge: dict = JUDGE, last: str = "mixed") -> recipes.Recipe:
    """The recipe up to the job `last`."""
    text = RECIPE.format(rephrase=json.dumps(rephrase), judge=json.dumps(judge), share=0.5)
    jobs = text.split("  - name: ")
    named = [job.split("\n")[0] for job in jobs]
    return recipes.parse("  - name: ".join(jobs[: named.index(last) + 1]), "recipe.yaml", folder)


def short(folder: Path, rephrase: dict) -> recipes.Recipe:
    """The one job that rewrites."""
    return recipes.parse(SHORT.format(rephrase=json.dumps(rephrase)), "recipe.yaml", folder)


def endpoint(url: str, **more) -> dict:
    return {**REPHRASE, "backend": "endpoint", "endpoint": {"url": url, "model": servers.MODEL, **more}}


def run(recipe: recipes.Recipe, out: Path, workers: int = 1):
    return run_recipe(recipe, str(out), Options("recipe.yaml", workers=workers), Quiet())


def test_a_server_rewrites_and_what_it_gets_wrong_is_kept_apart(made):
    out, server = made.out, made.server
    assert verify(str(out)).problems == []
    rewritten_ = list(k3data.open(out, job="rewritten"))
    passed = [one for one in rewritten_ if one.metadata["checks"][0]["passed"]]
    failed = [one for one in rewritten_ if not one.metadata["checks"][0]["passed"]]
    assert len(passed) >= COUNT
    assert len(failed) >= 3
    assert any("num_new" in codes_of(rewrite_of(one)) for one in failed)
    by_document: dict[str, set[str]] = {}
    for one in rewritten_:
        by_document.setdefault(one.metadata["source"]["sha256"], set()).add(rewrite_of(one)["style"])
    assert all(styles == {"encyclopedic", "expert_memo"} for styles in by_document.values())
    assert len(by_document) == COUNT
    assert {one.text for one in k3data.open(out, job="accepted")} == {one.text for one in passed}
    refused = rejects_relation(str(out), "accepted", None).select("outcome, code").fetchall()
    assert len(refused) == len(failed)
    assert {outcome for outcome, _ in refused} == {"filtered"}

    # Every call was made once, and the account says what all of them cost.
    assert max(server.bodies.values()) == 1
    account = report.account_of(str(out), "rewritten")
    assert account["calls"] == len(server.seen)
    answers = sum(len(answer(message).split(" ")) for message, _ in server.seen)
    assert account["usd"] == pytest.approx((account["calls"] * servers.PROMPT_TOKENS + 4 * answers) / 1e6)

    # The mixture holds all documents and no more rewrites than its share.
    mixed = list(k3data.open(out, job="mixed"))
    facts = orjson.loads((out / "mixed/mix.json").read_bytes())
    originals = [one for one in mixed if one.metadata["kind"] == "text"]
    assert len(originals) == COUNT
    own = sum(len(one.text) for one in mixed if one.metadata["kind"] == "rewrite")
    assert facts["share_got"] == pytest.approx(own / sum(len(one.text) for one in mixed), abs=1e-4)
    assert facts["share_got"] <= 0.5
    card = (out / "mixed/README.md").read_text()
    assert f"of {len(passed) + len(failed) + merged_chunks(passed):,} answers passed the checks" in card
    assert "| num_new | The answer has numbers" in card
    splits = {one.metadata["source"]["sha256"]: one.metadata["split"] for one in originals}
    assert all(splits[one.metadata["source"]["sha256"]] == one.metadata["split"] for one in mixed)


def test_what_was_answered_once_is_never_asked_again(made):
    folder, server = made.folder, made.server
    calls = len(server.seen)
    run(loaded(folder, endpoint(server.url, **PRICE), last="rewritten"), folder / "second", workers=1)
    assert len(server.seen) == calls
    first, second = (tar_bytes(folder / name / "rewritten") for name in ("out", "second"))
    assert first == second
    assert first

    # The same answers from a file, without any server.
    store = Calls(folder / "calls")
    assert store.export(folder / "answers.jsonl") == calls
    store.close()
    recorded = {**REPHRASE, "backend": "replay", "recorded": "answers.jsonl"}
    run(loaded(folder, recorded, last="rewritten"), folder / "third")
    texts = [[one.text for one in k3data.open(folder / name, job="rewritten")] for name in ("out", "third")]
    assert sorted(texts[0]) == sorted(texts[1])


def test_other_rules_judge_again_without_a_call(made):
    folder, out, server = made.folder, made.folder / "second", made.server
    run(loaded(folder, endpoint(server.url, **PRICE)), out)
    calls = len(server.seen)
    before = {one.text for one in k3data.open(made.out, job="accepted")}
    lenient = {"rules": {"all": {"copied": None, "number_new": 9, "number_lost": 9, "number_context": 9, "unit": 9}}}
    run(loaded(folder, endpoint(server.url, **PRICE), lenient, last="accepted"), out)
    after = {one.text for one in k3data.open(out, job="accepted")}
    assert before < after
    strict = {"rules": {"all": {"copied": 0.0}}}
    run(loaded(folder, endpoint(server.url, **PRICE), strict, last="accepted"), out)
    assert len(list(k3data.open(out, job="accepted"))) < len(before)
    assert {code for code, in rejects_relation(str(out), "accepted", None).select("code").fetchall()} >= {"copy"}
    assert len(server.seen) == calls


def test_a_prompt_whose_rules_change_is_judged_again(folder):
    context = Context(3, "rewriting", "accepted", "", folder, base=folder)
    shutil.copytree(prompts.FOLDER, folder / "own")
    shipped, own = JudgeAgain(), JudgeAgain(prompts="own")
    assert shipped.reads(context) == own.reads(context)
    path = folder / "own" / "faq.md"
    path.write_text(path.read_text().replace("style: free", "style: qa"))
    assert shipped.reads(context) != own.reads(context)


def test_a_plan_tells_the_cost_from_a_pilot_and_the_run_does_not_pay_it_again(folder, server):
    out = folder / "out"
    recipe = short(folder, endpoint(server.url, **PRICE))
    facts = plan_facts(recipe, str(out), None, 8)["jobs"][0]["estimate"]
    assert facts["pilot_items"] == 8
    assert len(server.seen) > 8
    run(recipe, out)
    assert max(server.bodies.values()) == 1
    usd = report.account_of(str(out), "rewritten")["usd"]
    assert facts["usd"] == pytest.approx(usd, rel=0.2, abs=0.01)


def test_the_budget_is_a_hard_cap_and_more_money_goes_on_from_there(folder, server):
    rephrase = endpoint(server.url, **PRICE)
    with pytest.raises(K3DataError, match="the budget is spent"):
        run(short(folder, {**rephrase, "budget_usd": 0.004}), folder / "out")
    assert 0 < report.account_of(str(folder / "out"), "rewritten")["usd"] <= 0.004
    run(short(folder, {**rephrase, "budget_usd": 5.0}), folder / "out")
    assert max(server.bodies.values()) == 1
    assert verify(str(folder / "out")).problems == []


@pytest.mark.slow
def test_a_server_that_is_down_stops_the_run_and_loses_nothing(folder, server):
    server.decide = lambda message, nth: "ok" if len(server.seen) < 12 else "reset"
    with pytest.raises(K3DataError, match=servers_url(server)):
        run(short(folder, endpoint(server.url, patience_s=2.0)), folder / "out")
    lost = {body for body, times in server.bodies.items() if times > 1}
    whole = server.bodies.keys() - lost
    server.decide = lambda message, nth: "ok"
    run(short(folder, endpoint(server.url)), folder / "out")
    assert len(whole) >= 11
    assert all(server.bodies[body] == 1 for body in list(whole)[:11])
    assert verify(str(folder / "out")).problems == []


def merged_chunks(rows) -> int:
    """How many more chunks than rows there are."""
    return sum(len(rewrite_of(one)["chunks"]) - 1 for one in rows)


def servers_url(server) -> str:
    return server.url.replace(".", r"\.")


def test_the_report_shows_texts_beside_their_sources_and_nothing_as_markup(made, browser):
    folder, out = made.folder, made.out
    dataset = report.open_rewrites(str(out))
    assert dataset.info["job"] == "rewritten"
    assert report.write_report(dataset, folder / "page.html", report.account_of(str(out), "rewritten"), 40) == 40
    page = (folder / "page.html").read_text()
    assert "<script>alert" not in page
    assert "alert(1)" in page
    _, facts = report.figures(dataset)
    assert facts["answers"] == sum(one["answers"] for one in facts["styles"])
    assert facts["documents"] == COUNT
    assert 0 < facts["pass_rate"] < 1
    assert any(one["reasons"].get("num_new") for one in facts["styles"])
    visit = Visit(browser, folder / "page.html")
    assert visit.page.locator(".pair").count() == 40
    assert str(facts["answers"]) in visit.text("#lead")
    assert visit.page.locator("#style-table tbody tr").count() == 2
    visit.page.click("#show-failed")
    shown = visit.page.locator(".pair").count()
    assert 0 < shown < 40
    assert visit.page.locator(".pair .why li").count() >= shown
    assert visit.page.locator(".pair .fault").count() > 0
    visit.page.close()
    assert visit.alarms == []
    with pytest.raises(UserError, match="no job of it holds rewrites"):
        report.open_rewrites(str(out), "documents")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"backend": "embedded", "styles": {"encyclopaedic": 1}},
         r"no prompt 'encyclopaedic' \(did you mean 'encyclopedic'\?\)"),
        ({"styles": {"timeline": 1}}, "rules have no style 'timeline'; they have: encyclopedic"),
        ({"styles": {"faq": 0}}, "the weight of style 'faq' is not above 0"),
        ({"backend": "endpoint"}, "backend endpoint needs endpoint"),
        ({"backend": "replay"}, "backend replay needs recorded"),
        ({"backend": "replay", "recorded": "none.jsonl"}, r"none\.jsonl does not exist"),
        ({"backend": "embedded", "rules": {"all": {"number_knew": 1}}}, "number_knew"),
        ({"rules": {"faq": {}}}, "rules for 'faq', which is not among the styles"),
        ({"lengths": ["longer"]}, "no length 'longer'; there are: shorter, same, fuller"),
        ({"backend": "embedded", "prompts": "nowhere"}, "folder of prompts .*nowhere does not exist"),
        ({"chunk_tokens": 512, "excerpt_tokens": 256}, "chunks of 512 tokens do not fit excerpts of 256"),
        pytest.param(
            {"backend": "endpoint", "endpoint": {"url": "http://127.0.0.1:9/v1", "model": "m"}}, "cannot be reached",
            marks=pytest.mark.slow,
        ),
        ({"backend": "endpoint", "endpoint": {"url": "http://127.0.0.1:9/v1", "model": "m", "key_env": "K3_NO_KEY"}},
         "K3_NO_KEY"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_recipe_is_one_line(folder, change, message):
    with pytest.raises(K3DataError, match=message) as told:
        run(short(folder, {**REPHRASE, **change}), folder / "out")
    assert "\n" not in str(told.value)
    assert not list((folder / "out").glob("rewritten/shards/*"))
