import * as SessionStoreMemory from "../../src/layers/SessionStoreMemory.ts"
import { suite } from "./SessionStoreSuite.ts"

suite("SessionStoreMemory", SessionStoreMemory.layer)
