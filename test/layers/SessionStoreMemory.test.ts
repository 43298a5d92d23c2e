import * as SessionStoreMemory from "../../src/layers/SessionStoreMemory.ts"
import { suite } from "../../src/testing/SessionStoreSuite.ts"

suite("SessionStoreMemory", SessionStoreMemory.layer)
