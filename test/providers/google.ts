// Google's side of Vertex: exchanges assertions signed with a service account's key for tokens, and verifies its
// tokens.
import { createVerify, generateKeyPairSync } from "node:crypto"
import type { ReceivedRequest, UpstreamReply } from "../stage/upstream.ts"

const EMAIL = "gateway@test-project.iam.gserviceaccount.com"
const KEY_ID = "0123456789abcdef"

const pair = generateKeyPairSync("rsa", {
  modulusLength: 2048,
  publicKeyEncoding: { type: "spki", format: "pem" },
  privateKeyEncoding: { type: "pkcs8", format: "pem" },
})

/** The key file, as the console gives it out. */
export function keyFile(tokenUri: string): Record<string, string> {
  return {
    type: "service_account",
    project_id: "test-project",
    private_key_id: KEY_ID,
    private_key: pair.privateKey,
    client_email: EMAIL,
    client_id: "1234567890",
    token_uri: tokenUri,
  }
}

export class TokenOffice {
  readonly path = "/token"
  /** The fault of each assertion; undefined if it is valid. */
  readonly faults: (string | undefined)[] = []
  expiresIn = 3600
  /** Answers with this in place of a token. */
  refusal: { readonly status: number; readonly body: unknown } | undefined
  private readonly valid = new Set<string>()

  /** Answers an exchange. */
  exchange(request: ReceivedRequest, reply: UpstreamReply): void {
    if (this.refusal) {
      reply.json(this.refusal.body, this.refusal.status)
      return
    }
    const fault = statementFault(request, `http://${request.headers.host}${this.path}`)
    this.faults.push(fault)
    if (fault) {
      reply.json({ error: "invalid_grant", error_description: fault }, 400)
      return
    }
    const token = `ya29.token-${this.faults.length}`
    this.valid.add(token)
    reply.json({ access_token: token, expires_in: this.expiresIn, token_type: "Bearer" })
  }

  knows({ headers }: ReceivedRequest): boolean {
    return this.valid.has(headers.authorization?.replace(/^Bearer /, "") ?? "")
  }

  revokeAll(): void {
    this.valid.clear()
  }
}

function statementFault({ body, headers, method }: ReceivedRequest, audience: string): string | undefined {
  if (method !== "POST" || headers["content-type"] !== "application/x-www-form-urlencoded") return "not a form"
  const form = new URLSearchParams(body.toString())
  if (form.get("grant_type") !== "urn:ietf:params:oauth:grant-type:jwt-bearer") return "another grant"
  const [head = "", claims = "", signature = ""] = form.get("assertion")?.split(".") ?? []
  const sound = createVerify("RSA-SHA256").update(`${head}.${claims}`).verify(pair.publicKey, signature, "base64url")
  if (!sound) return "the signature does not match"
  const { alg, kid } = decoded(head)
  if (alg !== "RS256" || kid !== KEY_ID) return "another key"
  const { iss, aud, scope, iat, exp } = decoded(claims)
  if (iss !== EMAIL || aud !== audience) return `from ${iss} for ${aud}`
  if (scope !== "https://www.googleapis.com/auth/cloud-platform") return `the scope ${scope}`
  const now = Date.now() / 1000
  return Math.abs(now - Number(iat)) < 60 && Number(exp) - Number(iat) <= 3600 ? undefined : "the times are wrong"
}

function decoded(part: string): Record<string, unknown> {
  return JSON.parse(Buffer.from(part, "base64url").toString())
}
