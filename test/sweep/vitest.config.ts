/** `npm run test:sweep`: the sweeps at full size, on every platform the same. */
import { defineConfig, mergeConfig } from "vitest/config"
import config from "../../vitest.config.ts"

export default mergeConfig(config, defineConfig({ test: { env: { FIBERLOOP_SWEEP: "all" } } }))
