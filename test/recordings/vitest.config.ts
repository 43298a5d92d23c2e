/** `npm run test:recordings`: the tests that need a folder of recorded provider streams, which this repository does not hold. */
import { defineConfig } from "vitest/config"

export default defineConfig({
  test: { include: ["test/recordings/**/*.test.ts"], pool: "forks", testTimeout: 60_000 }
})
