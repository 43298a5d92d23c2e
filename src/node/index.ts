/** What needs Node itself: sessions in a file, over the SQLite that is built into it. */
export * as SessionStoreSqlite from "../layers/SessionStoreSqlite.ts"
export * as SqliteClient from "../layers/SqliteClient.ts"
