"""Pydantic AI with the models of its three providers: the library runs the tools and keeps the conversation."""

import asyncio
from typing import Callable

from driver import Answer, Cell, Client
from pydantic_ai import Agent, Tool
from pydantic_ai.messages import ModelResponse, PartDeltaEvent, PartStartEvent, TextPart, TextPartDelta, ThinkingPart
from pydantic_ai.models.anthropic import AnthropicModel, AnthropicModelSettings
from pydantic_ai.models.google import GoogleModel, GoogleModelSettings
from pydantic_ai.models.openai import (
    OpenAIChatModel,
    OpenAIChatModelSettings,
    OpenAIResponsesModel,
    OpenAIResponsesModelSettings,
)
from pydantic_ai.profiles.openai import OpenAIModelProfile
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.google import GoogleProvider
from pydantic_ai.providers.openai import OpenAIProvider


def ask(model_of: Callable, thinking: dict) -> Callable[[Cell], Answer]:
    async def hold(cell: Cell) -> Answer:
        settings = thinking if cell.thinking else None
        agent = Agent(model_of(cell), tools=tools_of(cell), model_settings=settings, retries=0)
        texts: list[str] = []
        history: list = []
        for prompt in cell.prompts:
            async with agent.iter(prompt, message_history=history) as run:
                async for node in run:
                    if cell.stream and Agent.is_model_request_node(node):
                        cell.restart()
                        async with node.stream(run.ctx) as stream:
                            async for event in stream:
                                cell.on_piece(piece_in(event))
            texts.append(run.result.output)
            history = run.result.all_messages()
        parts = [part for message in history if isinstance(message, ModelResponse) for part in message.parts]
        return Answer(texts, "".join(part.content for part in parts if isinstance(part, ThinkingPart)))

    return lambda cell: asyncio.run(hold(cell))


def piece_in(event) -> str | None:
    if isinstance(event, PartStartEvent) and isinstance(event.part, TextPart):
        return event.part.content
    if isinstance(event, PartDeltaEvent) and isinstance(event.delta, TextPartDelta):
        return event.delta.content_delta
    return None


def tools_of(cell: Cell) -> list[Tool]:
    def named(name: str, description: str) -> Tool:
        def run(city: str) -> str:
            return cell.call_tool(name, city)

        return Tool(run, name=name, description=description)

    return [named(each["name"], each["description"]) for each in cell.tools]


def openai_provider(cell: Cell) -> OpenAIProvider:
    return OpenAIProvider(base_url=f"{cell.url}/v1", api_key=cell.key)


def anthropic_model(cell: Cell) -> AnthropicModel:
    return AnthropicModel(cell.model, provider=AnthropicProvider(api_key=cell.key, base_url=f"{cell.url}/anthropic"))


def google_model(cell: Cell) -> GoogleModel:
    return GoogleModel(cell.model, provider=GoogleProvider(api_key=cell.key, base_url=f"{cell.url}/gemini"))


ERRORS = {
    "wrong key": "ModelAuthenticationError",
    "unknown model": "ModelNotFoundError",
    "refused by the provider": "ModelRequestRejectedError",
    "broken stream": "ModelUnavailableError",
}

clients = [
    Client(
        "pydantic-ai openai chat",
        "pydantic-ai-slim",
        "openai",
        ERRORS,
        ask(
            lambda cell: OpenAIChatModel(cell.model, provider=openai_provider(cell)),
            OpenAIChatModelSettings(openai_reasoning_effort="high"),
        ),
        # Chat completions cannot ask to see thoughts; of these models all but Google's show them unasked.
        shows=lambda cell: not cell.model.startswith("google/"),
    ),
    Client(
        "pydantic-ai openai responses",
        "pydantic-ai-slim",
        "openai",
        {**ERRORS, "broken stream": "ModelAPIError"},
        ask(
            # By the name alone it does not know that the model takes its sealed reasoning back.
            lambda cell: OpenAIResponsesModel(
                cell.model,
                provider=openai_provider(cell),
                profile=OpenAIModelProfile(openai_supports_encrypted_reasoning_content=True),
            ),
            OpenAIResponsesModelSettings(openai_reasoning_effort="high", openai_reasoning_summary="auto"),
        ),
    ),
    Client(
        "pydantic-ai anthropic",
        "pydantic-ai-slim",
        "anthropic",
        {**ERRORS, "broken stream": "ModelOverloadedError"},
        ask(
            anthropic_model,
            AnthropicModelSettings(anthropic_thinking={"type": "enabled", "budget_tokens": 2048}, max_tokens=8192),
        ),
    ),
    Client(
        "pydantic-ai google",
        "pydantic-ai-slim",
        "gemini",
        ERRORS,
        ask(
            google_model,
            GoogleModelSettings(google_thinking_config={"include_thoughts": True, "thinking_budget": 2048}),
        ),
    ),
]
