// Requests that were answered under an idempotency key, and their answers. Rows are numbered as they come, so that the
// oldest are found without an index of times; each answer knows how many bytes there were through its own.
import type { Database } from "bun:sqlite"
import type { RepeatRow, RepeatTable, SealedAnswer } from "../contract.ts"

interface Columns {
  readonly hash: string
  readonly asked: string
  readonly request: string
  readonly at: bigint
}

interface AnswerColumns {
  readonly status: bigint
  readonly content_type: string
  readonly sealed: Uint8Array
}

export function repeatTable(database: Database): RepeatTable {
  const find = database.query<Columns, [string]>("SELECT hash, asked, request, at FROM repeats WHERE hash = ?1")
  const findAnswer = database.query<AnswerColumns, [string]>(
    `SELECT status, content_type, sealed FROM repeat_answers
     WHERE id = (SELECT id FROM repeats WHERE hash = ?1)`,
  )
  const remove = database.query("DELETE FROM repeats WHERE hash = ?1")
  const insert = database.query("INSERT INTO repeats (hash, asked, request, at) VALUES (?1, ?2, ?3, ?4)")
  const insertAnswer = database.query(
    `INSERT INTO repeat_answers (id, status, content_type, sealed, through)
     SELECT ?1, ?2, ?3, ?4,
       coalesce((SELECT through FROM repeat_answers ORDER BY id DESC LIMIT 1), 0) + length(?4)`,
  )
  const oldest = database.query<{ at: bigint }, []>("SELECT at FROM repeats ORDER BY id LIMIT 1")
  // Only the oldest are looked at: a search for more would read the whole table.
  const dropOld = database.query(
    "DELETE FROM repeats WHERE at < ?1 AND id IN (SELECT id FROM repeats ORDER BY id LIMIT ?2)",
  )
  const dropRows = database.query("DELETE FROM repeats WHERE id <= (SELECT max(id) FROM repeats) - ?1")
  const dropAnswers = database.query(
    `DELETE FROM repeat_answers WHERE id < coalesce((
       SELECT id FROM repeat_answers
       WHERE through - length(sealed) >= (SELECT through FROM repeat_answers ORDER BY id DESC LIMIT 1) - ?1
       ORDER BY id LIMIT 1), ${2n ** 63n - 1n})`,
  )
  return {
    find: (hash) => rowOf(find.get(hash)),
    findAnswer: (hash) => answerOf(findAnswer.get(hash)),
    insert: ({ hash, bodyHash, requestId, at }, answer) => {
      remove.run(hash)
      const { lastInsertRowid } = insert.run(hash, bodyHash, requestId, at)
      if (answer) insertAnswer.run(lastInsertRowid, answer.status, answer.contentType, answer.sealed)
    },
    dropBefore: (time, limit) => {
      // Most often there is none, and this costs a tenth of looking for several.
      const first = oldest.get()
      return first && first.at < time ? dropOld.run(time, limit).changes : 0
    },
    keepWithin: ({ rows, answerBytes }) => {
      dropRows.run(rows)
      dropAnswers.run(answerBytes)
    },
  }
}

function rowOf(columns: Columns | null): RepeatRow | undefined {
  if (!columns) return undefined
  const { hash, asked, request, at } = columns
  return { hash, bodyHash: asked, requestId: request, at: Number(at) }
}

function answerOf(columns: AnswerColumns | null): SealedAnswer | undefined {
  if (!columns) return undefined
  const { status, content_type, sealed } = columns
  return { status: Number(status), contentType: content_type, sealed }
}
