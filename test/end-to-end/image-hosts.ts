// Every kind of image host, scripted on one real socket: each accepts only its own protocol, rejects too large batches,
// and answers with images derived from the prompt.
import type { ReceivedRequest, UpstreamReply } from "../stage/upstream.ts"

type ImageHostBody = Record<string, unknown>

/** One call as the host understood it. */
export interface ReceivedImageCall {
  readonly host: HostName
  readonly prompt: string
  readonly count: number
  /** The size in the host's vocabulary. */
  readonly size: string | undefined
  readonly body: ImageHostBody
}

type ImageCallDetails = Omit<ReceivedImageCall, "host" | "body">

/** The same for every host: it begins as a PNG does. */
export function pictureFor(prompt: string): string {
  return Buffer.concat([Buffer.from("89504e470d0a1a0a0000", "hex"), Buffer.from(prompt)]).toString("base64")
}

interface ImageHost {
  /** The most images in a call. */
  readonly most: number
  /** The model's name there. */
  readonly model: string
  /** The host's form of `1536x1024`, and whether a loss is reported. */
  readonly wide: { readonly size: string; readonly loses: boolean }
  /** Throws where the wire does not allow it. */
  readCall(body: ImageHostBody, path: string): ImageCallDetails
  answer(received: ImageCallDetails, body: ImageHostBody): ImageHostBody
  /** The reported tokens for this number of images, if the host reports any. */
  readonly tokens?: (count: number) => { readonly input: number; readonly output: number; readonly image: number }
}

function only(body: ImageHostBody, names: readonly string[]): void {
  for (const name of Object.keys(body)) if (!names.includes(name)) throw new Error(`unknown_parameter: ${name}`)
}

function at(path: string, end: string): void {
  if (!path.endsWith(end)) throw new Error(`nothing is at ${path}`)
}

const ADDRESS = "https://images.example/drawn.png"
const listed = ({ prompt, count }: ImageCallDetails, asAddress: boolean) =>
  Array.from({ length: count }, () => (asAddress ? { url: ADDRESS } : { b64_json: pictureFor(prompt) }))

const openaiTokens = (count: number) => ({ input: 7, output: 0, image: 100 * count })
const chatTokens = (count: number) => ({ input: 5, output: 3, image: 1290 * count })

function openai({ prompt, n, size }: ImageHostBody): ImageCallDetails {
  return { prompt: prompt as string, count: (n as number | undefined) ?? 1, size: size as string | undefined }
}

const KNOWN = ["model", "prompt", "n", "size", "quality", "user", "background", "output_format", "output_compression"]

const imagen = {
  most: 4,
  model: "imagen-4.0-generate-001",
  wide: { size: "4:3", loses: true },
  readCall(body: ImageHostBody, path: string): ImageCallDetails {
    at(path, "/models/imagen-4.0-generate-001:predict")
    const { instances, parameters } = body as { instances: { prompt: string }[]; parameters: ImageHostBody }
    only(parameters, ["sampleCount", "aspectRatio", "sampleImageSize", "outputOptions"])
    const [instance] = instances
    const size = parameters.aspectRatio as string | undefined
    return { prompt: instance?.prompt ?? "", count: parameters.sampleCount as number, size }
  },
  answer: ({ prompt, count }: ImageCallDetails): ImageHostBody => ({
    predictions: Array.from({ length: count }, () => {
      return { mimeType: "image/png", bytesBase64Encoded: pictureFor(prompt) }
    }),
  }),
}

const gemini = {
  most: 1,
  model: "gemini-2.5-flash-image",
  wide: { size: "3:2", loses: true },
  readCall(body: ImageHostBody, path: string): ImageCallDetails {
    at(path, "/models/gemini-2.5-flash-image:generateContent")
    only(body, ["contents", "generationConfig"])
    const { contents, generationConfig } = body as {
      contents: { parts: { text: string }[] }[]
      generationConfig: ImageHostBody
    }
    only(generationConfig, ["responseModalities", "imageConfig"])
    if (!(generationConfig.responseModalities as string[]).includes("IMAGE")) throw new Error("no image is requested")
    const { aspectRatio } = (generationConfig.imageConfig ?? {}) as { aspectRatio?: string }
    return { prompt: contents[0]?.parts[0]?.text ?? "", count: 1, size: aspectRatio }
  },
  answer({ prompt, count }: ImageCallDetails): ImageHostBody {
    const { input, output, image } = chatTokens(count)
    const data = { inlineData: { mimeType: "image/png", data: pictureFor(prompt) } }
    return {
      candidates: [{ content: { role: "model", parts: [{ text: "Here it is." }, data] }, finishReason: "STOP" }],
      usageMetadata: {
        promptTokenCount: input,
        candidatesTokenCount: output + image,
        totalTokenCount: input + output + image,
        candidatesTokensDetails: [{ modality: "IMAGE", tokenCount: image }],
      },
    }
  },
  tokens: chatTokens,
}

export const HOSTS = {
  "gpt-image": {
    most: 10,
    model: "gpt-image-1",
    wide: { size: "1536x1024", loses: false },
    readCall(body, path) {
      at(path, "/v1/images/generations")
      only(body, KNOWN)
      return openai(body)
    },
    answer(received) {
      const { input, image } = openaiTokens(received.count)
      const usage = { input_tokens: input, input_tokens_details: { text_tokens: input, image_tokens: 0 } }
      return {
        created: 1,
        output_format: "png",
        data: listed(received, false),
        usage: { ...usage, output_tokens: image },
      }
    },
    tokens: openaiTokens,
  },
  "dall-e": {
    most: 1,
    model: "dall-e-3",
    wide: { size: "1536x1024", loses: false },
    readCall(body, path) {
      at(path, "/v1/images/generations")
      only(body, [...KNOWN, "response_format"])
      return openai(body)
    },
    answer: (received, { response_format }) => ({ created: 1, data: listed(received, response_format !== "b64_json") }),
  },
  xai: {
    most: 10,
    model: "grok-imagine-image",
    wide: { size: "3:2", loses: true },
    readCall(body, path) {
      at(path, "/v1/images/generations")
      only(body, ["model", "prompt", "n", "quality", "user", "response_format", "aspect_ratio", "resolution"])
      return { ...openai(body), size: body.aspect_ratio as string | undefined }
    },
    answer: (received, { response_format }) => ({ data: listed(received, response_format !== "b64_json") }),
  },
  together: {
    most: 4,
    model: "black-forest-labs/FLUX.1-schnell",
    wide: { size: "1536x1024", loses: false },
    readCall(body, path) {
      at(path, "/v1/images/generations")
      only(body, ["model", "prompt", "n", "width", "height", "steps", "response_format", "output_format"])
      return { ...openai(body), size: body.width === undefined ? undefined : `${body.width}x${body.height}` }
    },
    answer: (received, { response_format }) => ({
      id: "o",
      model: "upstream-name",
      object: "list",
      data: listed(received, response_format !== "base64").map((each, index) => ({ index, ...each })),
    }),
  },
  fireworks: {
    most: 1,
    model: "accounts/fireworks/models/flux-1-schnell-fp8",
    wide: { size: "3:2", loses: true },
    readCall(body, path) {
      at(path, "/v1/workflows/accounts/fireworks/models/flux-1-schnell-fp8/text_to_image")
      only(body, ["prompt", "aspect_ratio", "seed"])
      return { prompt: body.prompt as string, count: 1, size: body.aspect_ratio as string | undefined }
    },
    answer: ({ prompt }) => ({ id: "f", base64: [pictureFor(prompt)], finishReason: "SUCCESS", seed: 1 }),
  },
  imagen,
  "vertex-imagen": imagen,
  gemini,
  "vertex-gemini": gemini,
  openrouter: {
    most: 1,
    model: "google/gemini-2.5-flash-image",
    wide: { size: "3:2", loses: true },
    readCall(body, path) {
      at(path, "/v1/chat/completions")
      only(body, ["model", "messages", "modalities", "image_config", "user"])
      if (!(body.modalities as string[]).includes("image")) throw new Error("no image is requested")
      const [message] = body.messages as { content: string }[]
      const { aspect_ratio } = (body.image_config ?? {}) as { aspect_ratio?: string }
      return { prompt: message?.content ?? "", count: 1, size: aspect_ratio }
    },
    answer({ prompt, count }) {
      const { input, output, image } = chatTokens(count)
      const url = `data:image/png;base64,${pictureFor(prompt)}`
      const message = { role: "assistant", content: "Here.", images: [{ type: "image_url", image_url: { url } }] }
      return {
        id: "gen-1",
        object: "chat.completion",
        choices: [{ index: 0, message, finish_reason: "stop" }],
        usage: { prompt_tokens: input, completion_tokens: output + image, total_tokens: input + output + image },
      }
    },
    tokens: chatTokens,
  },
} as const satisfies Record<string, ImageHost>

export type HostName = keyof typeof HOSTS
export const HOST_NAMES = Object.keys(HOSTS) as HostName[]

/** Hosts that accept a response format. */
export const GIVES_ADDRESSES: readonly HostName[] = ["dall-e", "xai", "together"]

export function hostOf(name: HostName): ImageHost {
  return HOSTS[name]
}

/** Answers as the host whose name the path begins with; what it does not take is its error. */
export function answerAs(request: ReceivedRequest, reply: UpstreamReply): ReceivedImageCall | undefined {
  const name = request.path.split("/")[1] as HostName
  const host = hostOf(name)
  const body = JSON.parse(request.body.toString()) as ImageHostBody
  try {
    const received = host.readCall(body, request.path)
    if (received.count > host.most) throw new Error(`at most ${host.most} images`)
    reply.json(host.answer(received, body))
    return { host: name, ...received, body }
  } catch (thrown) {
    const message = thrown instanceof Error ? thrown.message : "?"
    reply.json({ error: { message, type: "invalid_request_error", code: 400 } }, 400)
    return undefined
  }
}

/** The configuration that reaches them all, a model for each: `test/imagen`, and by the image `test/imagen-each`. */
export function hostsConfig(origin: string, credentialsFile: string): string {
  const model = (name: HostName) => {
    const target = `targets: [{ provider: ${name}, model: "${HOSTS[name].model}" }]`
    return `  - { id: test/${name}, kind: image, pricing: { input: "1", output: "2", image_output: "10" }, ${target} }
  - { id: test/${name}-each, kind: image, pricing: { per_image: "0.04" }, ${target} }`
  }
  const vertex = (name: HostName) =>
    `  ${name}: { type: vertex, project: p, location: global, credentials_file: "${credentialsFile}", base_url: "${origin}/${name}" }`
  const like = (name: HostName, type: string, rest = "") =>
    `  ${name}: { type: ${type}, api_key: k, base_url: "${origin}/${name}${rest}" }`
  return `
providers:
${like("gpt-image", "openai", "/v1")}
${like("dall-e", "openai", "/v1")}
${like("xai", "xai", "/v1")}
${like("together", "together", "/v1")}
${like("fireworks", "fireworks", "/v1")}
${like("imagen", "google")}
${like("gemini", "google")}
${like("openrouter", "openrouter", "/v1")}
${vertex("vertex-imagen")}
${vertex("vertex-gemini")}
models:
${HOST_NAMES.map(model).join("\n")}
  - { id: test/several, kind: image, pricing: { per_image: "0.04" }, targets: [
      { provider: gemini, model: gemini-2.5-flash-image, priority: 1 }, { provider: gpt-image, model: gpt-image-1, priority: 2 }] }
  - { id: test/unreached, kind: image, pricing: { per_image: "0.04" }, targets: [
      { provider: fireworks, model: accounts/fireworks/models/flux-kontext-pro }] }
`
}
