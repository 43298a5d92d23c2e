import { tmpdir } from "node:os"
import { join } from "node:path"
import { defineConfig } from "vitest/config"

const src = (path: string) => new URL(`./src/${path}`, import.meta.url).pathname

export default defineConfig({
  resolve: {
    // The package under its own name is its source, as in `paths` of tsconfig.json.
    alias: [
      { find: /^fiberloop$/, replacement: src("index.ts") },
      { find: /^fiberloop\/(testing|node|ai-sdk)$/, replacement: src("$1/index.ts") },
      { find: /^fiberloop\/(.+)$/, replacement: src("$1.ts") }
    ]
  },
  test: {
    include: ["test/**/*.test.ts", "examples/**/*.test.ts"],
    // provider recordings are not part of the repository: npm run test:recordings
    exclude: ["test/recordings/**"],
    // where the command is built for those tests that start it, the Postgres of those that ask for one
    globalSetup: ["test/support/InstalledFolder.ts", "test/support/PostgresServer.ts"],
    // Processes, because tests send signals and open databases; kept between files, because loading effect costs more than
    // most files run for. A test file leaves no global state behind.
    pool: "forks",
    isolate: false,
    maxWorkers: 2,
    // processes that tests start of the sources load the same hundreds of files
    env: { NODE_COMPILE_CACHE: join(tmpdir(), "node-compile-cache") },
    // many tests start processes: what a busy machine takes for that says nothing of them
    testTimeout: 60_000,
    hookTimeout: 60_000
  }
})
