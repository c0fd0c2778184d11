// The vendor's tool for commands on the caller's machine: other providers get a function with the command as its
// arguments, and the caller's client gets the original tool.
import { isObject, type JsonObject, parseJson } from "../../../../canonical/json.ts"

export const LOCAL_SHELL = "local_shell"

export const LOCAL_SHELL_DESCRIPTION = "Runs a command in a shell on the user's machine."

export const LOCAL_SHELL_PARAMETERS: JsonObject = {
  type: "object",
  properties: {
    command: { type: "array", items: { type: "string" }, description: "The program and its arguments." },
    env: { type: "object", additionalProperties: { type: "string" }, description: "Environment variables to set." },
    timeout_ms: { type: "integer", description: "How long it may take, in milliseconds." },
    user: { type: "string", description: "The user to run it as." },
    working_directory: { type: "string", description: "The directory to run it in." },
  },
  required: ["command"],
}

/** A model's arguments as the vendor's action; undefined if they are not one. */
export function shellAction(args: string): JsonObject | undefined {
  const written = parseJson(args)
  if (!isObject(written) || !Array.isArray(written.command)) return undefined
  if (!written.command.every((word) => typeof word === "string")) return undefined
  return { type: "exec", env: {}, ...written }
}
