"""OpenAI's Agents SDK, over responses and over chat completions: the SDK runs the tools and keeps the conversation."""

import asyncio
import json
from typing import Callable

from agents import Agent, FunctionTool, ModelSettings, OpenAIChatCompletionsModel, OpenAIResponsesModel, Runner
from driver import Answer, Cell, Client
from openai import AsyncOpenAI
from openai.types.shared import Reasoning


def ask(responses: bool) -> Callable[[Cell], Answer]:
    async def hold(cell: Cell) -> Answer:
        client = AsyncOpenAI(base_url=f"{cell.url}/v1", api_key=cell.key, max_retries=0, timeout=cell.timeout_s)
        model = (OpenAIResponsesModel if responses else OpenAIChatCompletionsModel)(cell.model, client)
        reasoning = Reasoning(effort="high", summary="auto" if responses else None)
        agent = Agent(
            name="Scenario",
            model=model,
            tools=[tool_of(each, cell) for each in cell.tools],
            model_settings=ModelSettings(reasoning=reasoning) if cell.thinking else ModelSettings(),
        )
        texts: list[str] = []
        thoughts = ""
        history: list = []
        for prompt in cell.prompts:
            history.append({"role": "user", "content": prompt})
            cell.restart()
            result = await (streamed(agent, history, cell) if cell.stream else Runner.run(agent, history))
            texts.append(result.final_output)
            history = result.to_input_list()
            thoughts += "".join(thoughts_in(item.raw_item) for item in result.new_items)
        return Answer(texts, thoughts)

    return lambda cell: asyncio.run(hold(cell))


async def streamed(agent: Agent, history: list, cell: Cell):
    result = Runner.run_streamed(agent, history)
    async for event in result.stream_events():
        if event.type != "raw_response_event":
            continue
        if event.data.type == "response.created":
            cell.restart()
        if event.data.type == "response.output_text.delta":
            cell.on_piece(event.data.delta)
    return result


def tool_of(given: dict, cell: Cell) -> FunctionTool:
    async def run(_, arguments: str) -> str:
        return cell.call_tool(given["name"], **json.loads(arguments))

    return FunctionTool(
        name=given["name"],
        description=given["description"],
        params_json_schema=given["schema"],
        on_invoke_tool=run,
        strict_json_schema=False,
    )


def thoughts_in(item) -> str:
    if getattr(item, "type", None) != "reasoning":
        return ""
    return "".join(part.text for part in [*(item.summary or []), *(item.content or [])])


ERRORS = {
    "wrong key": "AuthenticationError",
    "unknown model": "BadRequestError",
    "refused by the provider": "BadRequestError",
    "broken stream": "APIError",
}

clients = [
    Client("openai-agents-python responses", "openai-agents", "openai", {**ERRORS, "broken stream": "ModelBehaviorError"}, ask(responses=True)),
    Client(
        "openai-agents-python chat",
        "openai-agents",
        "openai",
        ERRORS,
        ask(responses=False),
        # Chat completions cannot ask to see thoughts; of these models all but Google's show them unasked.
        shows=lambda cell: not cell.model.startswith("google/"),
    ),
]
