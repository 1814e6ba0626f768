"""Jobs in containers, from the words that start one to the files that change once a person accepts."""

import asyncio
import contextlib
import hashlib
import json
import os
import re
import sqlite3
import time
from collections.abc import AsyncIterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from core.job import JobEventKind, JobRow, JobState, NewJob
from core.routine import RunStatus
from core.safety.network import Lookup
from tests.bot.cli.in_process import command
from tests.bot.web.api_client import client
from tests.core.tools.website import SITE, Website
from tests.everywhere.hub import open_hub_everywhere
from tests.harness.images import run
from tests.harness.telegram_hub import KEY, LIMIT_S, OWNER, TOKEN, Hub, open_hub
from tests.scenarios.routine_house import greeted
from tests.scenarios.test_full_jobs import fires, jobs_of, made, runs_in
from tests.scenarios.test_jobs import becomes, started
from tests.simulators.model import ToolCall, text, tools
from tests.simulators.telegram.state import CallbackQuery
from tests.simulators.telegram.world import Message

pytestmark = [pytest.mark.docker, pytest.mark.slow, pytest.mark.timeout(300)]


@contextlib.asynccontextmanager
async def house_with(
    directory: Path, image: str, more: str = "", lookup: Lookup | None = None, memory_mb: int = 256
) -> AsyncIterator[Hub]:
    """A hub whose workspace has a small project, and whose containers are small."""
    async with open_hub(directory, extra=small(image, more, memory_mb), start=False) as house:
        house.lookup = lookup
        await house.start()
        await house.telegram.wait_polling(TOKEN, LIMIT_S)
        (house.workspace / "app").mkdir()
        (house.workspace / "app" / "add.py").write_text("def add(a, b):\n    return a - b\n")
        (house.workspace / "app" / "check.py").write_text("from add import add\nassert add(2, 3) == 5\n")
        yield house
        assert containers(house) == []


def small(image: str, more: str = "", memory_mb: int = 256) -> str:
    """Return the section of a configuration whose containers are small."""
    return f'[sandbox]\nenabled = true\nimage = "{image}"\nmemory_mb = {memory_mb}\ndisk_mb = 100\n{more}\n'


def containers(house: Hub) -> list[str]:
    """The containers of this hub."""
    name = hashlib.sha256(str((house.directory / "data").resolve()).encode()).hexdigest()[:16]
    return run("docker", "ps", "--all", "--quiet", "--filter", f"label=hubbub.hub={name}").split()


async def none_left(house: Hub) -> bool:
    return not containers(house)


MOST_DISK_MB = 1_000_000
STATS = ("docker", "stats", "--no-stream", "--format", "{{.MemUsage}}")


def shell(command: str, **more: object) -> ToolCall:
    return ToolCall("shell", {"command": command, **more})


async def test_a_job_edits_files_runs_tests_and_the_project_changes_once_its_diff_is_accepted(
    tmp_path: Path, worker_image: str
) -> None:
    async with house_with(tmp_path, worker_image) as house:
        add = house.workspace / "app" / "add.py"
        house.model.enqueue(tools(ToolCall("edit_file", {"path": "add.py", "old": "a - b", "new": "a + b"})))
        house.model.enqueue(tools(shell("python3 check.py && echo passed > log.txt && id -u")))
        house.model.enqueue(
            tools(
                ToolCall(
                    "finish", {"result": "I mended add.", "test_output": "passed", "artifacts": ["log.txt"]}
                )
            )
        )
        named = await started(house, "/job --sandbox=app mend add")
        notice = await house.telegram.wait_text(OWNER, "I mended add.", timeout_s=LIMIT_S)
        job = await becomes(house, named, JobState.SUBMITTED)
        assert (job.rounds, job.project) == (2, "app")
        assert "a + b" in notice.text
        assert "a - b" in add.read_text(), "the project is as it was"
        add.write_text("def add(a, b):\n    return a\n")
        house.telegram.user_presses_button(OWNER, notice.id, 0)
        await house.telegram.wait_text(OWNER, "add.py has changed in the project since", timeout_s=LIMIT_S)
        add.write_text("def add(a, b):\n    return a - b\n")
        status, shown = await called(house, "GET", f"/jobs/{named}/changes")
        assert (status, shown["digest"], "+    return a + b" in shown["diff"]) == (200, job.digest, True)
        status, refused = await called(house, "POST", f"/jobs/{named}/accept?digest=another")
        assert (status, refused["error"]["message"]) == (409, f"Job {named} has other changes than these.")
        _, asked_for = await called(house, "GET", "/approvals")
        (gate,) = asked_for["approvals"]
        assert (gate["kind"], gate["job_id"], gate["may_decide"]) == ("changes", job.id, True)
        assert gate["details"] == ["changed add.py", "added log.txt"]
        assert "add.py has changed in the project since" in gate["title"]
        decision = {"request_id": gate["gate_id"], "action": "approve"}
        assert (await called(house, "POST", "/chat/gate/resolve", decision))[0] == 200
        await becomes(house, named, JobState.ACCEPTED)
        assert "a + b" in add.read_text()
        assert (house.workspace / "app" / "log.txt").read_text() == "passed\n"
        await house.until(lambda: nothing_in(tmp_path / "data" / "containers"))


async def test_a_routines_notice_shows_its_jobs_changes_and_the_owner_decides_there(
    tmp_path: Path, worker_image: str
) -> None:
    async with house_with(tmp_path, worker_image) as house:
        await greeted(house)
        add = house.workspace / "app" / "add.py"
        edit = ToolCall("edit_file", {"path": "add.py", "old": "a - b", "new": "a + b"})
        house.model.rule("Mend add", tools(edit))
        house.model.rule("Mend add", text("ROUTINE_OK"), on="tool")
        action = {"type": "full_job", "title": "Mend", "description": "Mend add", "sandbox": "app"}
        mender = await made(house, "mender", action, notify={"on_attention": False})
        await fires(house, mender)
        notice = await house.telegram.wait_text(OWNER, "Routine “mender” has something", timeout_s=LIMIT_S)
        assert "+    return a + b" in notice.text, "what waits is told of, whatever the job says"
        assert "ROUTINE_OK" not in notice.text
        house.telegram.user_sends_text(OWNER, "/jobs")
        await house.telegram.wait_text(OWNER, "Waiting for you: accept or reject below the result")
        add.write_text("def add(a, b):\n    return a\n")
        press(house, notice, "Accept")
        await house.telegram.wait_text(OWNER, "add.py has changed in the project since", timeout_s=LIMIT_S)
        add.write_text("def add(a, b):\n    return a - b\n")
        press(house, notice, "Accept")
        await house.telegram.wait_text(OWNER, "the project has its changes", timeout_s=LIMIT_S)
        assert "a + b" in add.read_text()
        late = await house.telegram.wait_callback_answer(press(house, notice, "Reject").id)
        assert late.answers[0]["text"].endswith("is accepted now.")
        # Another one is accepted by a command, and is told of where the notice was.
        add.write_text("def add(a, b):\n    return a - b\n")
        await fires(house, mender)
        await runs_in(house, mender, RunStatus.ATTENTION, RunStatus.ATTENTION)
        job = (await jobs_of(house))[0]
        done = await asyncio.to_thread(command, house.directory, "jobs", "accept", job.short_id)
        assert done.code == 0, done
        said = f"Job {job.short_id} “Mend” is accepted: the project has its changes."
        await house.telegram.wait_text(OWNER, said, timeout_s=LIMIT_S)
        assert "a + b" in add.read_text()


@pytest.mark.parametrize("label", ["Accept", "Reject"])
async def test_the_owner_decides_a_routines_changes_on_every_platform(
    tmp_path: Path, worker_image: str, label: str
) -> None:
    async with open_hub_everywhere(tmp_path, small(worker_image)) as town:
        for platform in ("telegram", "slack", "discord"):
            person, file = town.people[platform], tmp_path / "workspace" / platform / "note.md"
            file.parent.mkdir()
            await person.says("hello")
            await person.sees("You said: hello")
            town.model.rule(f"Note {platform}", tools(shell("echo noted > note.md")))
            town.model.rule(f"Note {platform}", text("Noted."), on="tool")
            work = {"type": "full_job", "title": f"Note {platform}", "description": f"Note {platform}"}
            page = {"name": platform, "trigger": {"type": "manual"}, "notify": {"channel": platform}}
            async with client(tmp_path) as api:
                action = {**work, "sandbox": platform}
                status, saved = await api.ask("POST", "/api/routines", {**page, "action": action})
                assert status == 200, saved
                assert (await api.ask("POST", f"/api/routines/{saved['id']}/fire"))[0] == 200
            notice = await person.sees(f"Routine “{platform}” has something")
            assert "+noted" in notice.text
            await person.presses(label)
            if label == "Accept":
                await person.sees(f"“Note {platform}” is accepted: the project has its changes.")
            else:
                await person.sees("is rejected")
            assert file.exists() is (label == "Accept")


def press(house: Hub, notice: Message, label: str) -> CallbackQuery:
    """The owner presses the button that says this."""
    rows = (notice.keyboard or {})["inline_keyboard"]
    labels = [one["text"] for row in rows for one in row]
    return house.telegram.user_presses_button(OWNER, notice.id, labels.index(label))


async def test_a_running_job_receives_a_message_and_keeps_its_secrets(
    tmp_path: Path, worker_image: str
) -> None:
    async with house_with(tmp_path, worker_image) as house:
        house.model.enqueue(tools(shell("while [ ! -e go ]; do sleep 0.1; done; echo went")))
        named = await started(house, "/job --sandbox wait for a word")
        job = await becomes(house, named, JobState.IN_PROGRESS)
        container = await running(house)
        await house.model.wait_requests(timeout_s=LIMIT_S)
        house.telegram.user_sends_text(OWNER, f"/prompt {named} make it green")
        await house.telegram.wait_text(OWNER, f"Job {named} hears it before its next step.")
        inside = run(
            "docker",
            "exec",
            container,
            "sh",
            "-c",
            "cat /proc/*/environ /proc/*/cmdline /proc/*/mem 2>&1 | tr '\\0' '\\n'",
        )
        told = inside + run("docker", "inspect", container) + run("docker", "logs", container)
        told += run("docker", "history", "--no-trunc", worker_image)
        assert KEY not in told
        look = f"grep -rlsF --exclude-dir=proc --exclude-dir=sys -e {KEY} / || test $? -lt 3"
        assert run("docker", "exec", container, "sh", "-c", look) == "", "no file has it"
        assert "Permission denied" in inside, "nothing looks into the worker, not even as its own user"
        (known,) = rows(house, "SELECT token_hash FROM job_containers")
        assert known[0] not in {
            hashlib.sha256(word.encode()).hexdigest() for word in re.findall(r"[0-9a-f]{64}", told)
        }
        assert [await asked(house, token) for token in ("", "Bearer x", f"Bearer {known[0]}")] == [401] * 3
        house.model.enqueue(text("It is green."))
        run("docker", "exec", container, "touch", "/workspace/go")
        await house.telegram.wait_text(OWNER, "It is green.", timeout_s=LIMIT_S)
        heard = [one["content"] for one in house.model.log[-1].body["messages"] if one["role"] == "user"]
        assert heard == ["wait for a word", "make it green"]
        assert rows(house, "SELECT token_hash FROM job_containers") == [(None,)]
        events = [(one.kind.value, one.name) for one in await house.store.jobs.job_events(job.id, 0, 100)]
        assert events[:5] == [
            ("status", "pending"),
            ("status", "in_progress"),
            ("message", "user"),
            ("tool_use", "shell"),
            ("tool_result", "shell"),
        ]
        assert events[-1] == ("result", "submitted")


async def test_pausing_tools_pauses_job_containers_until_unpaused(tmp_path: Path, worker_image: str) -> None:
    async with house_with(tmp_path, worker_image) as house:

        async def says(text: str, answer: str) -> bool:
            """Whether the container stands still once this is answered."""
            house.telegram.user_sends_text(OWNER, text)
            await house.telegram.wait_text(OWNER, answer, timeout_s=LIMIT_S)
            return "true" in run("docker", "inspect", "--format", "{{.State.Paused}}", container)

        house.model.enqueue(tools(shell("while [ ! -e go ]; do sleep 0.1; done; echo went")))
        await started(house, "/job --sandbox wait for a word")
        container = await running(house)
        await house.model.wait_requests(timeout_s=LIMIT_S)
        assert await says("/pause", "All tools are paused.")
        house.telegram.user_sends_text(OWNER, "/job --sandbox begin later")
        await house.telegram.wait_text(OWNER, "begin later", timeout_s=LIMIT_S)
        await house.stop()
        assert (await asyncio.to_thread(command, house.directory, "tools", "unpause")).code == 0
        house.model.enqueue(text("It began."), text("It went."))
        await house.start()
        await house.telegram.wait_text(OWNER, "It began.", timeout_s=LIMIT_S)
        run("docker", "exec", container, "touch", "/workspace/go")
        await house.telegram.wait_text(OWNER, "It went.", timeout_s=LIMIT_S)


def token_in(container: str, known: object) -> str:
    """The token that the worker of a container has in its memory, which only root of this machine reads."""
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, ValueError):
            if container not in (process / "cgroup").read_text():
                continue
            with (process / "mem").open("rb", buffering=0) as memory:
                for line in (process / "maps").read_text().splitlines():
                    place, modes, *_ = line.split()
                    if not modes.startswith("rw"):
                        continue
                    begin, end = (int(one, 16) for one in place.split("-"))
                    memory.seek(begin)
                    for word in re.findall(rb"[0-9a-f]{64}", memory.read(end - begin)):
                        if hashlib.sha256(word).hexdigest() == known:
                            return word.decode()
    raise AssertionError("the token is nowhere")


async def test_a_token_is_known_to_its_own_job_until_its_end(tmp_path: Path, worker_image: str) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root looks into the worker")
    async with house_with(tmp_path, worker_image) as house:
        wait = "while [ ! -e go ]; do sleep 0.1; done"
        for words in ("first", "second"):
            house.model.rule(words, tools(shell(wait)))
            house.model.rule(words, text(f"It was the {words}."), on="tool")
        first = await started(house, "/job --sandbox do the first")
        container = await running(house)
        await house.model.wait_requests(1, state="answered", timeout_s=LIMIT_S)
        ((known,),) = rows(house, "SELECT token_hash FROM job_containers")
        bearer = f"Bearer {token_in(container, known)}"
        assert await asked(house, bearer, seq=99) == 409, "it is known, and that request is not the next one"
        second = await started(house, "/job --sandbox do the second", 2)
        await house.model.wait_requests(2, state="answered", timeout_s=LIMIT_S)
        assert await asked(house, bearer, seq=99) == 401, "another job's"
        (sockets,) = (tmp_path / "data" / "containers").glob("1/socket")
        run("docker", "exec", container, "touch", "/workspace/go")
        await house.telegram.wait_text(OWNER, "It was the first.", timeout_s=LIMIT_S)
        await becomes(house, first, JobState.SUBMITTED)
        assert list(sockets.iterdir()) == [], "nobody answers there any more"
        await house.stop()
        await house.start()
        await house.until(partial(asyncio.to_thread, (sockets.parents[1] / "2/socket/hub.sock").exists))
        assert await asked(house, bearer, seq=99) == 401
        assert list(sockets.iterdir()) == []
        house.telegram.user_sends_text(OWNER, f"/cancel {second}")
        await becomes(house, second, JobState.CANCELLED)
        await house.until(partial(none_left, house))


async def test_only_leftover_containers_of_this_hub_are_removed(tmp_path: Path, worker_image: str) -> None:
    async with house_with(tmp_path, worker_image) as house:
        house.model.enqueue(tools(shell("while [ ! -e go ]; do sleep 0.1; done")), text("It went on."))
        named = await started(house, "/job --sandbox wait for a word")
        container = await running(house)
        await house.model.wait_requests(1, state="answered", timeout_s=LIMIT_S)
        hub = run("docker", "inspect", "--format", '{{index .Config.Labels "hubbub.hub"}}', container).strip()
        await house.stop()
        make = ("docker", "create", "--label=hubbub.job=gone")
        orphan, others = (
            run(*make, f"--label=hubbub.hub={whose}", worker_image).strip() for whose in (hub, "another")
        )
        left = tmp_path / "data" / "containers" / "99" / "project"
        left.mkdir(parents=True)
        try:
            await house.start()

            async def tidied() -> bool:
                return orphan[:12] not in containers(house) and not left.exists()

            await house.until(tidied)
            assert containers(house) == [container]
            assert run("docker", "ps", "--all", "--quiet", "--filter", f"id={others}").strip() == others[:12]
            run("docker", "exec", container, "touch", "/workspace/go")
            await house.telegram.wait_text(OWNER, "It went on.", timeout_s=LIMIT_S)
            await becomes(house, named, JobState.SUBMITTED)
            await asyncio.to_thread(command, house.directory, "jobs", "reject", named)
            await becomes(house, named, JobState.FAILED)

            async def nothing_waits() -> bool:
                return not await house.store.jobs.has_waiting_jobs()

            await house.until(nothing_waits)
            await house.stop()
            run(*make, f"--label=hubbub.hub={hub}", worker_image)
            await house.start()
            await house.until(partial(none_left, house))
        finally:
            run("docker", "rm", "--force", others)


async def test_a_hub_whose_disk_is_nearly_full_starts_no_container(tmp_path: Path, worker_image: str) -> None:
    free = os.statvfs(tmp_path)
    if free.f_bavail * free.f_frsize > 2 * MOST_DISK_MB * 1_000_000:
        pytest.skip("the disk has room for twice what can be configured")
    extra = f'[sandbox]\nenabled = true\nimage = "{worker_image}"\ndisk_mb = {MOST_DISK_MB}\n'
    async with open_hub(tmp_path, extra=extra) as house:
        job = await becomes(house, await started(house, "/job --sandbox rest"), JobState.FAILED)
        why = "The disk of the hub has less than twice [sandbox] disk_mb free, so no container is started."
        assert job.reason == f"{why} Make room."
        assert (containers(house), len(house.model.log)) == ([], 0)


async def test_a_job_asks_its_owner_for_a_secret_as_it_works_and_waits_for_the_answer(
    tmp_path: Path, worker_image: str
) -> None:
    async with house_with(tmp_path, worker_image) as house:
        for name in ("deploy-key", "other-key"):
            await asyncio.to_thread(command, house.directory, "secrets", "set", name, stdin=VALUE.encode())
        once = 'printf %s "$DEPLOY_KEY" | wc -c'
        both = tools(shell(once, credentials=["deploy-key"]), shell(once, credentials=["deploy-key"]))
        refused = tools(shell("echo never", credentials=["other-key", "deploy-key"]))
        house.model.enqueue(both)
        named = await started(house, "/job --sandbox deploy it")
        card = await house.telegram.wait_text(OWNER, "have the secret deploy-key?", timeout_s=LIMIT_S)
        assert "wc -c" in card.text, "what the job is at"
        house.telegram.user_sends_text(OWNER, f"/prompt {named} make it green")
        await house.telegram.wait_text(OWNER, f"Job {named} hears it before its next step.")
        # A text in the conversation is none of its answers.
        _, asked_for = await called(house, "GET", "/approvals")
        (gate,) = asked_for["approvals"]
        job = await becomes(house, named, JobState.IN_PROGRESS)
        assert (gate["kind"], gate["job_id"], gate["may_decide"]) == ("credential", job.id, True)
        assert [one["label"] for one in gate["choices"]] == ["Approve", "Deny"]
        house.telegram.user_sends_text(OWNER, "please call: time {}")
        await house.telegram.wait_text(OWNER, "UTC")
        for reply in (refused, refused, text(f"Deployed: {VALUE}")):
            house.model.enqueue(reply)
        press(house, card, "Approve")
        other = await house.telegram.wait_text(OWNER, "have the secret other-key?", timeout_s=LIMIT_S)
        press(house, other, "Deny")
        done = await house.telegram.wait_text(OWNER, "Deployed:", timeout_s=LIMIT_S)
        job = await becomes(house, named, JobState.COMPLETED)
        assert job.missing_grants == (), "a denial is no wish for a grant"
        said = house.model.log[-1].body["messages"]
        results = [one["content"] for one in said if one["role"] == "tool"]
        assert [str(len(VALUE)) in one for one in results] == [True, True, False, False]
        assert all("denied this job the secret other-key" in one for one in results[2:])
        assert "make it green" in str(house.model.log[-1].body)
        asked_twice = [one for one in house.telegram.bot_messages(OWNER) if "have the secret" in one.text]
        assert [one.keyboard for one in asked_twice] == [None, None], "one card for each, answered"
        assert not await granted(house), "it was for this job only"
        await stays_secret(house, job, done.text)
        # The same job again asks again; cancelled, it asks no more.
        house.model.enqueue(tools(shell(once, credentials=["deploy-key"])))
        await asyncio.to_thread(command, house.directory, "jobs", "restart", named)
        await house.telegram.wait_for(lambda: len(asks(house, "deploy-key")) == 2, LIMIT_S)
        again = (await house.store.jobs.jobs("owner", 1))[0]
        house.telegram.user_sends_text(OWNER, f"/cancel {again.short_id}")
        await house.telegram.wait_for(lambda: asks(house, "deploy-key")[1].keyboard is None, LIMIT_S)
        assert "The job has ended." in asks(house, "deploy-key")[1].text
        assert (await called(house, "GET", "/approvals"))[1]["approvals"] == []
        await becomes(house, again.short_id, JobState.CANCELLED)


VALUE = "correct-horse-battery"


def asks(house: Hub, name: str) -> Sequence[Message]:
    """The cards about a secret."""
    return [one for one in house.telegram.bot_messages(OWNER) if f"have the secret {name}?" in one.text]


async def stays_secret(house: Hub, job: JobRow, said: str) -> None:
    """The value is in nothing that is told, logged or stored."""
    events = [one.text for one in await house.store.jobs.job_events(job.id, 0, 100)]
    assert "The job was given the credential “deploy-key”" in events
    diff = await asyncio.to_thread(command, house.directory, "jobs", "diff", job.short_id)
    audit = await asyncio.to_thread(command, house.directory, "audit", "export")
    assert "secret_used" in audit.out
    told = [said, *events, diff.out, audit.out, *(str(one.body) for one in house.model.log.all())]
    assert not [one for one in told if VALUE in one]
    assert VALUE.encode() not in b"".join(path.read_bytes() for path in house.database.parent.glob("hub.*"))


async def test_a_job_has_a_granted_secret_unasked_and_it_stays_secret(
    tmp_path: Path, worker_image: str
) -> None:
    async with house_with(tmp_path, worker_image) as house:
        use = 'printf %s "$DEPLOY_KEY" | tee key.txt | wc -c; env'
        house.model.rule("deploy it", tools(shell(use, credentials=["deploy-key"])))
        house.model.rule("", text("I tried."), on="tool")
        first = await started(house, "/job --sandbox deploy it")
        notice = await house.telegram.wait_text(OWNER, "credential deploy-key", timeout_s=LIMIT_S)
        assert "has no grant for the secret deploy-key" in house.model.log[-1].tool_results[0]
        assert (await becomes(house, first, JobState.COMPLETED)).missing_grants == ("credential deploy-key",)
        await asyncio.to_thread(
            command, house.directory, "secrets", "set", "deploy-key", stdin=VALUE.encode()
        )
        press(house, notice, "Allow for this job")
        await house.until(lambda: granted(house))
        house.model.enqueue(tools(shell(use, credentials=["deploy-key"])), on="user")
        house.model.enqueue(text("Deployed: " + VALUE), on="tool")
        press(house, notice, "Do it again")
        done = await house.telegram.wait_text(OWNER, "Deployed:", timeout_s=LIMIT_S)
        (second,) = await house.store.jobs.jobs("owner", 1)
        assert (second.parent is not None, second.missing_grants) == (True, ())
        assert str(len(VALUE)) in house.model.log[-1].tool_results[0]
        await stays_secret(house, second, done.text)
        assert asks(house, "deploy-key") == []


async def granted(house: Hub) -> bool:
    return bool(rows(house, "SELECT 1 FROM grants WHERE tool = 'credential'"))


GO_OUT = """
import http.client, os, socket, urllib.parse
proxy = urllib.parse.urlsplit(os.environ["HTTPS_PROXY"])
def ask(host, port):
    connection = http.client.HTTPConnection(proxy.hostname, proxy.port)
    connection.set_tunnel(host, port)
    try:
        connection.request("GET", "/from-inside")
        return connection.getresponse().read().decode()
    except OSError as error:
        return str(error)
print("named:", ask("{site}", {port}))
print("address:", ask("127.0.0.1", {port}))
print("port:", ask("{site}", 22))
try:
    socket.create_connection(("127.0.0.1", {port}), 2)
except OSError as error:
    print("direct:", type(error).__name__)
"""


async def test_a_job_reaches_the_hosts_that_the_operator_named_and_nothing_else(
    tmp_path: Path, worker_image: str
) -> None:
    async def on_this_machine(host: str, port: int) -> Sequence[str]:
        return ["127.0.0.1"]

    async with Website() as site:
        egress = f'egress = ["{SITE}:{site.port}"]\n[network]\nallow_private = ["127.0.0.1:{site.port}"]'
        async with house_with(tmp_path, worker_image, egress, on_this_machine) as house:
            script = GO_OUT.replace("{site}", SITE).replace("{port}", str(site.port))
            go = tools(shell(f"python3 - <<'END'\n{script}\nEND"))
            wait = tools(shell("while [ ! -e go ]; do sleep 0.1; done"))
            for reply in (go, wait, go, text("I was out.")):
                house.model.enqueue(reply)
            named = await started(house, "/job --sandbox go out")
            await house.model.wait_requests(2, timeout_s=LIMIT_S)

            async def logged() -> bool:
                _, use = await called(house, "GET", f"/jobs/{named}/container")
                return len(use.get("connections", ())) == 3

            await house.until(logged)
            await house.stop()  # the same container finds the next hub's proxy
            await house.start()

            async def measured() -> bool:
                return bool((await called(house, "GET", f"/jobs/{named}/container"))[1]["samples"])

            await house.until(measured)
            run("docker", "exec", await running(house), "touch", "/workspace/go")
            await house.telegram.wait_text(OWNER, "I was out.", timeout_s=LIMIT_S)
            job = await becomes(house, named, JobState.SUBMITTED)
            results = [
                one.text
                for one in await house.store.jobs.job_events(job.id, 0, 100)
                if one.kind is JobEventKind.TOOL_RESULT
            ]
            for said in (results[0], results[2]):
                assert "named: hello from /from-inside" in said
                assert "address: Tunnel connection failed: 403" in said
                assert "port: Tunnel connection failed: 403" in said
                assert "direct: ConnectionRefusedError" in said
            assert site.paths == ["/from-inside"] * 2
            _, use = await called(house, "GET", f"/jobs/{named}/container")
            assert (use["image"], use["memory_mb"], use["egress"]) == (
                worker_image, 256, [f"{SITE}:{site.port}"],
            )  # fmt: skip
            reached = {one["target"]: (one["connections"], one["refused"]) for one in use["connections"]}
            assert reached.pop(f"{SITE}:{site.port}") == (2, None), "of both hubs"
            assert sorted(reached) == [f"127.0.0.1:{site.port}", f"{SITE}:22"]
            assert all(one["memory_bytes"] > 1_000_000 for one in use["samples"])
            assert f"The only network is https to {SITE}:{site.port}" in json.dumps(house.model.log[0].body)


async def test_a_cancelled_job_ends_on_both_sides_within_three_seconds(
    tmp_path: Path, worker_image: str, quickly_s: float
) -> None:
    async with house_with(tmp_path, worker_image) as house:
        house.model.enqueue(tools(shell("sleep 61")))
        named = await started(house, "/job --sandbox rest")
        await running(house)
        await house.model.wait_requests(timeout_s=LIMIT_S)
        house.telegram.user_sends_text(OWNER, f"/cancel {named}")
        await house.telegram.wait_text(OWNER, f"Job {named} is cancelled.")
        began = time.monotonic()
        await house.until(partial(none_left, house))
        assert time.monotonic() - began < quickly_s
        await becomes(house, named, JobState.CANCELLED)


TROUBLES = {
    "a container that runs out of memory": (
        "python3 -c 'x = bytearray(400_000_000)'",
        "it may have used up",
        None,
    ),
    "a fork bomb": ("f() { f | f & }; f; sleep 2", "Cannot fork", None),
    "a gigabyte of output": ("head -c 1000000000 /dev/zero | tr '\\0' x", "characters omitted", None),
    "a full disk": ("head -c 300000000 /dev/urandom > large; sleep 60", None, "disk limit"),
    "a disk full of files in memory": (
        "for at in /tmp /dev/shm .; do head -c 24000000 /dev/zero > $at/a; done;"
        " head -c 40000000 /dev/zero > b; sleep 60",
        None,
        "disk limit",
    ),
    "a full memory disk": ("head -c 300000000 /dev/zero > /tmp/large", "No space left", None),
    "the end of the worker": ("kill -9 $PPID; sleep 1", None, "How far shell came is unknown."),
}


async def test_a_failure_in_a_container_ends_its_job_with_a_named_error(
    tmp_path: Path, worker_image: str
) -> None:
    async with house_with(tmp_path, worker_image, "max_parallel = 8\nmax_per_user = 8") as house:
        for command, _, _ in TROUBLES.values():
            house.model.rule(re.escape(f"do: {command}"), tools(shell(command)))
        jobs = {}
        for number, (name, (command, _, _)) in enumerate(TROUBLES.items(), start=1):
            jobs[name] = await started(house, f"/job --sandbox do: {command}", number)
        for name, (_, result, reason) in TROUBLES.items():
            job = await becomes(house, jobs[name], JobState.FAILED if reason else JobState.COMPLETED)
            if reason:
                assert reason in job.reason, name
            if result:
                events = await house.store.jobs.job_events(job.id, 0, 100)
                assert any(result in one.text for one in events), (name, [one.text for one in events])
        assert (await house.readyz())[0] == 200


async def test_a_worker_that_runs_out_of_memory_ends_with_that_name_and_its_commands_are_killed_first(
    tmp_path: Path, worker_image: str
) -> None:
    async with house_with(tmp_path, worker_image) as house:
        fill = "head -c 4000000 /dev/zero | tr '\\0' '\\n' > lines; touch ready"
        wait = "while [ ! -e go ]; do sleep 0.1; done; cat /proc/self/oom_score_adj"
        house.model.enqueue(tools(shell(f"{fill}; {wait}")))
        house.model.enqueue(tools(ToolCall("read_file", {"path": "lines"})))
        named = await started(house, "/job --sandbox read much")

        async def waits() -> bool:
            return bool(list((tmp_path / "data" / "containers").glob("*/project/ready")))

        await house.until(waits)
        container = await running(house)
        # From here on the worker has room for itself alone, so that nothing else can be struck.
        (used,) = re.findall(r"^([\d.]+)MiB", run(*STATS, container))
        limit = f"{float(used) + 10:.0f}m"
        run("docker", "update", f"--memory={limit}", f"--memory-swap={limit}", container)
        run("docker", "exec", container, "touch", "/workspace/go")
        job = await becomes(house, named, JobState.FAILED)
        why = "Out of memory: the container used up its 256 MB."
        assert job.reason == f"{why} How far read_file came is unknown."
        events = await house.store.jobs.job_events(job.id, 0, 100)
        (result,) = [
            one.text for one in events if one.kind is JobEventKind.TOOL_RESULT and "1000" in one.text
        ]
        assert result
        assert (await house.readyz())[0] == 200


def rows(house: Hub, sql: str) -> list[tuple[object, ...]]:
    """What the hub's database says, read beside it."""
    with contextlib.closing(sqlite3.connect(f"file:{house.database}?mode=ro", uri=True)) as database:
        return database.execute(sql).fetchall()


async def running(house: Hub) -> str:
    """The container of the one job, once it runs."""
    found: list[str] = []

    async def there() -> bool:
        found[:] = containers(house)
        return bool(found)

    await house.until(there)
    return found[0]


async def test_a_job_that_takes_too_long_ends_with_its_container(tmp_path: Path, worker_image: str) -> None:
    async with house_with(tmp_path, worker_image, "[jobs]\ntimeout_s = 8") as house:
        house.model.enqueue(tools(shell("sleep 61")))
        named = await started(house, "/job --sandbox rest")
        job = await becomes(house, named, JobState.FAILED)
        assert job.reason == "Execution timeout"
        events = await house.store.jobs.job_events(job.id, 0, 100)
        states = [one.name for one in events if one.kind is JobEventKind.STATUS]
        assert states == ["pending", "in_progress", "stuck", "failed"]


async def test_a_missing_image_is_named_with_what_to_do(tmp_path: Path) -> None:
    async with house_with(tmp_path, "hubbub-nowhere") as house:
        job = await becomes(house, await started(house, "/job --sandbox rest"), JobState.FAILED)
        assert (
            job.reason
            == "Docker has no image hubbub-nowhere; run: hubbub sandbox build --image hubbub-nowhere"
        )


async def test_a_job_works_in_the_image_it_chose_if_that_is_a_worker(
    tmp_path: Path, worker_image: str
) -> None:
    bare = f"{worker_image}-bare"
    run("docker", "import", "-", bare, input="\0" * 10_240)  # an archive of nothing
    try:
        images = f'images = ["{worker_image}", "{bare}"]'
        async with house_with(tmp_path, "hubbub-nowhere", images) as house:
            house.model.enqueue(text("Rested."))
            named = await started(house, f"/job --sandbox=app --image={worker_image} rest")
            await becomes(house, named, JobState.COMPLETED)
            named = await started(house, f"/job --sandbox=app --image={bare} rest", 2)
            job = await becomes(house, named, JobState.FAILED)
            assert job.reason.startswith(f"The image {bare} is no worker of this version; run: ")
            taken_back = NewJob("old", job.owner_id, "old", "rest", (), project="app", image="taken-back")
            named = (await house.store.jobs.save_job(taken_back)).short_id
            job = await becomes(house, named, JobState.FAILED)
            assert job.reason == "The image taken-back is no longer one of [sandbox] images."
    finally:
        run("docker", "image", "rm", bare)


async def nothing_in(directory: Path) -> bool:
    return not list(directory.iterdir())


async def called(house: Hub, method: str, path: str, body: object = None) -> tuple[int, dict[str, Any]]:
    """The hub's answer to its owner's program."""
    access = json.loads((house.directory / "data" / "api.json").read_text())
    headers = {"Authorization": f"Bearer {access['token']}"}
    async with (
        aiohttp.ClientSession(access["url"], headers=headers) as session,
        session.request(method, f"/api{path}", json=body) as answer,
    ):
        return answer.status, await answer.json()


async def asked(house: Hub, authorization: str, seq: int = 2) -> int:
    """The status of the hub's answer to one that is not the worker, on the socket of the newest job."""
    found = (house.directory / "data" / "containers").glob("*/socket/hub.sock")
    descriptor = os.open(max(found, key=lambda one: int(one.parts[-3])).parent, os.O_RDONLY)
    try:
        reader, writer = await asyncio.open_unix_connection(f"/proc/self/fd/{descriptor}/hub.sock")
    finally:
        os.close(descriptor)
    body = json.dumps({"seq": seq, "kind": "complete"}).encode()
    writer.write(f"POST /v1/requests HTTP/1.1\r\nHost: hub\r\nAuthorization: {authorization}\r\n".encode())
    writer.write(f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode() + body)
    status = int((await reader.readline()).split()[1])
    writer.close()
    await writer.wait_closed()
    return status
