// Counts the attempts that an error response lists, wherever its protocol places them. If every upstream call is listed,
// the gateway made the retries and the client sent one request.
export function countReportedAttempts(told: unknown): number {
  if (typeof told !== "object" || told === null) return 0
  if ("attempts" in told && Array.isArray(told.attempts)) return told.attempts.length
  return Object.values(told)
    .map(countReportedAttempts)
    .reduce((most, each) => Math.max(most, each), 0)
}
