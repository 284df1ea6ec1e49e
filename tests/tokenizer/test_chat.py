"""The chat template: what is written reads back, no text becomes a mark, weights lie where they must."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from k3data.tests.tokenizer.texts import small_tokenizer
from k3data.tokenizer.chat import render
from k3data.tokenizer.chat_parse import parse
from k3data.tokenizer.messages import (
    Assistant,
    Call,
    ChatError,
    Conversation,
    Image,
    System,
    Tool,
    ToolResult,
    User,
    conversation_from,
)
from k3data.tokenizer.special import NAMES, spelling

TOKENIZER = small_tokenizer()
MARKS = {TOKENIZER.special[name] for name in ("open", "close", "sep", "end_of_msg")}

TEXT = st.one_of(
    st.text(max_size=20),
    st.sampled_from([spelling(name) for name in NAMES[:24]]),
    st.sampled_from(['a="b"', "&quot;&amp;", '"', "&", "assistant", " x=\n", 'call tool="x"']),
)
NAME = TEXT
IMAGE = st.builds(Image, st.integers(1, 400), st.integers(1, 400))
VALUE = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), TEXT),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(TEXT, inner, max_size=3)),
    max_leaves=6,
)


@st.composite
def contents(draw):
    """Text, or parts with at least one picture, no two texts beside each other and none empty: the form parse gives."""
    parts = draw(st.lists(st.one_of(TEXT, IMAGE), max_size=4))
    kept = []
    for part in parts:
        if part != "" and not (isinstance(part, str) and kept and isinstance(kept[-1], str)):
            kept.append(part)
    return tuple(kept) if any(isinstance(one, Image) for one in kept) else "".join(kept)


CALL = st.builds(Call, NAME, st.one_of(st.dictionaries(NAME, VALUE, max_size=3), TEXT))
MESSAGE = st.one_of(
    st.builds(System, contents()),
    st.builds(User, contents()),
    st.builds(ToolResult, NAME, st.integers(1, 9), contents()),
    st.builds(Assistant, TEXT, st.none() | TEXT, st.lists(CALL, max_size=3).map(tuple)),
)
CONVERSATION = st.builds(
    Conversation,
    st.lists(MESSAGE, max_size=4).map(tuple),
    st.lists(st.builds(Tool, NAME, TEXT, st.dictionaries(TEXT, VALUE, max_size=2)), max_size=2).map(tuple),
    st.none() | TEXT,
    st.none() | TEXT,
    st.none() | st.dictionaries(TEXT, VALUE, max_size=2),
)


@given(CONVERSATION)
@settings(max_examples=300, deadline=None)
def test_what_is_rendered_reads_back(conversation):
    rendered = render(TOKENIZER, conversation, max_tokens=64)
    assert parse(TOKENIZER, rendered.ids) == conversation
    ends = [0] + [run["end"] for run in rendered.weights]
    assert [run["start"] for run in rendered.weights] == ends[:-1] and ends[-1] == len(rendered.ids)


@given(TEXT, TEXT, TEXT)
@settings(max_examples=300, deadline=None)
def test_marks_do_not_depend_on_what_is_written(text, name, value):
    def marks(text, name, value):
        call = Call(name, {name: value, name + "n": [value]})
        conversation = Conversation(
            (System(text), User(text), Assistant(text, text, (call,)), ToolResult(name, 1, text)),
            (Tool(name, value, {value: value}),),
            tool_choice=text,
        )
        return [id for id in render(TOKENIZER, conversation).ids.tolist() if id >= TOKENIZER.special["bos"]]

    assert marks(text, name, value) == marks("a", "b", "c")
    assert set(marks(text, name, value)) == MARKS


def test_the_form_in_full():
    conversation = Conversation(
        messages=(
            User(("See ", Image(28, 28))),
            Assistant("Done.", "Hm.", (Call('a"&b', {"text": 'raw & "', "count": 3, "box": [1, 2.5], "yes": True}),)),
            ToolResult('a"&b', 1, "ok"),
        ),
        tools=(Tool("add", "Adds."),),
        thinking_effort="high",
        tool_choice="auto",
        response_format={"type": "json"},
    )
    text = TOKENIZER.decode(render(TOKENIZER, conversation, answer_in="think").ids)
    for mark, short in (("open", "<"), ("close", "/"), ("sep", ">"), ("end_of_msg", "\n")):
        text = text.replace(spelling(mark), short)
    assert text.splitlines() == [
        '<system type="tool-declare"><function name="add">{"description":"Adds.","parameters":{}}/function>/system>',
        '<system type="thinking-effort">high/system>',
        "<user>See <|media_begin|>image 28x28<|media_content|><|media_pad|><|media_end|>/user>",
        "<assistant><think>Hm./think><response>Done./response><tools>"
        '<call tool="a&quot;&amp;b" index="1"><argument name="text" type="string">raw & "/argument>'
        '<argument name="count" type="number">3/argument><argument name="box" type="array">[1,2.5]/argument>'
        '<argument name="yes" type="boolean">true/argument>/call>/tools>/assistant>',
        '<tool name="a&quot;&amp;b" index="1">ok/tool>',
        '<system type="tool-choice">auto/system>',
        '<system type="response-format">{"type":"json"}/system>',
        "<assistant><think>",
    ]


def test_weights_are_one_on_what_the_model_writes():
    conversation = Conversation(
        (
            User("question"),
            Assistant("answer", "thought", (Call("f", {"a": 1}), Call("g", "{broken"))),
            ToolResult("f", 1, "result"),
            Assistant("end"),
        )
    )
    rendered = render(TOKENIZER, conversation)
    learned = [
        TOKENIZER.decode(rendered.ids[run["start"] : run["end"]]) for run in rendered.weights if run["weight"] == 1
    ]
    assert len(learned) == 3
    assert learned[0].startswith("thought<|close|>think<|sep|><|open|>response<|sep|>answer<|close|>")
    assert learned[0].endswith('<|open|>call tool="g" index="2"<|sep|>')
    assert learned[1] == "<|close|>call<|sep|><|close|>tools<|sep|><|close|>assistant<|sep|><|end_of_msg|>"
    assert learned[2] == "end<|close|>response<|sep|><|close|>assistant<|sep|><|end_of_msg|>"
    masked = {one for one in ("question", "result", "{broken") if any(one in text for text in learned)}
    assert not masked


def test_a_prefix_is_the_beginning_of_an_answer():
    asked = (User("q"),)
    whole = render(TOKENIZER, Conversation((*asked, Assistant("a", "t")))).ids.tolist()
    for channel, answer in (("think", Assistant("a", "t")), ("response", Assistant("a"))):
        whole = render(TOKENIZER, Conversation((*asked, answer))).ids.tolist()
        prefix = render(TOKENIZER, Conversation(asked), answer_in=channel).ids.tolist()
        assert whole[: len(prefix)] == prefix
    assert TOKENIZER.special["bos"] not in whole


def test_pictures_are_found_where_their_pads_are():
    rendered = render(TOKENIZER, Conversation((User((Image(100, 60), "and", Image(3000, 20))),)), max_tokens=16)
    for image in rendered.images:
        run = rendered.ids[image["start"] : image["start"] + image["tokens"]]
        assert set(run.tolist()) == {TOKENIZER.special["media_pad"]}
        assert image["tokens"] == image["grid"][0] * image["grid"][1]
    assert [(one["width"], one["height"]) for one in rendered.images] == [(100, 60), (3000, 20)]
    assert sum(one["tokens"] for one in rendered.images) == (rendered.ids == TOKENIZER.special["media_pad"]).sum()


def test_conversations_from_json_values():
    values = json.loads("""{"messages": [
        {"role": "system", "content": "s"},
        {"role": "user", "content": ["look", {"image": [20, 30]}]},
        {"role": "assistant", "think": "t", "response": "r", "tools": [{"tool": "f", "arguments": {"a": null}}]},
        {"role": "tool", "tool": "f", "index": 1, "content": "x"}], "tools": [{"name": "f"}]}""")
    assert conversation_from(values) == Conversation(
        (
            System("s"),
            User(("look", Image(20, 30))),
            Assistant("r", "t", (Call("f", {"a": None}),)),
            ToolResult("f", 1, "x"),
        ),
        (Tool("f"),),
    )


@pytest.mark.parametrize(
    ("message", "told"),
    [
        ({"role": "robot", "content": "x"}, "message 0: unknown role 'robot'"),
        ({"content": "x"}, "unknown role None"),
        ({"role": "assistant", "thoughts": "x"}, "message 0: unknown channel 'thoughts'"),
        ({"role": "user", "content": 5}, "content is missing, or neither"),
        ({"role": "user", "content": [{"image": [0, 1]}]}, "is no part of a content"),
        ({"role": "user", "content": "x", "name": "y"}, "unknown field 'name'"),
        ({"role": "assistant", "response": ["x"]}, "response is list, not str"),
        ({"role": "assistant", "tools": [{"arguments": {}}]}, "message 0, call 1: tool is missing"),
        ({"role": "assistant", "tools": [{"tool": "f", "arguments": 3}]}, "neither an object nor a string"),
        ({"role": "tool", "tool": "f", "index": 0, "content": ""}, "index 0 is no number from 1"),
        ("hello", "str is no message"),
    ],
)
def test_what_is_unknown_is_refused_in_one_line(message, told):
    with pytest.raises(ChatError, match=told) as caught:
        conversation_from({"messages": [message]})
    assert "\n" not in str(caught.value)


def test_what_the_template_cannot_write_is_refused():
    for conversation, told in (
        (Conversation((Assistant("", None, (Call("f", {"a": float("nan")}),)),)), "not a JSON value"),
        (Conversation((Assistant("", None, (Call("f", {"a": b"x"}),)),)), "argument 'a' is bytes"),
        (Conversation(("hello",)), "unknown kind of message: str"),
        (Conversation((User(5),)), "int"),
    ):
        with pytest.raises(ChatError, match=told):
            render(TOKENIZER, conversation)
    with pytest.raises(ChatError, match="unknown channel 'tools'"):
        render(TOKENIZER, Conversation(()), answer_in="tools")


def test_ids_that_are_no_conversation_are_refused():
    ids = render(TOKENIZER, Conversation((User("hello there"),))).ids.tolist()
    for wrong in (ids[1:], ids[:-1], ids[:-3], [*ids, 5], [*ids[:2], TOKENIZER.special["eos"], *ids[2:]]):
        with pytest.raises(ChatError):
            parse(TOKENIZER, wrong)
