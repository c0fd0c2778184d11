// Parsers for text values of the configuration, from the file, a flag or the environment. Messages repeat a value only
// if it cannot be a credential.
import { isIP } from "node:net"
import { resolve } from "node:path"
import { quoteName } from "../canonical/nearest-name.ts"
import { PRICE_PATTERN } from "../canonical/usd.ts"
import { ParseProblem, type TextParser } from "./config-shape.ts"
import { Secret } from "./secret.ts"

export function host(text: string): string | ParseProblem {
  return /^[^\s/@?#]+$/.test(text) ? text : new ParseProblem("expected a host name or address")
}

export function port(text: string): number | ParseProblem {
  const number = /^[0-9]{1,5}$/.test(text) ? Number(text) : Number.NaN
  return number <= 65535 ? number : new ParseProblem("expected a port, a whole number from 0 to 65535")
}

/** A credential. White space around it is dropped: files made by `echo` and mounted secrets often end with a new line. */
export function credential(text: string): Secret | ParseProblem {
  const value = text.trim()
  if (value === "") return new ParseProblem("expected a credential, found an empty string")
  // It becomes part of a header, which allows no other characters.
  return /^[\x21-\x7e]+$/.test(value)
    ? new Secret(value)
    : new ParseProblem("a credential may contain only ASCII characters and no spaces")
}

/** An http(s) address without trailing slash. It is never printed: people put passwords into addresses. */
export function baseUrl(text: string): string | ParseProblem {
  if (!/^https?:\/\//i.test(text) || !URL.canParse(text))
    return new ParseProblem("expected an http:// or https:// address")
  const url = new URL(text)
  if (url.username !== "" || url.password !== "")
    return new ParseProblem("the address may not contain a user or password")
  if (text.includes("?")) return new ParseProblem("the address may not contain a query")
  if (text.includes("#")) return new ParseProblem("the address may not contain a fragment")
  return url.href.replace(/\/+$/, "")
}

/** True if a URL's host name is this machine. */
export function isOnThisMachine(hostname: string): boolean {
  return hostname === "localhost" || hostname === "[::1]" || /^127\.\d+\.\d+\.\d+$/.test(hostname)
}

/** An address that receives credentials, so it must be confidential. */
export function secureUrl(text: string): string | ParseProblem {
  const url = baseUrl(text)
  if (url instanceof ParseProblem) return url
  const { protocol, hostname } = new URL(url)
  const isSafe = protocol === "https:" || isOnThisMachine(hostname)
  return isSafe ? url : new ParseProblem("expected an https:// address; http:// is for this machine only")
}

/** An Entra tenant or application: an id, or a tenant's domain. */
export function entraId(text: string): string | ParseProblem {
  const isId = /^[A-Za-z0-9](?:[A-Za-z0-9.-]{0,252}[A-Za-z0-9])?$/.test(text)
  return isId
    ? text
    : new ParseProblem(`${quoteName(text)} is not an id such as "00000000-0000-0000-0000-000000000000"`)
}

/**
 * The address of a self-hosted server, as `HOST`, `HOST:PORT` or a URL. Missing parts come from `usual`; a scheme
 * implies its own port. An address that means all interfaces becomes this machine's.
 */
export function hostAddress(usual: string): TextParser<string> {
  const { port: usualPort, pathname } = new URL(usual)
  return (text) => {
    const [, scheme, host] = /^(?:(https?):\/\/)?([^/?#@]*)\/*$/i.exec(text) ?? []
    if (host === undefined) return NO_HOST_ADDRESS
    const isBareIpv6 = isIP(host) === 6
    const url = `${scheme ?? "http"}://${isBareIpv6 ? `[${host}]` : host.replace(/^(?=:|$)/, "127.0.0.1")}`
    if (!URL.canParse(url)) return NO_HOST_ADDRESS
    const parsed = new URL(url)
    if (parsed.hostname === "0.0.0.0") parsed.hostname = "127.0.0.1"
    if (parsed.hostname === "[::]") parsed.hostname = "[::1]"
    const hasPort = !isBareIpv6 && /:\d+$/.test(host)
    if (scheme === undefined && !hasPort) parsed.port = usualPort
    return baseUrl(parsed.origin + pathname)
  }
}

const NO_HOST_ADDRESS = new ParseProblem('expected an address such as "127.0.0.1:11434" or "http://ollama:11434"')

/** A part of a host name: a resource, a region. */
export function hostLabel(text: string): string | ParseProblem {
  const isLabel = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/i.test(text)
  return isLabel ? text.toLowerCase() : new ParseProblem(`${quoteName(text)} may contain only letters, digits and "-"`)
}

/** An Azure API version. */
export function apiVersion(text: string): string | ParseProblem {
  const isVersion = /^\d{4}-\d{2}-\d{2}(-preview)?$/.test(text)
  return isVersion
    ? text
    : new ParseProblem(`${quoteName(text)} is not a version such as "2024-10-21" or "2025-04-01-preview"`)
}

/** An origin as browsers send it, or `*` for any. */
export function corsOrigin(text: string): string | ParseProblem {
  if (text === "*") return text
  const isOrigin = /^https?:\/\//.test(text) && URL.canParse(text) && new URL(text).origin === text
  return isOrigin
    ? text
    : new ParseProblem(`${quoteName(text)} is not an origin such as "https://app.example.com", nor "*"`)
}

/** An address, or a range of them as `10.0.0.0/8`. */
export function addressRange(text: string): string | ParseProblem {
  const [address = "", bits, ...rest] = text.split("/")
  const family = isIP(address)
  const most = family === 4 ? 32 : 128
  const sound =
    family > 0 && rest.length === 0 && (bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= most))
  return sound
    ? text
    : new ParseProblem(`${quoteName(text)} is not an address such as "10.1.2.3" or a range such as "10.0.0.0/8"`)
}

/** `sqlite://PATH` as an absolute path; a relative one starts at `workingDir`. */
export function sqlitePath(workingDir: string): TextParser<string> {
  return (text) => {
    const path = /^sqlite:\/\/(.+)$/.exec(text)?.[1]
    const isFile = path !== undefined && path !== ":memory:" && !path.endsWith("/") && !path.includes("\0")
    return isFile ? resolve(workingDir, path) : new ParseProblem("expected sqlite://PATH, where PATH is a file path")
  }
}

/** The name of an entry under `providers`; it appears in headers and in target lists. */
export function providerId(text: string): string | ParseProblem {
  if (/^[a-z0-9][a-z0-9._-]*$/.test(text)) return text
  return new ParseProblem(
    `the provider name ${quoteName(text)} may contain only a-z, 0-9, ".", "_" and "-", and must begin with a letter or digit`,
  )
}

/** `<provider>/<model-name>`. */
export function modelId(text: string): string | ParseProblem {
  const slash = text.indexOf("/")
  const isId =
    slash > 0 && !(providerId(text.slice(0, slash)) instanceof ParseProblem) && isModelName(text.slice(slash + 1))
  return isId ? text : new ParseProblem(`${quoteName(text)} is not a model id of the form "provider/model-name"`)
}

/** An alias of a model, with or without a provider. */
export function modelAlias(text: string): string | ParseProblem {
  return isModelName(text) ? text : new ParseProblem(`${quoteName(text)} is not a valid model name`)
}

/** A decimal amount of USD, kept as text. */
export function decimal(text: string): string | ParseProblem {
  if (PRICE_PATTERN.test(text)) return text
  return new ParseProblem(`expected a decimal such as "0.50", found ${quoteName(text)}`)
}

/** A non-empty single line of text. */
export function line(text: string): string | ParseProblem {
  return /^[^\p{Cc}]*[^\p{Cc}\s][^\p{Cc}]*$/u.test(text)
    ? text
    : new ParseProblem("expected non-empty text on one line")
}

function isModelName(text: string): boolean {
  return /^[A-Za-z0-9][A-Za-z0-9._:@/-]*$/.test(text) && text.split("/").every((segment) => !/^\.*$/.test(segment))
}
