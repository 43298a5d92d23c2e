/** The stores that outlive a process, by name, for processes that are told which one to open and where. */
import * as SessionStorePg from "../../src/layers/SessionStorePg.ts"
import * as SessionStoreSqlite from "../../src/layers/SessionStoreSqlite.ts"

export const stores = {
  Sqlite: (filename: string) => SessionStoreSqlite.layer({ filename }),
  Pg: (url: string) => SessionStorePg.layer({ url, maxConnections: 2 })
}

export type Name = keyof typeof stores
