"""Anthropic's library."""

import anthropic
from driver import Answer, Cell, Client

ERRORS = {
    "wrong key": "AuthenticationError",
    "unknown model": "NotFoundError",
    "refused by the provider": "BadRequestError",
    "broken stream": "APIStatusError",
}


def ask(cell: Cell) -> Answer:
    client = anthropic.Anthropic(
        base_url=f"{cell.url}/anthropic", api_key=cell.key, max_retries=0, timeout=cell.timeout_s
    )
    body: dict = {"model": cell.model, "max_tokens": 8192}
    if cell.tools:
        body["tools"] = [
            {"name": tool["name"], "description": tool["description"], "input_schema": tool["schema"]}
            for tool in cell.tools
        ]
    if cell.thinking:
        body["thinking"] = {"type": "enabled", "budget_tokens": 2048}
    messages: list = []
    texts: list[str] = []
    reasoning = ""
    for prompt in cell.prompts:
        messages.append({"role": "user", "content": prompt})
        while True:
            cell.restart()
            content = message(client, {**body, "messages": messages}, cell).content
            messages.append({"role": "assistant", "content": content})
            reasoning += "".join(block.thinking for block in content if block.type == "thinking")
            calls = [block for block in content if block.type == "tool_use"]
            if not calls:
                # Many users read the last block, and Anthropic's own answers end in text.
                texts.append(content[-1].text)
                break
            results = [
                {"type": "tool_result", "tool_use_id": call.id, "content": cell.call_tool(call.name, **call.input)}
                for call in calls
            ]
            messages.append({"role": "user", "content": results})
    return Answer(texts, reasoning)


def message(client: anthropic.Anthropic, body: dict, cell: Cell):
    if not cell.stream:
        return client.messages.create(**body)
    with client.messages.stream(**body) as stream:
        for piece in stream.text_stream:
            cell.on_piece(piece)
        return stream.get_final_message()


clients = [Client("anthropic-python", "anthropic", "anthropic", ERRORS, ask)]
