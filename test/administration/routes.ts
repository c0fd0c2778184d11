// Every route the administration declares, for tests that go through them all.
import type { AnyAdminRoute } from "../../src/admin/admin-route.ts"
import { administrationRoutes } from "../../src/administration.ts"

/** The declarations alone, without services. */
export function allAdminRoutes(): AnyAdminRoute[] {
  return administrationRoutes({ adminService: {} as never, view: {} as never, version: "0" })
}
