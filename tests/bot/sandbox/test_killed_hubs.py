"""The hub is killed again and again while a container works: the same container goes on, and nothing is done
or counted twice."""

import asyncio
import contextlib
import hashlib
import json
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from core.sandbox import hub_client
from tests.bot.cli.in_process import command
from tests.crash.fired_story import LINE, Kind, judge, open_fired_hub, play
from tests.crash.mortal import APPROVE, LIMIT_S, OWNER, MortalHub, Setup, open_mortal_hub
from tests.crash.points import parse_commit_point
from tests.harness.images import run
from tests.plugins.profile import Profile
from tests.simulators.model import CutArguments, ToolCall, tools

pytestmark = [pytest.mark.docker, pytest.mark.slow, pytest.mark.timeout(400)]
REQUESTS = ("messages", "model", "result", "messages", "model", "complete")
"""What the worker of a job with one call asks for, in order."""
OF_AGENT = (
    *("task", "reply", "said", "credential", "result"),
    *("messages", "reply", "said", "complete"),
)
"""The same of an agent CLI, told something while its call runs."""
STORED = {"task": "told", "reply": "told", "said": "model"}
"""The kinds by which the store knows an agent's requests, where these are others."""
LINE_OUT = "echo line >> out.txt"
ASKS = "with-credential deploy-key true"
WAITS = f"{ASKS}; echo > begun.txt; while [ ! -e go ]; do sleep 0.05; done"


@dataclass(frozen=True, slots=True)
class Work:
    """What the owner asks for, what is asked of the hub for it in order, and the requests of a model."""

    image: str
    words: str
    requests: tuple[str, ...]
    model: str
    told: bool = False
    only: str = ""
    """The kind of the one request around which the hub is killed, if not around all."""

    def points(self, profile: Profile) -> list[tuple[int, str]]:
        """Return where the hub is killed, around commits of requests: all, in a slice one of each kind."""
        if self.only:
            number = self.requests.index(self.only) + 1
            return [(number, "before"), (number, "after")]
        numbers = range(1, len(self.requests) + 1)
        # Its effect is stored and its answer never sent; then the next one is not even stored. The newest
        # call of a model is not even made: there is money set aside for it.
        last = max(number for number in numbers if self.requests[number - 1] == self.model)
        all_of_them = [
            (number, side)
            for number in numbers
            for side in ("reserved" if number == last else "before", "after")
        ]
        firsts = {self.requests.index(kind) + 1: kind for kind in self.requests}
        one_each = [(number, "before" if kind == self.model else "after") for number, kind in firsts.items()]
        return profile.pick(test=sorted(one_each), proof=all_of_them)


WORKER_WORK = Work("worker_image", f"--sandbox please run: {LINE_OUT}", REQUESTS, "model")
PROTOCOLS = ("/v1/messages", "/v1/chat/completions", "/v1/responses")
"""Those that an agent CLI may speak to its models."""


def agent_work(path: str) -> Work:
    words = f"--sandbox --mode=claude ({path}) please run: {WAITS}; {LINE_OUT}"
    return Work("scripted_agent_image", words, OF_AGENT, "reply", told=True)


AGENTS = tuple(map(agent_work, PROTOCOLS))
OF_CUT = ("messages", "model", "note", *REQUESTS)
"""The same of the worker, whose model's first reply is cut off within its call."""
CUT_WORK = Work("worker_image", f"--sandbox please run: {LINE_OUT}", OF_CUT, "model", only="note")
WORKS = {
    **{"worker": WORKER_WORK, "a reply cut off": CUT_WORK},
    **{path.rpartition("/")[2]: work for path, work in zip(PROTOCOLS, AGENTS, strict=True)},
}


def rows(town: MortalHub, sql: str) -> list[tuple[Any, ...]]:
    path = f"file:{town.directory / 'data' / 'hub.db'}?mode=ro"
    with contextlib.closing(sqlite3.connect(path, uri=True)) as database:
        return database.execute(sql).fetchall()


def containers(town: MortalHub) -> list[str]:
    name = hashlib.sha256(str((town.directory / "data").resolve()).encode()).hexdigest()[:16]
    return run("docker", "ps", "--quiet", "--filter", f"label=hubbub.hub={name}").split()


def setup_with(image: str, work: Work | None = None) -> Setup:
    agents = 'agents = ["claude"]\n' if work is not None and work.told else ""
    limits = "memory_mb = 128\ndisk_mb = 50\n"
    return Setup(extra=f'[sandbox]\nenabled = true\nimage = "{image}"\n{limits}{agents}')


@pytest.fixture
def image(request: pytest.FixtureRequest, work: Work) -> str:
    """The image that the work is done in; built outside of the test's own loop."""
    return request.getfixturevalue(work.image)


@pytest.mark.parametrize("work", WORKS.values(), ids=WORKS)
async def test_killed_around_the_commit_of_every_request_the_same_container_goes_on(
    tmp_path: Path, image: str, profile: Profile, work: Work
) -> None:
    if profile.name == "ci" and work in AGENTS and work is not AGENTS[profile.seed % len(AGENTS)]:
        pytest.skip("another commit's slice")
    async with open_mortal_hub(tmp_path, setup_with(image, work)) as town:
        seen, untold = set[str](), work.told
        if work is CUT_WORK:
            town.model.fault(CutArguments())
        for number, side in work.points(profile):
            stored = len(rows(town, "SELECT seq FROM job_requests")) if town.starts else 0
            point = (
                "reserve_call:1:after" if side == "reserved" else f"answer_request:{number - stored}:{side}"
            )
            hub = await town.start(parse_commit_point(point))
            if town.starts == 1:
                town.owner_says(f"/job {work.words}")
            if untold and number > OF_AGENT.index("credential") + 1:
                untold = False
                await tell(town)
            await hub.wait(LIMIT_S)
            assert len(rows(town, "SELECT seq FROM job_requests")) == number - (side != "after")
            if (number, side) != (len(work.requests), "after"):
                seen |= set(containers(town))
        await town.start()
        notice = await town.telegram.wait_text(OWNER, "” submitted", timeout_s=LIMIT_S)
        await town.account()
        (job,) = json.loads(await town.command("jobs", "list", "--json"))
        diff = await town.command("jobs", "diff", job["id"])
        await town.stop()
        assert len(seen) == 1, "one container"
        kinds = [STORED.get(kind, kind) for kind in work.requests]
        assert rows(town, "SELECT seq, kind FROM job_requests") == [*enumerate(kinds, start=1)]
        calls = work.requests.count(work.model)
        assert rows(town, "SELECT count(*) FROM usage WHERE state = 'settled'") == [(calls,)]
        assert rows(town, "SELECT count(*) FROM usage WHERE state = 'reserved'") == [(0,)]
        said = "SELECT count(*) FROM entries WHERE turn_id = thread_id AND kind = "
        assert rows(town, f"{said}'result'") == [(1,)]
        assert rows(town, f"{said}'assistant'") == [(calls,)]
        assert rows(town, f"{said}'user'") == [(2 if work.told else 1,)], "each message is heard once"
        asked = [one for one in town.shown_to(OWNER) if "Allow for this job" in str(one.keyboard)]
        assert len(asked) == work.told
        assert diff.count("+line") == 1, "the call was made once"
        assert "out.txt" in notice.text
        assert containers(town) == []


async def tell(town: MortalHub) -> None:
    """Say something to the job while its call runs, and let the call go on."""
    begun = await begun_in(town)
    (job,) = json.loads(await town.command("jobs", "list", "--json"))
    town.owner_says(f"/prompt {job['short_id']} say that it is green")
    await town.telegram.wait_text(OWNER, "hears it before its next step", timeout_s=LIMIT_S)
    begun.with_name("go").touch()


async def begun_in(town: MortalHub) -> Path:
    """The file by which a command says that it has begun."""
    async with asyncio.timeout(LIMIT_S):
        while not (found := list((town.directory / "data" / "containers").glob("*/project/begun.txt"))):  # noqa: ASYNC110 - another process
            await asyncio.sleep(0.05)
    return found[0]


@pytest.mark.parametrize(
    "point",
    [
        "begin_container_jobs:1:after",
        "arm_container:1:before",
        "arm_container:1:after",
        "end_container_job:1:before",
        "end_container_job:1:after",
    ],
)
async def test_killed_as_its_container_is_made_or_collected_a_job_works_and_ends_once(
    tmp_path: Path, worker_image: str, point: str
) -> None:
    async with open_mortal_hub(tmp_path, setup_with(worker_image)) as town:
        hub = await town.start(parse_commit_point(point))
        town.owner_says("/job --sandbox please run: echo line >> out.txt")
        await hub.wait(LIMIT_S)
        await town.start()
        await town.telegram.wait_text(OWNER, "” submitted", timeout_s=LIMIT_S)
        await town.account()
        (job,) = json.loads(await town.command("jobs", "list", "--json"))
        await town.command("jobs", "accept", job["id"])
        async with asyncio.timeout(LIMIT_S):
            while rows(town, "SELECT state FROM jobs") != [("accepted",)]:  # noqa: ASYNC110 - another process
                await asyncio.sleep(0.05)
        await town.stop()
        assert (town.workspace / "out.txt").read_text() == "line\n"
        assert rows(town, "SELECT seq, kind FROM job_requests") == [*enumerate(REQUESTS, start=1)]
        assert containers(town) == []


IMPATIENT_S = 2.0


@pytest.fixture
def impatient_image(tmp_path: Path, worker_image: str) -> Iterator[str]:
    """The image of a worker that gives up a hub after seconds, not minutes."""
    name, file = f"{worker_image}-impatient", Path(hub_client.__file__)
    before, after = (f"LOST_S = {seconds}\n" for seconds in (hub_client.LOST_S, IMPATIENT_S))
    text = file.read_text()
    assert text.count(before) == 1
    (tmp_path / "image").mkdir()
    (tmp_path / "image" / file.name).write_text(text.replace(before, after))
    place = "/opt/hubbub/core/sandbox/"
    (tmp_path / "image" / "Dockerfile").write_text(f"FROM {worker_image}\nCOPY {file.name} {place}\n")
    run("docker", "build", "--quiet", "--tag", name, str(tmp_path / "image"))
    try:
        yield name
    finally:
        run("docker", "image", "rm", "--force", name)


async def test_a_container_without_its_hub_ends_by_itself_in_any_state(
    tmp_path: Path, impatient_image: str
) -> None:
    async with open_mortal_hub(tmp_path, setup_with(impatient_image)) as town:
        await town.start()
        town.owner_says("/job --sandbox please run: echo > begun.txt; sleep 999")
        begun = await begun_in(town)
        (container,) = containers(town)
        await asyncio.sleep(2 * IMPATIENT_S)  # the hub is there, and the container goes on
        assert containers(town) == [container]
        await town.kill()
        look = ("docker", "inspect", "--format", "{{.State.Status}} {{.State.ExitCode}}", container)
        async with asyncio.timeout(LIMIT_S):
            while (said := run(*look).split())[0] != "exited":  # noqa: ASYNC110 - another process
                await asyncio.sleep(0.05)
        assert said == ["exited", str(hub_client.LOST)]
        assert begun.exists()
        await town.start()
        why = "The container reached no hub for 10 minutes, and ended. Start the job again."
        await town.telegram.wait_text(OWNER, why, timeout_s=LIMIT_S)
        await town.stop()
        assert containers(town) == []


SECRET = "correct-horse-battery"
OPEN = ""
"""The hub is killed while the question is open."""
AROUND_A_SECRET = (
    ("ask_for_credential:1:after", OPEN, "answer_request:1:after"),
    ("ask_for_credential:1:before", OPEN, "accept_event:1:after"),
    (OPEN, "accept_event:1:before"),
    (OPEN, "answer_request:1:before", "answer_request:1:after"),
)
"""From the request for a secret to its answer, which the owner approves while no hub runs. A job that crashes
three hubs without a step is given up, so there is more than one story."""


async def test_killed_around_a_secret_the_container_gets_it_once_after_one_request(
    tmp_path: Path, worker_image: str, profile: Profile
) -> None:
    for number, points in enumerate(AROUND_A_SECRET[: profile.pick(test=1, proof=4)]):
        directory = tmp_path / str(number)
        directory.mkdir()
        await killed_around_a_secret(directory, worker_image, points)


async def killed_around_a_secret(directory: Path, image: str, points: Sequence[str]) -> None:
    use = 'printf %s "$DEPLOY_KEY"; echo; printf %s "$DEPLOY_KEY" | wc -c >> out.txt'
    async with open_mortal_hub(directory, setup_with(image)) as town:
        town.model.rule(
            "deploy it", tools(ToolCall("shell", {"command": use, "credentials": ["deploy-key"]}))
        )
        seen, told, pressed = set[str](), list[str](), False
        for point in points:
            if point and not point.startswith("ask_") and not pressed:
                pressed = True
                (card,) = [one for one in town.open_cards(OWNER) if "have the secret" in one.text]
                town.telegram.user_presses_button(OWNER, card.id, APPROVE)
            hub = await town.start(parse_commit_point(point) if point else None)
            if town.starts == 1:
                await town.served_at_last()
                await asyncio.to_thread(
                    command, directory, "secrets", "set", "deploy-key", stdin=SECRET.encode()
                )
                town.owner_says("/job --sandbox deploy it")
            if point == OPEN:
                await town.telegram.wait_text(OWNER, "have the secret deploy-key?", timeout_s=LIMIT_S)
                await town.kill()
            await hub.wait(LIMIT_S)
            (container,) = containers(town)
            seen.add(container)
            told.append(run("docker", "inspect", container) + run("docker", "logs", container))
        await town.start()
        await town.telegram.wait_text(OWNER, "” submitted", timeout_s=LIMIT_S)
        await town.account()
        (job,) = json.loads(await town.command("jobs", "list", "--json"))
        diff = await town.command("jobs", "diff", job["id"])
        audit = await town.command("audit", "export")
        events = await town.command("jobs", "events", job["id"])
        await town.stop()
        assert len(seen) == 1, "one container"
        kinds = ("messages", "model", "credential", "result", "messages", "model", "complete")
        assert rows(town, "SELECT seq, kind FROM job_requests") == [*enumerate(kinds, start=1)]
        assert rows(town, "SELECT token_hash FROM job_containers") == [(None,)]
        asked = [one for one in town.shown_to(OWNER) if "have the secret" in one.text]
        assert [one.keyboard for one in asked] == [None], "one card, answered once"
        assert rows(town, "SELECT kind, outcome FROM gates WHERE kind = 'credential'") == [
            ("credential", "approve")
        ]
        assert (audit.count("secret_used"), diff.count(f"+{len(SECRET)}")) == (1, 1)
        told += [diff, audit, events, *(one.text for one in town.shown_to(OWNER))]
        told += [str(one.body) for one in town.model.log.all()]
        assert not [one for one in told if SECRET in one]
        kept = [one for one in directory.rglob("*") if one.is_file()]
        assert not [one for one in kept if SECRET.encode() in one.read_bytes()]
        assert containers(town) == []


FIRED: tuple[tuple[Kind, str], ...] = (
    ("webhook", "claim_run:1:before"),
    ("webhook", "dispatch_job:1:before"),
    ("event", "dispatch_job:1:after"),
    ("webhook", "arm_container:1:after"),
    ("event", "end_container_job:1:before"),
    ("cron", "end_container_job:1:after"),
    ("webhook", "finish_run:1:before"),
    ("event", "finish_run:1:after"),
)
"""What fires it, and where the hub is killed: around the commits of the run, its job, and its container's
end."""


@pytest.mark.parametrize("kind, point", FIRED)
async def test_killed_as_a_routines_job_works_in_a_container_there_is_one_run_one_job_and_one_notice(
    tmp_path: Path, worker_image: str, kind: Kind, point: str, profile: Profile
) -> None:
    """One container's work for each job, also: what a person accepts has its one line."""
    if profile.name == "ci" and (FIRED.index((kind, point)) + profile.seed) % 2:
        pytest.skip("another commit's slice")
    async with open_fired_hub(
        tmp_path, kind, reruns=True, work="container", setup=setup_with(worker_image)
    ) as town:
        told = await play(town, kind, parse_commit_point(point))
        await town.account()
        jobs = json.loads(await town.command("jobs", "list", "--json"))
        diffs = [await town.command("jobs", "diff", job["id"]) for job in jobs]
        await town.stop()
        await judge(town, kind, told, "container")
        assert [diff.count(f"+{LINE}") for diff in diffs] == [1] * len(jobs)
        assert rows(town, "SELECT count(*) FROM job_requests") == [(len(REQUESTS) * len(jobs),)]
        assert containers(town) == []
