/** The exports that need Node itself: sessions in a file, over its built-in SQLite. */
export * as SessionStoreSqlite from "../layers/SessionStoreSqlite.ts"
export * as SqliteClient from "../layers/SqliteClient.ts"
