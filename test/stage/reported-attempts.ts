// How many attempts an error tells of, wherever its protocol keeps them: every call that an upstream saw is the gateway's
// own then, and the client made one.
export function countReportedAttempts(told: unknown): number {
  if (typeof told !== "object" || told === null) return 0
  if ("attempts" in told && Array.isArray(told.attempts)) return told.attempts.length
  return Object.values(told)
    .map(countReportedAttempts)
    .reduce((most, each) => Math.max(most, each), 0)
}
