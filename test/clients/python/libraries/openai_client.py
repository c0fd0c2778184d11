"""OpenAI's library: chat completions and responses."""

import json

import openai
from driver import Answer, Cell, Client

ERRORS = {
    "wrong key": "AuthenticationError",
    "unknown model": "BadRequestError",
    "refused by the provider": "BadRequestError",
    "broken stream": "APIError",
}


def connect(cell: Cell) -> openai.OpenAI:
    return openai.OpenAI(base_url=f"{cell.url}/v1", api_key=cell.key, max_retries=0, timeout=cell.timeout_s)


def ask_chat(cell: Cell) -> Answer:
    client = connect(cell)
    body: dict = {"model": cell.model}
    if cell.tools:
        body["tools"] = [
            {
                "type": "function",
                "function": {"name": tool["name"], "description": tool["description"], "parameters": tool["schema"]},
            }
            for tool in cell.tools
        ]
    if cell.thinking:
        body["reasoning_effort"] = "high"
    messages: list = []
    texts: list[str] = []
    reasoning = ""
    for prompt in cell.prompts:
        messages.append({"role": "user", "content": prompt})
        while True:
            cell.restart()
            message = chat_message(client, {**body, "messages": messages}, cell)
            reasoning += getattr(message, "reasoning_content", None) or ""
            messages.append(message)
            if not message.tool_calls:
                texts.append(message.content)
                break
            for call in message.tool_calls:
                content = cell.call_tool(call.function.name, **json.loads(call.function.arguments))
                messages.append({"role": "tool", "tool_call_id": call.id, "content": content})
    return Answer(texts, reasoning)


def chat_message(client: openai.OpenAI, body: dict, cell: Cell):
    if not cell.stream:
        return client.chat.completions.create(**body).choices[0].message
    with client.chat.completions.stream(**body) as stream:
        for event in stream:
            if event.type == "content.delta":
                cell.on_piece(event.delta)
        return stream.get_final_completion().choices[0].message


class FailedResponse(Exception):
    """The library does not raise for a response that failed: its users look at the event."""


def ask_responses(cell: Cell) -> Answer:
    client = connect(cell)
    body: dict = {"model": cell.model, "store": False, "include": ["reasoning.encrypted_content"]}
    if cell.tools:
        body["tools"] = [
            {
                "type": "function",
                "name": tool["name"],
                "description": tool["description"],
                "parameters": tool["schema"],
                "strict": False,
            }
            for tool in cell.tools
        ]
    if cell.thinking:
        body["reasoning"] = {"effort": "high", "summary": "auto"}
    items: list = []
    texts: list[str] = []
    reasoning = ""
    for prompt in cell.prompts:
        items.append({"role": "user", "content": prompt})
        while True:
            cell.restart()
            response = whole_response(client, {**body, "input": items}, cell)
            items += response.output
            thoughts = [item for item in response.output if item.type == "reasoning"]
            reasoning += "".join(part.text for item in thoughts for part in item.summary)
            calls = [item for item in response.output if item.type == "function_call"]
            if not calls:
                texts.append(response.output_text)
                break
            for call in calls:
                output = cell.call_tool(call.name, **json.loads(call.arguments))
                items.append({"type": "function_call_output", "call_id": call.call_id, "output": output})
    return Answer(texts, reasoning)


def whole_response(client: openai.OpenAI, body: dict, cell: Cell):
    if not cell.stream:
        return client.responses.create(**body)
    response = None
    for event in client.responses.create(**body, stream=True):
        if event.type == "response.output_text.delta":
            cell.on_piece(event.delta)
        if event.type == "response.completed":
            response = event.response
        if event.type == "response.failed":
            raise FailedResponse(event.response.error.message)
    return response


clients = [
    Client(
        "openai-python chat",
        "openai",
        "openai",
        ERRORS,
        ask_chat,
        # Chat completions cannot ask to see thoughts; of these models all but Google's show them unasked.
        shows=lambda cell: not cell.model.startswith("google/"),
    ),
    Client("openai-python responses", "openai", "openai", {**ERRORS, "broken stream": "FailedResponse"}, ask_responses),
]
