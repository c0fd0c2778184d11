"""LangChain with the chat models of its three integrations, run by its agent."""

from typing import Callable

from driver import Answer, Cell, Client
from langchain.agents import create_agent
from langchain.tools import tool
from langchain_anthropic import ChatAnthropic
from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_google_genai import ChatGoogleGenerativeAI
from langchain_openai import ChatOpenAI


def ask(model_of: Callable[[Cell], object]) -> Callable[[Cell], Answer]:
    def hold(cell: Cell) -> Answer:
        agent = create_agent(model_of(cell), tools_of(cell))
        texts: list[str] = []
        reasoning = ""
        messages: list = []
        for prompt in cell.prompts:
            before = len(messages)
            messages = [*messages, {"role": "user", "content": prompt}]
            messages = streamed(agent, messages, cell) if cell.stream else agent.invoke({"messages": messages})["messages"]
            texts.append(messages[-1].text)
            reasoning += "".join(thoughts_in(message) for message in messages[before:])
        return Answer(texts, reasoning)

    return hold


def tools_of(cell: Cell) -> list:
    def named(name: str, description: str):
        def run(city: str) -> str:
            return cell.call_tool(name, city)

        return tool(name, description=description)(run)

    return [named(each["name"], each["description"]) for each in cell.tools]


def streamed(agent, messages: list, cell: Cell) -> list:
    cell.restart()
    last: list = []
    for mode, value in agent.stream({"messages": messages}, stream_mode=["messages", "values"]):
        if mode == "values":
            last = value["messages"]
        elif isinstance(value[0], AIMessageChunk):
            cell.on_piece(value[0].text)
    return last


def thoughts_in(message) -> str:
    blocks = message.content_blocks if isinstance(message, AIMessage) else []
    return "".join(block.get("reasoning", "") for block in blocks if block["type"] == "reasoning")


def openai(responses: bool) -> Callable[[Cell], ChatOpenAI]:
    def connect(cell: Cell) -> ChatOpenAI:
        effort = {"reasoning": {"effort": "high", "summary": "auto"}} if responses else {"reasoning_effort": "high"}
        return ChatOpenAI(
            model=cell.model,
            api_key=cell.key,
            base_url=f"{cell.url}/v1",
            max_retries=0,
            use_responses_api=responses,
            **(effort if cell.thinking else {}),
        )

    return connect


def anthropic(cell: Cell) -> ChatAnthropic:
    thinking = {"thinking": {"type": "enabled", "budget_tokens": 2048}} if cell.thinking else {}
    return ChatAnthropic(
        model=cell.model,
        api_key=cell.key,
        base_url=f"{cell.url}/anthropic",
        max_retries=0,
        max_tokens=8192,
        **thinking,
    )


def google(cell: Cell) -> ChatGoogleGenerativeAI:
    thinking = {"include_thoughts": True, "thinking_budget": 2048} if cell.thinking else {}
    return ChatGoogleGenerativeAI(
        model=cell.model,
        api_key=cell.key,
        base_url=f"{cell.url}/gemini",
        max_retries=1,
        **thinking,
    )


def errors_of(vendor: str, **other: str) -> dict[str, str]:
    """Each integration has classes of its own for refused requests; broken streams raise those of the vendor's library."""
    return {
        "wrong key": f"{vendor}AuthenticationError",
        "unknown model": f"{vendor}ModelNotFoundError",
        "refused by the provider": f"{vendor}InvalidRequestError",
        **other,
    }


OPENAI_ERRORS = errors_of("OpenAI", **{"unknown model": "OpenAIInvalidRequestError", "broken stream": "APIError"})

clients = [
    Client(
        "langchain-python openai chat",
        "langchain-openai",
        "openai",
        OPENAI_ERRORS,
        ask(openai(responses=False)),
        # The integration keeps no thoughts of chat completions.
        shows=lambda cell: False,
    ),
    Client(
        "langchain-python openai responses",
        "langchain-openai",
        "openai",
        # A stream that ends in `response.failed` has no answer that it could read.
        {**OPENAI_ERRORS, "broken stream": "ValueError"},
        ask(openai(responses=True)),
    ),
    Client(
        "langchain-python anthropic",
        "langchain-anthropic",
        "anthropic",
        errors_of("Anthropic", **{"broken stream": "APIStatusError"}),
        ask(anthropic),
    ),
    Client(
        "langchain-python google-genai",
        "langchain-google-genai",
        "gemini",
        errors_of("Google", **{"broken stream": "GoogleAPIError"}),
        ask(google),
    ),
]
