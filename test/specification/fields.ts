// Tests of one member of a request: whether it is required, which values pass unchanged, and which are rejected.
import { expect } from "bun:test"
import { absent, type ChatField, withValue, wrongValues } from "../faults/chat-fields.ts"
import { type ClientStyle, errorOf, type SpecBody, sendRequest } from "./client-styles.ts"
import type { LineId } from "./lines.ts"
import { FIRST, type ScriptedGateway } from "./scripted-gateway.ts"
import { specify, specifyEach } from "./specify.ts"

export interface RequestField extends ChatField {
  readonly line: LineId
  /** Values that pass; those of `bounds` are the outermost. */
  readonly sound: readonly unknown[]
  /** Values that are wrong further inside: where, with which code. */
  readonly wrongWithin?: readonly { value: unknown; at: string; code?: string }[]
}

interface FieldContext {
  readonly style: ClientStyle
  /** A sound request that has every member. */
  readonly full: SpecBody
  readonly stage: () => ScriptedGateway
}

export function specifyField(field: RequestField, context: FieldContext): void {
  const { line, path, required = false, sound, bounds = [], wrongWithin = [] } = field
  if (required) {
    for (const [what, value] of [["left out", absent] as const, ["null", null] as const]) {
      specify(line, `is required, and ${what} is refused`, () =>
        refuses({ value, at: path, code: "missing_parameter" }, field, context),
      )
    }
  } else {
    specify(line, "may be left out, and nothing is put in its place", () => passesWithout(field, context))
  }
  specifyEach(line, [...sound, ...bounds], {
    sentence: (value) => `${inWords(value)} passes`,
    check: (value) => passes(value, field, context),
  })
  const wrong = wrongValues(field).filter((value) => value !== null)
  specifyEach(line, [...wrong.map((value) => ({ value, at: path })), ...wrongWithin], {
    sentence: ({ value }) => `${inWords(value)} is refused`,
    check: (one) => refuses(one, field, context),
  })
}

async function passes(value: unknown, { path }: ChatField, { style, full, stage }: FieldContext): Promise<void> {
  stage().reset()
  const response = await sendRequest(stage(), style, { model: FIRST, body: withValue(full, path, value) })
  expect({ status: response.status, ...(response.status !== 200 && { body: await response.text() }) }).toEqual({
    status: 200,
  })
  await response.text()
  expect(valueAt(stage().reached(), path)).toEqual(value)
}

async function passesWithout({ path }: ChatField, { style, full, stage }: FieldContext): Promise<void> {
  for (const value of [absent, null]) {
    stage().reset()
    const response = await sendRequest(stage(), style, { model: FIRST, body: withValue(full, path, value) })
    expect(response.status).toBe(200)
    await response.text()
    expect(valueAt(stage().reached(), path) ?? absent).toBe(absent)
  }
}

interface WrongValue {
  readonly value: unknown
  readonly at: string
  readonly code?: string
}

async function refuses(
  { value, at, code = "invalid_parameter" }: WrongValue,
  field: ChatField,
  context: FieldContext,
): Promise<void> {
  const { style, full, stage } = context
  stage().reset()
  const response = await sendRequest(stage(), style, { model: FIRST, body: withValue(full, field.path, value) })
  const error = await errorOf(response)
  expect({ status: response.status, code: error.code, type: error.type }).toEqual({
    status: 400,
    code,
    type: "invalid_request_error",
  })
  expect(error.message).toContain(`\`${at}\``)
  // Content-generation clients know no such member.
  if (style.name !== "content-generation") expect(error.param).toBe(at)
  expect(stage().requestedModels()).toEqual([])
}

function valueAt(body: unknown, path: string): unknown {
  const names = path.split(/[.[\]]+/).filter((name) => name !== "")
  return names.reduce((inner, name) => (inner as Record<string, unknown> | undefined)?.[name], body)
}

const MAX_WORDS = 80

function inWords(value: unknown): string {
  const text = JSON.stringify(value)
  return text.length > MAX_WORDS ? `${text.slice(0, MAX_WORDS)}…` : text
}
