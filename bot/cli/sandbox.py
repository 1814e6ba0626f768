"""`hubbub sandbox`: the image of workers, and the limits of containers, checked on one made for it."""

import asyncio
import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import typer

from bot.cli.conventions import print_json, print_table, printable
from bot.config.load import Loaded, load
from bot.jobs.docker_engine import (
    DockerEngine,
    DockerRefused,
    DockerUnreachable,
    ImageMissing,
    PolicyViolated,
    missing_image,
)
from bot.jobs.worker_image import (
    AgentFiles,
    ImageRefused,
    agents_from,
    build_context,
    labels_of,
    require_image,
    worker_version,
)
from bot.runtime import CommandFailed
from core.job import WORKER
from core.lazy import dataclass
from core.sandbox.disk import keeper_of
from core.sandbox.policy import MB, ContainerPolicy, RootRefused, container_user

CHECKED = "hubbub.check"
"""The label of a container that is only made to be checked."""


@dataclass(frozen=True, slots=True)
class SandboxView:
    """What `sandbox status` found. `images`: the others that a job may choose. `problem` says what to do;
    None: containers of each can run. `chat_tools`: shell and file tools of chats and routines work in
    containers, too."""

    docker: str | None
    image: str
    policy: Mapping[str, str]
    differences: tuple[str, ...] = ()
    problem: str | None = None
    chat_tools: bool = False
    images: tuple[str, ...] = ()


def show_status(path: Path | None, *, as_json: bool) -> None:
    """Print the limits of containers, and whether Docker keeps them. Raises CommandFailed if it does not."""
    loaded = load(path)
    section = loaded.config.sandbox
    found = replace(asyncio.run(_checked(loaded)), chat_tools=section.chat_tools, images=section.images)
    if as_json:
        print_json(found)
    else:
        _tell(found)
    if found.problem is not None:
        raise CommandFailed(found.problem)


def build_image(
    path: Path | None, base: str, agents: Sequence[str], node: Path | None, image: str | None
) -> None:
    """Build an image of workers, with the agents named as NAME=DIRECTORY. `image`: None for the usual one.

    Raises CommandFailed if Docker does not."""
    try:
        files = agents_from(agents, node)
    except ImageRefused as error:
        raise CommandFailed(str(error)) from error
    loaded = load(path, secrets=False)
    asyncio.run(_built(loaded, base, files, image or loaded.config.sandbox.image))


async def _built(loaded: Loaded, base: str, agents: AgentFiles | None, image: str) -> None:
    async with DockerEngine(loaded.environment) as engine:
        try:
            await engine.image_id(base)
            with build_context(base, agents) as context:
                await engine.build(context, image, labels_of(agents))
        except ImageMissing as error:
            raise CommandFailed(
                f"Docker has no image {base}; pull it, or name another with --base"
            ) from error
        except (DockerUnreachable, DockerRefused) as error:
            raise CommandFailed(str(error)) from error
    more = f" It has the agents {', '.join(agents.packages)}." if agents else ""
    typer.echo(f"Built {image}. Its workers are of version {worker_version()}.{more}")


def _tell(found: SandboxView) -> None:
    state = "not checked" if found.problem else "as stated here, checked on a container"
    chats = "in a container for each person" if found.chat_tools else "on this machine"
    rows = [("Docker", found.docker or "no answer"), ("image", found.image)]
    rows += [("images", ", ".join(found.images))] if found.images else []
    rows += [("chat tools", chats), *found.policy.items()]
    print_table(("containers", state), rows)
    for difference in found.differences:
        typer.echo(printable(difference))


async def _checked(loaded: Loaded) -> SandboxView:
    section = loaded.config.sandbox
    with tempfile.TemporaryDirectory(prefix="hubbub-check-") as directory:
        try:
            user = container_user(os.geteuid(), os.getegid(), 0)
        except RootRefused as error:
            return SandboxView(None, section.image, {}, problem=str(error))
        policy = ContainerPolicy(
            section.image, user, section.memory_mb, Path(directory), egress=section.egress
        ).within(section.disk_mb * MB)
        rows = dict(policy.rows())
        whose = "each container has its own" if os.geteuid() == 0 else "the hub's own"
        rows["user"] += f"; {whose}"
        keeper = keeper_of(loaded.config.hub.data_dir)
        rows["disk"] = f"{section.disk_mb:,} MB, {keeper}; files in memory count"
        view = SandboxView(None, section.image, rows)
        async with DockerEngine(loaded.environment) as engine:
            return await _tried(
                engine, [replace(policy, image=image) for image in (section.image, *section.images)], view
            )


async def _tried(engine: DockerEngine, policies: Sequence[ContainerPolicy], view: SandboxView) -> SandboxView:
    image = view.image
    try:
        daemon = await engine.probe()
        view = replace(view, docker=daemon.version)
        for policy in policies:
            image = policy.image
            await engine.remove(await engine.create(policy, ["true"], {CHECKED: "1"}))
            await require_image(engine, image, WORKER)
    except ImageMissing:
        return replace(view, problem=missing_image(image))
    except PolicyViolated as error:
        problem = f"Docker made a container of {image} with other limits than asked for"
        return replace(view, problem=problem, differences=error.differences)
    except (ImageRefused, DockerUnreachable, DockerRefused) as error:
        return replace(view, problem=str(error))
    if not daemon.filters_calls:
        return replace(view, problem="Docker runs without its default filter of system calls (seccomp)")
    return view
