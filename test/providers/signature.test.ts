import { expect, test } from "bun:test"
import fc from "fast-check"
import { Secret } from "../../src/config/secret.ts"
import { encodeSegment, signedHeaders } from "../../src/providers/sigv4.ts"
import type { ReceivedRequest } from "../stage/upstream.ts"
import { signatureFault } from "./aws.ts"

const credential = { accessKeyId: "AKIDTEST", secretAccessKey: "secret/of+the=test" }
const keys = {
  accessKeyId: new Secret(credential.accessKeyId),
  secretAccessKey: new Secret(credential.secretAccessKey),
}

interface SignedCall {
  readonly model: string
  readonly body: Uint8Array
  readonly token?: string | undefined
}

/** A signed call as it arrives. */
function arrived({ model, body, token }: SignedCall): ReceivedRequest {
  const url = `https://bedrock-runtime.eu-west-1.amazonaws.com/model/${encodeSegment(model)}/invoke`
  const sessionToken = token === undefined ? undefined : new Secret(token)
  const scope = { region: "eu-west-1", service: "bedrock", keys: { ...keys, sessionToken } }
  const given = new Headers({ "content-type": "application/json", "user-agent": "test" })
  const headers = signedHeaders({ method: "POST", url, headers: given, body }, scope, Date.now())
  const { host, pathname } = new URL(url)
  return {
    method: "POST",
    path: pathname,
    headers: { host, ...Object.fromEntries(headers) },
    head: "",
    body: Buffer.from(body),
  }
}

const call = fc.record({
  // A segment of dots alone is none: addresses are normalised.
  model: fc.string({ minLength: 1, unit: "grapheme" }).map((name) => `m${name}`),
  body: fc.uint8Array({ maxLength: 200 }),
  token: fc.option(fc.base64String({ minLength: 4 }), { nil: undefined }),
})

test("a signature matches another implementation for any model, body and session", () => {
  fc.assert(
    fc.property(call, (made) => {
      expect(signatureFault(arrived(made), credential)).toBeUndefined()
    }),
  )
})

test("a signature is invalid for another path, body, session or secret", () => {
  fc.assert(
    fc.property(call, (made) => {
      const request = arrived({ ...made, token: "token" })
      const changes: Partial<ReceivedRequest>[] = [
        { path: `${request.path}x` },
        { body: Buffer.concat([request.body, Buffer.from("x")]) },
        { headers: { ...request.headers, "x-amz-security-token": "other" } },
        { headers: { ...request.headers, "content-type": "text/plain" } },
      ]
      for (const change of changes) expect(signatureFault({ ...request, ...change }, credential)).toBeDefined()
      expect(signatureFault(request, { ...credential, secretAccessKey: "another" })).toBeDefined()
    }),
  )
})
