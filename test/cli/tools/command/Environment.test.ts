import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Environment from "../../../../src/cli/tools/command/Environment.ts"

describe("the environment of a command", () => {
  it.effect("has the folder and what programs need", () =>
    Effect.sync(() => {
      const parent = {
        PATH: "/bin",
        HOME: "/home/me",
        LANG: "C.UTF-8",
        LC_TIME: "de_DE.UTF-8",
        TZ: "UTC",
        PWD: "/other"
      }
      assert.deepStrictEqual(Environment.make(parent, "/root"), { ...parent, PWD: "/root" })
    }))

  it.effect.each([
    "OPENAI_API_KEY",
    "OPENAI_BASE_URL",
    "AWS_SECRET_ACCESS_KEY",
    "GITHUB_TOKEN",
    "LC_API_KEY",
    "PATH_TOKEN",
    "NODE_OPTIONS",
    "LD_PRELOAD",
    "path"
  ])("has no %s", (name) =>
    Effect.sync(() => {
      assert.deepStrictEqual(Environment.make({ [name]: "sk-secret" }, "/root"), { PWD: "/root" })
    }))
})
