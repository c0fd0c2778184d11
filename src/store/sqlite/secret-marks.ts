import type { Database } from "bun:sqlite"
import type { SecretMarks } from "../contract.ts"

export function secretMarks(database: Database): SecretMarks {
  const read = database.query<{ mark: string }, []>("SELECT mark FROM secret_marks")
  const clear = database.query("DELETE FROM secret_marks")
  const insert = database.query("INSERT INTO secret_marks VALUES (?1)")
  const replace = database.transaction((mark: string) => {
    clear.run()
    insert.run(mark)
  })
  return { read: () => read.get()?.mark, write: (mark) => void replace(mark) }
}
