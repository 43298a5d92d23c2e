/** `npm run test:sweep`: the sweeps at full size, each a test of minutes that says how many points it tried. */
import { defineConfig } from "vitest/config"

export default defineConfig({
  test: {
    include: ["test/sweep/**/*.{test,sweep}.ts"],
    env: { FIBERLOOP_SWEEP: "all" },
    globalSetup: ["test/support/PostgresServer.ts"],
    pool: "forks",
    maxWorkers: 1,
    testTimeout: 1_800_000
  }
})
