/** Logs written by hand: the drafts that `SessionStoreSuite` writes its own with. */
export * from "../../src/testing/sessions/Drafts.ts"
