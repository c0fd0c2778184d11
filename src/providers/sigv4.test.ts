import { describe, expect, test } from "bun:test"
import { Secret } from "../config/secret.ts"
import { encodeSegment, signedHeaders } from "./sigv4.ts"

/** The credential, scope and time of AWS's published test vectors. */
const keys = {
  accessKeyId: new Secret("AKIDEXAMPLE"),
  secretAccessKey: new Secret("wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"),
}
const NOW = Date.parse("2015-08-30T12:36:00Z")

interface SigningVector {
  readonly name: string
  readonly method?: string
  readonly url?: string
  readonly headers?: Record<string, string>
  readonly body?: string
  readonly service?: string
  readonly names?: string
  readonly signature: string
}

const FORM = "application/x-www-form-urlencoded"
const VECTORS: readonly SigningVector[] = [
  { name: "get-vanilla", signature: "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31" },
  {
    name: "post-vanilla",
    method: "POST",
    signature: "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b",
  },
  {
    name: "get-vanilla-query-order-key-case",
    url: "https://example.amazonaws.com/?Param2=value2&Param1=value1",
    signature: "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500",
  },
  {
    name: "get-unreserved",
    url: "https://example.amazonaws.com/-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
    signature: "07ef7494c76fa4850883e2b006601f940f8a34d404d0cfa977f52a65bbf5f24f",
  },
  {
    name: "post-x-www-form-urlencoded",
    method: "POST",
    headers: { "content-type": FORM },
    body: "Param1=value1",
    names: "content-type;host;x-amz-date",
    signature: "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a",
  },
  {
    name: "the guide's request to IAM",
    url: "https://iam.amazonaws.com/?Action=ListUsers&Version=2010-05-08",
    headers: { "content-type": `${FORM}; charset=utf-8` },
    service: "iam",
    names: "content-type;host;x-amz-date",
    signature: "5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7",
  },
]

describe("a signature", () => {
  test.each(VECTORS.map((vector) => [vector.name, vector] as const))(
    "a signature equals that of AWS's test vector %s",
    (_, vector) => {
      const { method = "GET", url = "https://example.amazonaws.com/", body = "", service = "service" } = vector
      const { names = "host;x-amz-date", signature } = vector
      const request = { method, url, headers: new Headers(vector.headers ?? {}), body }
      const signed = signedHeaders(request, { region: "us-east-1", service, keys }, NOW)
      expect(signed.get("x-amz-date")).toBe("20150830T123600Z")
      expect(signed.get("authorization")).toBe(
        `AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/${service}/aws4_request, ` +
          `SignedHeaders=${names}, Signature=${signature}`,
      )
    },
  )

  const url = "https://bedrock-runtime.us-east-1.amazonaws.com/model/m%3A0/invoke"
  const scope = { region: "us-east-1", service: "bedrock", keys }
  const authorization = (change: { body?: string; url?: string; headers?: Record<string, string> }, at = NOW) => {
    const headers = new Headers({ "content-type": "application/json", ...change.headers })
    return signedHeaders({ method: "POST", url, body: "{}", ...change, headers }, scope, at).get("authorization")
  }

  test("a signature covers the path, the body, the type and the time, but not headers that a proxy may change", () => {
    const plain = authorization({})
    expect(authorization({ url: url.replace("%3A0", "%3A1") })).not.toBe(plain)
    expect(authorization({ body: "{ }" })).not.toBe(plain)
    expect(authorization({ headers: { "content-type": "text/plain" } })).not.toBe(plain)
    expect(authorization({}, NOW + 1000)).not.toBe(plain)
    expect(authorization({ headers: { "user-agent": "other", "accept-encoding": "gzip" } })).toBe(plain)
  })

  test("a signature covers the session token, which is sent along", () => {
    const session = { ...scope, keys: { ...keys, sessionToken: new Secret("session-token") } }
    const signed = signedHeaders({ method: "POST", url, body: "{}", headers: new Headers() }, session, NOW)
    expect(signed.get("x-amz-security-token")).toBe("session-token")
    expect(signed.get("authorization")).toContain("SignedHeaders=host;x-amz-date;x-amz-security-token,")
  })

  test("signing does not change the given headers", () => {
    const headers = new Headers({ "content-type": "application/json" })
    signedHeaders({ method: "POST", url, body: "{}", headers }, scope, NOW)
    expect([...headers.keys()]).toEqual(["content-type"])
  })
})

test("a path segment is percent-encoded except for letters, digits and four marks", () => {
  expect(encodeSegment("az-AZ_09.~")).toBe("az-AZ_09.~")
  expect(encodeSegment("arn:aws:x/y!'()*")).toBe("arn%3Aaws%3Ax%2Fy%21%27%28%29%2A")
})
