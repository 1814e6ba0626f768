"""Skills: what is read from a file, which ones a message activates, and the tools they leave a run."""

import pytest

from core.runs.workspace_texts import MAX_ACTIVE, Skill, chosen, in_words, narrowed, read_skill
from core.users import Principal, Role

UNATTENDED = ("time", "list_dir")


def text(*lines: str) -> str:
    return "\n".join(["---", *lines, "---", "Do this."])


@pytest.mark.parametrize(
    "content, expected",
    [
        ("Do this.", Skill("s", text="Do this.")),
        ("  ---\nno front matter\n", Skill("s", problem="its first lines are not closed by a line of ---")),
        (text(), Skill("s", text="Do this.")),
        (text("description: Ship it", "# a comment", ""), Skill("s", "Ship it", text="Do this.")),
        (text('keywords: deploy, "roll out"'), Skill("s", keywords=("deploy", "roll out"), text="Do this.")),
        (text("keywords: [a, 'b']"), Skill("s", keywords=("a", "b"), text="Do this.")),
        (text("keywords:", "- a", "  - b c"), Skill("s", keywords=("a", "b c"), text="Do this.")),
        (text("tools: shell, time"), Skill("s", tools=frozenset({"shell", "time"}), text="Do this.")),
        (text("Tools :  shell"), Skill("s", tools=frozenset({"shell"}), text="Do this.")),
        (text("tools:"), Skill("s", tools=frozenset(), text="Do this.")),
        (text("tools: []"), Skill("s", tools=frozenset(), text="Do this.")),
        (text("members: yes"), Skill("s", members=True, text="Do this.")),
        (text("members: no", "color: red"), Skill("s", text="Do this.")),
        ("\ufeff" + text("members: true"), Skill("s", members=True, text="Do this.")),
        (
            "---\ntools: shell\nDo this.",
            Skill("s", problem="its first lines are not closed by a line of ---"),
        ),
        (text("tools: a", "tools: b"), Skill("s", problem="its line 'tools: b' is no further `key: value`")),
        (text("shell"), Skill("s", problem="its line 'shell' is no further `key: value`")),
        (text("tools: " + ",".join(map(str, range(17)))), Skill("s", problem="it lists more than 16 tools")),
        (
            text("keywords: " + "x" * 61),
            Skill("s", problem="one of its keywords has more than 60 characters"),
        ),
        ("---\nmembers: yes\n---\n", Skill("s", problem="it has no text")),
        ("", Skill("s", problem="it has no text")),
    ],
)
def test_a_skill_is_read_from_its_file(content: str, expected: Skill) -> None:
    assert read_skill("s", content, trusted=False) == expected


RELEASE = Skill("release-notes", keywords=("changelog", "roll out"), text="x")
DEPLOY = Skill("deploy", keywords=("ship", "部署"), text="x")
BROKEN = Skill("broken", keywords=("ship",), problem="it has no text")


@pytest.mark.parametrize(
    "message, names",
    [
        ("hello", []),
        ("", []),
        ("please DEPLOY it", ["deploy"]),
        ("redeployed, deploying", []),
        ("write the release-notes", ["release-notes"]),
        ("write the release  Notes!", ["release-notes"]),
        ("roll\nout", ["release-notes"]),
        ("rollout", []),
        ("请帮我部署一下", ["deploy"]),
        ("ship the changelog", ["deploy", "release-notes"]),
        ("ship it with the release notes", ["release-notes", "deploy"]),
        ("roll out the changelog, then ship", ["release-notes", "deploy"]),
        ("x" * 8_000 + " deploy", []),
    ],
)
def test_a_message_activates_the_skills_it_names(message: str, names: list[str]) -> None:
    assert [skill.name for skill in chosen([BROKEN, DEPLOY, RELEASE], message)] == names


def test_the_number_of_active_skills_is_limited() -> None:
    skills = [Skill(f"s{number}", keywords=("all",), text="x") for number in range(9)]
    assert [skill.name for skill in chosen(skills, "all s8")] == ["s8", "s0", "s1"][:MAX_ACTIVE]


@pytest.mark.parametrize(
    "active, allowed",
    [
        ([], None),
        ([Skill("a", trusted=True)], None),
        ([Skill("a", tools=frozenset({"shell", "time"}), trusted=True)], {"shell", "time"}),
        ([Skill("a")], {"time", "list_dir"}),
        ([Skill("a", tools=frozenset({"shell", "time"}))], {"time"}),
        ([Skill("a", trusted=True), Skill("b")], {"time", "list_dir"}),
        ([Skill("a", tools=frozenset({"shell"}), trusted=True), Skill("b")], set[str]()),
    ],
)
def test_the_least_trusted_active_skill_decides_about_tools(
    active: list[Skill], allowed: set[str] | None
) -> None:
    assert narrowed(active, UNATTENDED) == allowed


def test_members_use_only_skills_that_say_so_and_guests_none() -> None:
    for skill, roles in ((Skill("a"), {Role.OWNER}), (Skill("b", members=True), {Role.OWNER, Role.MEMBER})):
        assert {role for role in Role if skill.is_for(Principal("u", role, "U"))} == roles


def test_skills_are_listed_with_their_state() -> None:
    listed = in_words(
        [
            Skill("a", "Ship it", ("ship", "go"), frozenset({"time", "shell"}), trusted=True),
            Skill("b"),
            Skill("c", problem="it has no text"),
        ]
    )
    assert list(listed) == [
        "a: Ship it · keywords: ship, go · tools: shell, time",
        "b: no description · only tools that need no approval",
        "c: not used: it has no text.",
    ]
