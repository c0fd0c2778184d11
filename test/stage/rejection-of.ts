/** Resolves to the reason that `promise` was rejected with; throws if it was fulfilled. */
export async function rejectionOf(promise: PromiseLike<unknown>): Promise<unknown> {
  try {
    await promise
  } catch (thrown) {
    return thrown
  }
  throw new Error("nothing was raised")
}
