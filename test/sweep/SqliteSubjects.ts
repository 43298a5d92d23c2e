/** Every scenario on SQLite, each death with a file of its own. */
import { join } from "node:path"
import * as SessionStoreSqlite from "../../src/layers/SessionStoreSqlite.ts"
import * as Subjects from "./Subjects.ts"

export const subjects = Subjects.make(({ folder }) =>
  SessionStoreSqlite.layer({ filename: join(folder, "sessions.db") })
)
