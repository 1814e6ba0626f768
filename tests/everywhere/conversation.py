"""One conversation, held at every platform alike: a greeting, a long answer with everything that Markdown
has, a tool that needs consent, a stop, and a notice."""

from dataclasses import dataclass

from core.messages import Markdown, Message
from core.people.notices import Recipient, ToPerson, ToThread
from tests.everywhere.hub import OWNER, HubEverywhere
from tests.everywhere.people import LIMIT_S, Console, Person
from tests.everywhere.seen import Seen
from tests.simulators.model import text

CODE_CHARS = 6_000


def _program() -> str:
    """A program of exactly so many characters, with all that means something to some platform."""
    step = 'def step_{0:02}():\n    print("第 {0:02} 步 *is* `not` <b>&amp; @everyone")\n    return "```"'
    program = "\n\n".join(step.format(number) for number in range(1, 100))[: CODE_CHARS - 1]
    program = program[: program.rindex("\n\n")]
    return f"{program}\n\n# {'=' * (CODE_CHARS - len(program) - 4)}"


CODE = _program()
REPORT = f"""# Release 2.4 · 正式版

All **tests** *passed*; see [the log](https://ci.example.com/run/42?a=1&b=2) and `make test`.
@everyone <!channel> <@U0OLIVIA> <@100000000000000007> [Olivia](tg://user?id=7)

| step | 耗时 | ok |
|:-----|-----:|:--:|
| build | 42 s | ⚡ |
| 测试 | 1234 s | ☔ |

1. deploy
   - to *staging* first
     - then wait
   - then ~~never~~ to production
2. tell everybody 😀 👩‍👩‍👧

> quoted words

````python
{CODE}
````

After the code.
"""
NOTICE = "**Reminder**: the build is green, see [run 42](https://ci.example.com/run/42)."


@dataclass(frozen=True, slots=True)
class Held:
    """The screens of a conversation: the card while it waited, and everything at the end."""

    card: Seen
    transcript: list[Seen]

    @property
    def said(self) -> list[Seen]:
        """Return what the bot said to the conversation."""
        return [one for one in self.transcript if one.by == "bot" and not one.aside]


def rehearse(town: HubEverywhere) -> None:
    """Tell the model what it says."""
    town.model.rule("report", text(REPORT))
    town.model.rule("please run: echo", text("Built."), on="tool")


async def converse(town: HubEverywhere, name: str) -> Held:
    """Hold the conversation at one place."""
    person = town.people[name]
    await person.says("hello")
    await person.sees("You said: hello")
    await person.says("the report, please")
    await person.sees("After the code.")
    await person.says(f"please run: echo {name} >> built")
    card = await person.sees("There is no grant for this call")
    await person.presses("Approve")
    await person.sees("Built.")
    await person.says(f"slow 600: too late on {name}")
    await town.model.wait_requests(match=f"too late on {name}", timeout_s=LIMIT_S)
    await person.commands("stop")
    await person.sees("Stopped.")
    notice = Message((Markdown(NOTICE),))
    assert await town.app.notices().send(f"build 42 {name}", _to(person, name), notice)
    await person.sees("the build is green")
    return Held(card, await person.transcript())


def _to(person: Person, name: str) -> Recipient:
    if isinstance(person, Console):
        assert person.thread_id is not None
        return ToThread(person.thread_id)
    return ToPerson(OWNER, name)
