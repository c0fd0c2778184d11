// OpenAI's library: chat completions and responses, two majors.
import OpenAI from "openai"
import OpenAI4 from "openai4"

const errors = {
  "wrong key": "AuthenticationError",
  "unknown model": "BadRequestError",
  "refused by the provider": "BadRequestError",
  "broken stream": "APIError",
}
const responseErrors = { ...errors, "broken stream": "FailedResponse" }

/** Chat completions cannot ask to see thoughts; of these models all but Google's show them unasked. */
const shows = ({ model }) => !model.startsWith("google/")

function connect(Library, { url, timeoutMs }, key) {
  return new Library({ baseURL: `${url}/v1`, apiKey: key, maxRetries: 0, timeout: timeoutMs })
}

function chat(Library) {
  return async (cell, job) => {
    const openai = connect(Library, job, cell.key)
    const tools = cell.tools.map(({ name, description, schema }) => ({
      type: "function",
      function: { name, description, parameters: schema },
    }))
    const messages = []
    const texts = []
    let reasoning = ""
    for (const prompt of cell.prompts) {
      messages.push({ role: "user", content: prompt })
      for (;;) {
        cell.restart()
        const body = {
          model: cell.model,
          messages,
          ...(tools.length > 0 && { tools }),
          ...(cell.thinking && { reasoning_effort: "high" }),
        }
        const { message, thoughts } = cell.stream ? await streamChat(openai, body, cell) : await wholeChat(openai, body)
        reasoning += thoughts
        messages.push(message)
        if (!message.tool_calls?.length) {
          texts.push(message.content)
          break
        }
        for (const { id, function: called } of message.tool_calls) {
          const content = cell.callTool(called.name, JSON.parse(called.arguments))
          messages.push({ role: "tool", tool_call_id: id, content })
        }
      }
    }
    return { texts, reasoning }
  }
}

async function wholeChat(openai, body) {
  const { choices } = await openai.chat.completions.create(body)
  return { message: choices[0].message, thoughts: choices[0].message.reasoning_content ?? "" }
}

async function streamChat(openai, body, cell) {
  const helper =
    openai.chat.completions.stream ?? openai.beta.chat.completions.stream.bind(openai.beta.chat.completions)
  const stream = helper.call(openai.chat.completions, body)
  let thoughts = ""
  for await (const { choices } of stream) {
    const delta = choices[0]?.delta ?? {}
    thoughts += delta.reasoning_content ?? ""
    cell.onPiece(delta.content)
  }
  const { role, content, tool_calls } = (await stream.finalChatCompletion()).choices[0].message
  // The helper adds members that the API does not take back.
  const calls = tool_calls?.map(({ id, type, function: { name, arguments: given } }) => ({
    id,
    type,
    function: { name, arguments: given },
  }))
  return { message: { role, content, ...(calls?.length > 0 && { tool_calls: calls }) }, thoughts }
}

function responses(Library, { stored }) {
  return async (cell, job) => {
    const openai = connect(Library, job, cell.key)
    const tools = cell.tools.map(({ name, description, schema }) => ({
      type: "function",
      name,
      description,
      parameters: schema,
      strict: false,
    }))
    const texts = []
    let reasoning = ""
    let input = []
    let previous
    for (const prompt of cell.prompts) {
      input.push({ role: "user", content: prompt })
      for (;;) {
        cell.restart()
        const body = {
          model: cell.model,
          input,
          ...(tools.length > 0 && { tools }),
          ...(cell.thinking && { reasoning: { effort: "high", summary: "auto" } }),
          ...(stored ? { previous_response_id: previous } : { store: false, include: ["reasoning.encrypted_content"] }),
        }
        const response = cell.stream ? await streamResponse(openai, body, cell) : await openai.responses.create(body)
        previous = response.id
        input = stored ? [] : [...input, ...response.output]
        reasoning += response.output
          .filter(({ type }) => type === "reasoning")
          .flatMap(({ summary }) => summary.map(({ text }) => text))
          .join("")
        const calls = response.output.filter(({ type }) => type === "function_call")
        if (calls.length === 0) {
          texts.push(textOf(response))
          break
        }
        for (const { call_id, name, arguments: given } of calls) {
          input.push({ type: "function_call_output", call_id, output: cell.callTool(name, JSON.parse(given)) })
        }
      }
    }
    return { texts, reasoning }
  }
}

/** The fourth major's helper for streams has no `output_text`. */
function textOf({ output }) {
  return output.flatMap(({ type, content }) => (type === "message" ? content.map(({ text }) => text) : [])).join("")
}

/** The library does not raise for a response that failed: its users look at the event. */
class FailedResponse extends Error {}

async function streamResponse(openai, body, cell) {
  let response
  for await (const event of await openai.responses.create({ ...body, stream: true })) {
    if (event.type === "response.output_text.delta") cell.onPiece(event.delta)
    if (event.type === "response.completed") response = event.response
    if (event.type === "response.failed") throw new FailedResponse(event.response.error.message)
  }
  return response
}

export const clients = [
  { name: "openai-js 7 chat", package: "openai", api: "openai", errors, shows, ask: chat(OpenAI) },
  {
    name: "openai-js 7 responses",
    package: "openai",
    api: "openai",
    errors: responseErrors,
    ask: responses(OpenAI, { stored: false }),
  },
  {
    name: "openai-js 7 stored responses",
    package: "openai",
    api: "openai",
    errors: responseErrors,
    ask: responses(OpenAI, { stored: true }),
  },
  { name: "openai-js 4 chat", package: "openai4", api: "openai", errors, shows, ask: chat(OpenAI4) },
  {
    name: "openai-js 4 responses",
    package: "openai4",
    api: "openai",
    errors: responseErrors,
    ask: responses(OpenAI4, { stored: false }),
  },
]
