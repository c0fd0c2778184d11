"""Google's library."""

from driver import Answer, Cell, Client
from google import genai
from google.genai import types

ERRORS = {
    "wrong key": "ClientError",
    "unknown model": "ClientError",
    "refused by the provider": "ClientError",
    "broken stream": "ServerError",
}


def ask(cell: Cell) -> Answer:
    options = types.HttpOptions(base_url=f"{cell.url}/gemini", timeout=int(cell.timeout_s * 1000))
    client = genai.Client(api_key=cell.key, http_options=options)
    declarations = [
        types.FunctionDeclaration(
            name=tool["name"], description=tool["description"], parameters_json_schema=tool["schema"]
        )
        for tool in cell.tools
    ]
    config = types.GenerateContentConfig(
        tools=[types.Tool(function_declarations=declarations)] if declarations else None,
        thinking_config=types.ThinkingConfig(include_thoughts=True, thinking_budget=2048) if cell.thinking else None,
    )
    contents: list[types.Content] = []
    texts: list[str] = []
    reasoning = ""
    for prompt in cell.prompts:
        contents.append(types.Content(role="user", parts=[types.Part(text=prompt)]))
        while True:
            cell.restart()
            parts = answer_parts(client, {"model": cell.model, "contents": contents, "config": config}, cell)
            contents.append(types.Content(role="model", parts=parts))
            reasoning += text_of(parts, thought=True)
            calls = [part.function_call for part in parts if part.function_call]
            if not calls:
                texts.append(text_of(parts, thought=False))
                break
            results = [
                types.Part(
                    function_response=types.FunctionResponse(
                        id=call.id, name=call.name, response={"output": cell.call_tool(call.name, **call.args)}
                    )
                )
                for call in calls
            ]
            contents.append(types.Content(role="user", parts=results))
    return Answer(texts, reasoning)


def answer_parts(client: genai.Client, request: dict, cell: Cell) -> list[types.Part]:
    if not cell.stream:
        return client.models.generate_content(**request).candidates[0].content.parts
    parts: list[types.Part] = []
    for chunk in client.models.generate_content_stream(**request):
        content = chunk.candidates[0].content if chunk.candidates else None
        more = (content.parts if content else None) or []
        parts += more
        cell.on_piece(text_of(more, thought=False))
    return parts


def text_of(parts: list[types.Part], thought: bool) -> str:
    return "".join(part.text or "" for part in parts if bool(part.thought) == thought)


clients = [Client("google-genai-python", "google-genai", "gemini", ERRORS, ask)]
