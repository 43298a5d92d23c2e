/** Every scenario on Postgres, in the database that the sweep is given; each death has a session of its own. */
import * as SessionStorePg from "../../src/layers/SessionStorePg.ts"
import * as Subjects from "./Subjects.ts"

export const subjects = Subjects.make(({ argument }) => SessionStorePg.layer({ url: argument, maxConnections: 2 }))
