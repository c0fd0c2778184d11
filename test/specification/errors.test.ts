// The error statuses, each in all three protocols, and their common body.
import { afterAll, beforeAll, expect } from "bun:test"
import { InProcessGateway } from "../stage/in-process.ts"
import { type ClientStyle, errorOf, MODEL, objectOf, STYLES, sendRequest } from "./client-styles.ts"
import { FIRST, ScriptedGateway } from "./scripted-gateway.ts"
import { nothingForgotten, specify, specifyEach } from "./specify.ts"

let stage: ScriptedGateway
let faulty: InProcessGateway
let scopedKey = ""
beforeAll(async () => {
  stage = await ScriptedGateway.start()
  // In this process, so that a fault can be planted in it.
  faulty = InProcessGateway.start({ config: "" })
  scopedKey = faulty.gateway.keys.create({ name: "scoped", models: ["openai/*"] }).text
})
afterAll(async () => {
  await stage.stop()
  await faulty.stop()
})

interface SpecifiedFailure {
  readonly status: 400 | 401 | 403 | 500 | 503
  readonly code: string
  readonly type: string
  readonly because: string
  cause(style: ClientStyle): Promise<Response>
}

async function plantFault(style: ClientStyle): Promise<Response> {
  const { keys } = faulty.gateway
  const authenticate = keys.authenticate
  keys.authenticate = () => {
    throw new TypeError("undefined is not an object")
  }
  try {
    return await sendRequest(faulty, style)
  } finally {
    keys.authenticate = authenticate
  }
}

async function failUpstream(style: ClientStyle): Promise<Response> {
  stage.failFor(FIRST)
  try {
    return await sendRequest(stage, style, { model: FIRST })
  } finally {
    stage.reset()
  }
}

const FAILURES: readonly SpecifiedFailure[] = [
  {
    status: 400,
    code: "invalid_parameter",
    type: "invalid_request_error",
    because: "a member of the request is wrong",
    cause: (style) => sendRequest(stage, style, { model: FIRST, body: { ...style.body(FIRST), tools: "all" } }),
  },
  {
    status: 400,
    code: "model_not_found",
    type: "invalid_request_error",
    because: "there is no such model",
    cause: (style) => sendRequest(stage, style, { model: "test/none" }),
  },
  {
    status: 401,
    code: "invalid_api_key",
    type: "authentication_error",
    because: "the key is none",
    cause: (style) => sendRequest(stage, style, { key: "sk-abc" }),
  },
  {
    status: 403,
    code: "model_not_allowed",
    type: "permission_error",
    because: "the key may not call the model",
    cause: (style) => sendRequest(faulty, style, { key: scopedKey, model: MODEL }),
  },
  {
    status: 500,
    code: "internal_error",
    type: "internal_error",
    because: "the gateway has a fault",
    cause: plantFault,
  },
  {
    status: 503,
    code: "upstream_unavailable",
    type: "service_unavailable_error",
    because: "no provider answers",
    cause: failUpstream,
  },
]

const CASES = FAILURES.flatMap((failure) => STYLES.map((style) => ({ ...failure, style })))
type FailureCase = (typeof CASES)[number]

for (const one of CASES) {
  const { status, code, type, because, style, cause } = one
  specify(`error.${status}`, `is the answer where ${because}, ${style.name}`, async () => {
    const response = await cause(style)
    expect(response.status).toBe(status)
    expect(response.headers.get("content-type")).toBe("application/json")
    expect(await objectOf(response)).toMatchObject({ error: { code, type } })
  })
}
specify("error.500", "repeats nothing of the internal error", async () => {
  for (const style of STYLES) expect(await (await plantFault(style)).text()).not.toContain("undefined")
})
for (const style of STYLES) {
  specify("error.429", `is the answer to more requests than the key may send, ${style.name}`, async () => {
    const { url, gateway } = faulty
    const key = gateway.keys.create({ name: "hasty" }).text
    const answers = await Promise.all(Array.from({ length: 700 }, () => sendRequest({ url, key }, style)))
    const last = answers.find(({ status }) => status === 429)
    expect(last?.headers.get("x-ratelimit-limit-requests")).toBe("600")
    expect(await errorOf(last ?? new Response("{}"))).toMatchObject({
      code: "rate_limit_exceeded",
      type: "rate_limit_error",
    })
  })
}

const sentence = ({ status, code, style }: FailureCase) => `on ${status} ${code}, ${style.name}`

specifyEach("error.error", CASES, {
  sentence,
  check: async (one) => {
    const body = await objectOf(await one.cause(one.style))
    expect(body.error).toEqual(expect.any(Object))
    expect(Object.keys(body).filter((name) => !["error", ...extraMembers(one)].includes(name))).toEqual([])
  },
})

/** Top-level members that the vendor's own clients need. */
function extraMembers({ style }: FailureCase): string[] {
  return style.name === "messages-style" ? ["type", "request_id"] : []
}

for (const member of ["code", "message", "type"] as const) {
  specifyEach(`error.error.${member}`, CASES, {
    sentence,
    check: async (one) => {
      const error = await errorOf(await one.cause(one.style))
      expect(error[member]).toEqual(expect.stringMatching(/./))
      if (member !== "message") expect(error[member]).toBe(one[member])
    },
  })
}

specifyEach("error.error.code", STYLES, {
  sentence: ({ name }) => `invalid_api_key goes with the type authentication_error, ${name}`,
  check: async (style) => {
    const body = await objectOf(await sendRequest(stage, style, { key: "sk-abc" }))
    expect(body).toMatchObject({ error: { code: "invalid_api_key", type: "authentication_error" } })
  },
})

nothingForgotten("errors")
