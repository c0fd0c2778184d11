/** Turns one item into zero or more. Made fresh for every stream; may keep state. */
export interface StreamStep<From, To> {
  push(item: From): To[]
  finish(): To[]
}
