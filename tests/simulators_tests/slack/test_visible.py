"""The reader of what people see, by examples written out by hand and by escaped text of any kind."""

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.simulators.slack.content import normalized
from tests.simulators.slack.mrkdwn import Reader, Seen, mentions
from tests.simulators.slack.people import typed
from tests.simulators.slack.visible import pings, seen

NAMES = {"U0ANN": "@Ann Lee", "C0GEN": "#general"}


def read(text: str) -> tuple[str, Seen]:
    """The visible text and what was noted on the way."""
    into = Seen()
    return Reader(NAMES, into).read(text), into


@pytest.mark.parametrize(
    "text,shown",
    [
        ("*bold* _italic_ ~gone~", "bold italic gone"),
        ("*_both_* and *two words*", "both and two words"),
        ("snake_case_name 2*3*4 a~b~c", "snake_case_name 2*3*4 a~b~c"),
        ("* not bold* and *not bold *", "* not bold* and *not bold *"),
        ("*open\nline*", "*open\nline*"),
        ("`a*b*c` *d*", "a*b*c d"),
        ("&lt;b&gt; &amp;amp; &quot;", "<b> &amp; &quot;"),
        ("&gt; quoted\n&gt;also\nnot &gt; this", "quoted\nalso\nnot > this"),
        ("```\nx = *1*\n```", "x = *1*"),
        ("before ```in &lt;it&gt; `b` ``` after", "before in <it> `b`  after"),
        ("<https://x.y/?a=1&amp;b=2|*shown*>", "*shown*"),
        ("<https://x.y> <mailto:a@b.c>", "https://x.y a@b.c"),
        ("<@U0ANN> in <#C0GEN|general> and <@U0XXX>", "@Ann Lee in general and @U0XXX"),
        ("<!here> <!subteam^S1|@ops> <!date^1^{date}|then>", "@here @ops then"),
        ("<anything>", "anything"),
        ("中文*粗体*中文", "中文*粗体*中文"),
        ("中文 *粗体* 中文", "中文 粗体 中文"),
        ("👩‍👩‍👧 *é*", "👩‍👩‍👧 é"),
    ],
)
def test_mrkdwn_is_read_as_a_person_sees_it(text: str, shown: str) -> None:
    assert read(text)[0] == shown


def test_code_and_links_are_noted() -> None:
    _, into = read("`a` ```b\nc``` <https://x.y|z>")
    assert sorted(into.code) == [("", "a"), ("", "b\nc")]
    assert into.links == [("https://x.y", "z")]


BODY: dict[str, Any] = {
    "text": "fallback <@U0ANN>",
    "blocks": [
        {"type": "header", "text": {"type": "plain_text", "text": "*Head*"}},
        {
            "type": "section",
            "text": {"type": "mrkdwn", "text": "*s* @channel", "verbatim": False},
            "fields": [{"type": "plain_text", "text": "f"}],
        },
        {"type": "section", "text": {"type": "mrkdwn", "text": "@here", "verbatim": True}},
        {
            "type": "rich_text",
            "elements": [
                {
                    "type": "rich_text_list",
                    "style": "bullet",
                    "elements": [
                        {"type": "rich_text_section", "elements": [{"type": "text", "text": "one"}]},
                        {"type": "rich_text_section", "elements": [{"type": "user", "user_id": "U0ANN"}]},
                    ],
                },
                {
                    "type": "rich_text_preformatted",
                    "language": "python",
                    "elements": [{"type": "text", "text": "x = 1"}],
                },
                {
                    "type": "rich_text_section",
                    "elements": [
                        {"type": "link", "url": "https://x.y", "text": "l"},
                        {"type": "broadcast", "range": "here"},
                    ],
                },
            ],
        },
        {
            "type": "table",
            "rows": [
                [{"type": "raw_text", "text": "a"}, {"type": "raw_number", "value": 2}],
                [
                    {
                        "type": "rich_text",
                        "elements": [
                            {"type": "rich_text_section", "elements": [{"type": "text", "text": "c"}]}
                        ],
                    },
                    {"type": "raw_text", "text": "d"},
                ],
            ],
        },
        {"type": "markdown", "text": "# T\n**b** [l](https://z)\n\n```py\ny\n```\n"},
        {"type": "divider"},
        {
            "type": "actions",
            "elements": [{"type": "button", "text": {"type": "plain_text", "text": "B"}, "value": "v"}],
        },
    ],
}


def test_every_block_is_read_in_order() -> None:
    found = seen(BODY, NAMES)
    assert found.text.split("\n") == [
        "*Head*",
        *("s @channel", "f", "@here"),
        *("one", "@Ann Lee", "x = 1", "l@here"),
        *("a\t2", "c\td"),
        *("T", "b l", "y"),
    ]
    assert found.code == [("python", "x = 1"), ("py", "y")]
    assert found.links == [("https://x.y", "l"), ("https://z", "l")]
    assert found.buttons == [("B", "v")]


def test_everything_that_may_notify_someone_is_found() -> None:
    assert pings(BODY) == ["@U0ANN", "@channel", "@U0ANN", "!here"]
    assert mentions("<!channel> <@U1|ann> <#C1> <https://x> <!subteam^S1> &lt;!here&gt;") == [
        "!channel",
        "@U1",
        "!subteam^S1",
    ]
    assert pings({"text": "@channel &lt;!everyone&gt;"}) == []


@given(st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\0*_~`>")))
def test_escaped_text_without_markers_is_read_back_as_it_was(text: str) -> None:
    escaped = text.replace("&", "&amp;").replace("<", "&lt;")
    assert read(normalized(escaped))[0] == text
    assert mentions(escaped) == []


@given(st.text(st.sampled_from("ab &<>@!#U0|*`_\n")))
def test_typed_text_is_read_back_and_pings_only_by_completed_name(text: str) -> None:
    stored, elements = typed(text)
    block = {"type": "rich_text", "elements": [{"type": "rich_text_section", "elements": elements}]}
    names: dict[str, str] = {}
    shown = seen({"text": stored, "blocks": [block]}, names).text if elements else ""
    assert shown == re.sub(r"<(@U[U0]+)>", r"\1", text)


@given(st.text(st.sampled_from("ab&<>;ltgmp\0")))
def test_stored_files_are_unchanged(text: str) -> None:
    once = normalized(text)
    assert normalized(once) == once
    assert "\0" not in once
