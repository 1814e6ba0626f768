"""The protocols of providers, spoken by OpenAI's own library to the port of an agent CLI for its models."""

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from core.job import JobState
from core.sandbox.provider_wire import OUTPUT_TOKENS
from tests.bot.sandbox.test_container_jobs import house_with, none_left, running, shell
from tests.harness.images import run
from tests.harness.telegram_hub import LIMIT_S, OWNER
from tests.scenarios.test_jobs import becomes, started
from tests.simulators.model import ToolCall, text, tools
from tests.tree import ROOT

pytestmark = [pytest.mark.docker, pytest.mark.slow, pytest.mark.timeout(300)]
LOOK: Any = {
    "type": "function",
    "name": "look",
    "description": "Look something up.",
    "parameters": {"type": "object", "properties": {"what": {"type": "string"}}},
    "strict": False,
}


def speak(port: int) -> None:
    """Ask the port as programs do; print what the library made of the answers. Runs where the port is."""
    import openai

    client = openai.OpenAI(base_url=f"http://127.0.0.1:{port}/v1", api_key="any", max_retries=0)
    first = client.responses.create(
        model="any", instructions="Be brief.", input="look up tea", tools=[LOOK], max_output_tokens=500
    )
    (call,) = first.output
    assert call.type == "function_call", call
    result: Any = {"type": "function_call_output", "call_id": call.call_id, "output": "green tea"}
    more: list[Any] = [{"role": "user", "content": "look up tea"}, call.to_dict(), result]
    kinds: list[str] = []
    with client.responses.stream(model="any", input=more, tools=[LOOK]) as stream:
        kinds.extend(event.type for event in stream)
        last = stream.get_final_response()
    with client.responses.stream(model="any", input="look up milk", tools=[LOOK]) as stream:
        (streamed,) = stream.get_final_response().output
    refused = None
    try:
        client.responses.create(model="any", input="go on", previous_response_id=first.id)
    except openai.BadRequestError as error:
        refused = error.status_code
    chat = client.chat.completions.create(
        model="any", messages=[{"role": "user", "content": "say hello"}], max_tokens=1_000_000
    )
    said = {
        "call": [call.name, call.arguments, first.status],
        "text": [last.output_text, last.status],
        "streamed": streamed.to_dict(),
        "usage": [one.usage.to_dict() for one in (first, last) if one.usage is not None],
        "kinds": kinds,
        "refused": refused,
        "chat": chat.choices[0].message.content,
    }
    print(json.dumps(said))


async def test_the_official_library_has_responses_by_the_hubs_models(
    tmp_path: Path, scripted_agent_image: str
) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root enters the network of a container")
    async with house_with(tmp_path, scripted_agent_image, 'agents = ["claude"]') as house:
        house.model.rule("mend it", tools(shell("sleep 999")))
        house.model.rule("look up tea", tools(ToolCall("look", {"what": "tea"})))
        house.model.rule("look up tea", text("Tea is green."), on="tool")
        house.model.rule("look up milk", tools(ToolCall("look", {"what": "milk"})))
        house.model.rule("say hello", text("Hello."))
        named = await started(house, "/job --sandbox --mode=claude mend it")
        container = await running(house)
        await house.model.wait_requests(1, state="answered", timeout_s=LIMIT_S)
        port = run("docker", "exec", container, "cat", "/tmp/agent/port")
        process = run("docker", "inspect", "--format", "{{.State.Pid}}", container).strip()
        script = f"from {__name__} import speak; speak({int(port)})"
        spoken = await asyncio.to_thread(
            subprocess.run,
            ["nsenter", f"--net=/proc/{process}/ns/net", sys.executable, "-c", script],
            capture_output=True, text=True, check=False, cwd=ROOT,
        )  # fmt: skip
        assert spoken.returncode == 0, spoken.stderr
        said = json.loads(spoken.stdout)
        name, arguments, status = said["call"]
        assert (name, json.loads(arguments), status) == ("look", {"what": "tea"}, "completed")
        assert said["text"] == ["Tea is green.", "completed"]
        assert json.loads(said["streamed"]["arguments"]) == {"what": "milk"}
        assert said["kinds"][0] == "response.created"
        assert said["kinds"][-1] == "response.completed"
        assert (said["refused"], said["chat"]) == (400, "Hello.")
        calls = house.model.log.all()
        assert len(calls) == 5, "the refused call reached no model"
        given = [one.body["max_tokens"] for one in calls]
        assert given == [1_000, 500, OUTPUT_TOKENS, OUTPUT_TOKENS, OUTPUT_TOKENS], (
            "no more than the hub allows"
        )
        assert {one.body["model"] for one in calls} == {"sim-1"}, "whatever they name"
        assert "Be brief." in str(calls[1].body)
        assert "green tea" in calls[2].tool_results[-1]
        assert [one["input_tokens"] for one in said["usage"]] == [one.counted[0] for one in calls[1:3]]
        job = await becomes(house, named, JobState.IN_PROGRESS)
        house.telegram.user_sends_text(OWNER, f"/cancel {named}")
        await house.telegram.wait_text(OWNER, f"Job {named} is cancelled.")
        job = await becomes(house, named, JobState.CANCELLED)
        await house.until(lambda: none_left(house))
        assert job.input_tokens == sum(one.counted[0] for one in calls), "each counts in the job's limits"
