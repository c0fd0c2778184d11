// Counts the attempts that an error response lists, wherever its protocol places them. If every upstream call is listed,
// the gateway made the retries and the client sent one request.
export function countReportedAttempts(body: unknown): number {
  if (typeof body !== "object" || body === null) return 0
  if ("attempts" in body && Array.isArray(body.attempts)) return body.attempts.length
  return Object.values(body)
    .map(countReportedAttempts)
    .reduce((most, each) => Math.max(most, each), 0)
}
