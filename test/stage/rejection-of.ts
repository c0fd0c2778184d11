// What a call raised, for tests that look at it closely.

/** What `promise` was rejected with; an Error where it was not. */
export async function rejectionOf(promise: PromiseLike<unknown>): Promise<unknown> {
  try {
    await promise
  } catch (thrown) {
    return thrown
  }
  throw new Error("nothing was raised")
}
