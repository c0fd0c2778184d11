// Wraps a store table so that store faults become store_unavailable errors instead of client errors.
import { GatewayError } from "../canonical/gateway-error.ts"

/** The same functions, with exceptions converted to store_unavailable. */
export function withStoreErrors<Table extends object>(table: Table): Table {
  const functions = Object.entries(table).filter(([, act]) => typeof act === "function")
  return Object.fromEntries(functions.map(([name, act]) => [name, wrapStoreErrors(act.bind(table))])) as Table
}

function wrapStoreErrors(act: (...given: unknown[]) => unknown) {
  return (...given: unknown[]) => {
    try {
      return act(...given)
    } catch (cause) {
      throw new GatewayError("store_unavailable", "The gateway's store is unavailable at the moment. Try again.", {
        cause,
      })
    }
  }
}
