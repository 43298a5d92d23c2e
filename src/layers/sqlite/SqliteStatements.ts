/**
 * Runs statements on a database, synchronously, and prepares each text once.
 *
 * Does not own whether the files are still there (`SqliteFile`), nor locks that others hold (`SqliteLocks`).
 */
import type { DatabaseSync, SQLInputValue, StatementSync } from "node:sqlite"
import type { Guarded } from "./Guarded.ts"

export type Rows = ReadonlyArray<any>

/** The form of rows; `raw` is what SQLite reports for a statement that returns none. */
export type Shape = "objects" | "arrays" | "raw"

type Values = ReadonlyArray<SQLInputValue>

interface SqliteStatements {
  /** Takes values as effect/sql passes them. */
  readonly execute: (text: string, params?: ReadonlyArray<unknown>, shape?: Shape) => Rows
  /** `false`, and nothing is written, when the guard neither returns nor changes a row. Takes no turns with other transactions. */
  readonly transaction: (statements: Guarded) => boolean
}

interface Prepared {
  readonly statement: StatementSync
  readonly returnsRows: boolean
}

/** How many texts are kept, for a client that is used for more than a store, which has few texts. */
const cacheSize = 200

export const make = (db: DatabaseSync): SqliteStatements => {
  const prepared = new Map<string, Prepared>()

  const prepare = (text: string): Prepared => {
    const statement = db.prepare(text)
    const found = { statement, returnsRows: statement.columns().length > 0 }
    if (prepared.size >= cacheSize) prepared.clear()
    prepared.set(text, found)
    return found
  }

  const run = (text: string, values: Values = [], shape: Shape = "objects"): Rows => {
    const { returnsRows, statement } = prepared.get(text) ?? prepare(text)
    if (!returnsRows) {
      const result = statement.run(...values)
      return shape === "raw" ? result as unknown as Rows : []
    }
    statement.setReturnArrays(shape === "arrays")
    return statement.all(...values)
  }

  const isMet = (guard: string, values: Values): boolean => {
    const { returnsRows, statement } = prepared.get(guard) ?? prepare(guard)
    return returnsRows ? statement.all(...values).length > 0 : statement.run(...values).changes > 0
  }

  return {
    execute: (text, params = [], shape) => run(text, params.map(toSqlite), shape),
    transaction: (statements) => {
      const [guard, values] = statements[0]
      if (statements.length === 1) return isMet(guard, values)
      run("BEGIN IMMEDIATE")
      try {
        const goesOn = isMet(guard, values)
        for (const statement of goesOn ? statements.slice(1) : []) run(...statement)
        run("COMMIT")
        return goesOn
      } catch (cause) {
        if (db.isTransaction) run("ROLLBACK")
        throw cause
      }
    }
  }
}

const toSqlite = (value: unknown): SQLInputValue => {
  if (typeof value === "boolean") return value ? 1 : 0
  if (value instanceof Date) return value.toISOString()
  return value === undefined ? null : value as SQLInputValue
}
