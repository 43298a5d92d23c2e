/**
 * Packs the package, installs it as a user would, and runs the README's first program and the command against a stand-in
 * provider, on the oldest and the newest Node that we promise. Does not test behaviour beyond that.
 *
 *     node scripts/check-pack.mjs [folder of the package, default this repository]
 */
import * as FileSystem from "node:fs"
import { join, posix, resolve } from "node:path"
import { rolldown } from "rolldown"
import { listen, toolResults } from "./OpenAiServer.ts"
import { expect, folder, npm, run, step } from "./Sandbox.ts"
import { linksOf, program } from "./Snippets.ts"

const nodes = ["22.19.0", "24.21.0"]
const repository = resolve(import.meta.dirname, "..")
const source = resolve(process.argv[2] ?? repository)
const read = (folder) => JSON.parse(FileSystem.readFileSync(join(folder, "package.json"), "utf8"))
const manifest = read(source)
const apiKey = "sk-check-pack"

const warmer = "It is warmer in Rome."

/** Looks both cities up in one message, then answers. */
const weather = (request) => {
  const results = toolResults(request)
  if (results.length === 0) {
    return { calls: ["Oslo", "Rome"].map((city) => ({ name: "get_weather", params: { city } })) }
  }
  if (results.length !== 2 || !results.every((_) => /\d/.test(_))) {
    throw new Error(`expected the weather of two cities, got ${JSON.stringify(results)}`)
  }
  return { text: warmer }
}

/** Lists the files, then names the three with the most lines among those that the tool named. */
const longest = (request) => {
  const [result] = toolResults(request)
  if (result === undefined) return { calls: [{ name: "list_files", params: {} }] }
  const files = JSON.parse(result).entries.toSorted((a, b) => b.lines - a.lines).slice(0, 3)
  return { text: `The longest files are ${files.map((_) => _.path).join(", ")}.` }
}

const server = await listen(apiKey, (request) => {
  const offered = request.tools?.map((_) => _.function.name) ?? []
  if (offered.includes("get_weather")) return weather(request)
  if (offered.includes("list_files")) return longest(request)
  throw new Error(`expected the tool get_weather or list_files, got ${JSON.stringify(offered)}`)
})
const provider = { OPENAI_API_KEY: apiKey, OPENAI_BASE_URL: server.url, HOME: folder("home", {}) }

/** Runs a command that talks to the model, and returns its output with the requests that it made. */
const converse = async (command, args, options) => {
  const [asked, refused] = [server.requests.length, server.refusals.length]
  const output = await run(command, args, { ...options, env: provider, seconds: 60 }).catch((error) => {
    const refusals = server.refusals.slice(refused).map((_) => `\n${_}`).join("")
    throw refusals === "" ? error : new Error(`${error.message}\n--- refused by the provider${refusals}`)
  })
  expect(server.refusals.length === refused, `the provider refused: ${server.refusals[refused]}`, output)
  expect(!/^\s+at /m.test(output.stdout + output.stderr), "it prints a stack trace", output)
  return { ...output, requests: server.requests.slice(asked) }
}

const packed = () =>
  step("npm pack", async () => {
    const pack = folder("pack", {})
    const bin = [join(repository, "node_modules/.bin")]
    await npm(["pack", source, "--pack-destination", pack], { cwd: source, bin })
    return join(pack, FileSystem.readdirSync(pack).find((_) => _.endsWith(".tgz")))
  })

const installedNode = (version) =>
  step(`Node ${version}: npm install node@${version}`, async () => {
    const cwd = folder(`node-${version}`, { "package.json": { private: true, allowScripts: { node: true } } })
    await npm(["install", `node@${version}`], { cwd })
    const bin = join(cwd, "node_modules/.bin")
    const { stdout } = await run("node", ["--version"], { cwd, bin: [bin] })
    expect(stdout.trim() === `v${version}`, `node --version says ${stdout}`)
    return { version, bin }
  })

const [tarball, ...installed] = await Promise.all([packed(), ...nodes.map(installedNode)])

await step("what is packed", async () => {
  const { stdout } = await run("tar", ["-tzf", tarball], { cwd: source })
  const files = stdout.trim().split("\n").map((_) => _.replace("package/", ""))
  for (const file of ["README.md", "LICENSE", "dist/index.js", "dist/index.d.ts", manifest.bin.fiberloop]) {
    expect(files.includes(file), `${file} is missing`, { stdout })
  }
  const strange = files.filter((_) =>
    !/^(package\.json|README\.md|AGENTS\.md|LICENSE|dist\/.+\.(js|d\.ts)(\.map)?|dist\/cli\/LICENSES\.txt|src\/.+\.ts|docs\/.+\.md|examples\/.+\.(md|ts|jsonl)|bench\/plots\/.+\.svg)$/
      .test(_)
  )
  expect(strange.length === 0, `these files are no part of the package: ${strange.join(", ")}`)
  const lost = files.filter((_) => _.endsWith(".md")).flatMap((page) =>
    linksOf(FileSystem.readFileSync(join(source, page), "utf8"))
      .map((link) => posix.join(posix.dirname(page), link.split("#")[0] || posix.basename(page)))
      .filter((target) => !files.some((file) => file === target || file.startsWith(target.replace(/\/?$/, "/"))))
      .map((target) => `${page} -> ${target}`)
  )
  expect(lost.length === 0, `these links lead out of the package: ${lost.join(", ")}`)
  const first = ["agent", "run/run", "services/services"].map((_) => `package/dist/${_}.chunk.js`)
  const { stdout: taken } = await run("tar", ["-xzOf", tarball, ...first], { cwd: source })
  expect(!/^import .*\/views\.chunk\.js"/m.test(taken), "a first run loads what reads the log of a run: views.chunk.js")
  const maps = files.filter((_) => _.endsWith(".map")).length
  expect(maps === 0 || files.includes("src/index.ts"), "source maps are packed without the sources they name")
  expect(!("node" in { ...manifest.dependencies, ...manifest.optionalDependencies }), "node is a dependency of users")
})

const hello = await step("the README's program", async () => {
  const found = program(FileSystem.readFileSync(join(source, "README.md"), "utf8"))
  expect(found !== undefined, "README.md has no ts block that runs something")
  return found.source
})

const entries = Object.keys(manifest.exports).filter((_) => !_.includes("*") && _.includes("/") && !_.endsWith(".json"))
const names = [
  "fiberloop",
  "fiberloop/Agent",
  ...entries.filter((_) => manifest.exports[_]).map((_) => _.replace(".", "fiberloop"))
]

const exported = (modules) => modules.map((_, index) => `export * as _${index} from "${_}"\n`).join("")
const tsc = join(repository, "node_modules/typescript/bin/tsc")

const installedApp = ({ bin, version }) =>
  step(`Node ${version}: npm install fiberloop`, async () => {
    const cwd = folder(`app-${version}`, {
      "package.json": { name: "app", private: true, type: "module" },
      "program.ts": hello,
      "exports.ts": exported(names),
      "bare.ts": exported(names.filter((_) => _ !== "fiberloop/ai-sdk")),
      "tsconfig.json": {
        compilerOptions: {
          target: "es2024",
          module: "nodenext",
          strict: true,
          exactOptionalPropertyTypes: true,
          noEmit: true
        },
        include: ["*.ts"]
      },
      "bare.json": {
        extends: "./tsconfig.json",
        compilerOptions: { skipLibCheck: false, types: [] },
        include: ["bare.ts"]
      }
    })
    const versions = { ...manifest.devDependencies, ...manifest.peerDependencies }
    const peers = ["effect", "@effect/platform-node"].map((_) => `${_}@${versions[_]}`)
    const { stderr } = await npm(["install", tarball, ...peers], { cwd, bin: [bin] })
    const warnings = stderr.split("\n").filter((_) => _ !== "" && !/Unknown user config|warn cli npm/.test(_))
    expect(warnings.length === 0, "npm install warns", { stderr })
    for (const path of ["node", "fiberloop/node_modules"]) {
      expect(!FileSystem.existsSync(join(cwd, "node_modules", path)), `node_modules/${path} was installed`)
    }
    return { version, bin, app: cwd }
  })

for (const { app, bin, version } of await Promise.all(installed.map(installedApp))) {
  if (version === nodes[0]) {
    await step("the program and every entry point against the published types", async () => {
      const { devDependencies } = read(repository)
      // the types of fiberloop/ai-sdk refer to those of its peer, and those to JSON Schema's; loading it, below, needs none
      const types = ["@types/node", "@ai-sdk/provider"].map((_) => `${_}@${devDependencies[_]}`)
      await npm(["install", "--no-save", ...types, "@types/json-schema@7.0.15"], { cwd: app, bin: [bin] })
      await run(process.execPath, [tsc, "-p", "."], { cwd: app })
      FileSystem.rmSync(join(app, "node_modules/@ai-sdk"), { recursive: true })
    })

    await step("the published types need none of Node, even where the types of libraries are checked", async () => {
      await run(process.execPath, [tsc, "-p", "bare.json"], { cwd: app })
    })

    /** What a bundler makes of it, all files together. */
    const bundled = async (line) => {
      const input = join(app, "bundled.js")
      FileSystem.writeFileSync(input, line)
      const warned = (_, warning) => expect(false, `the bundler warns: ${warning.message}`)
      const bundle = await rolldown({ input, platform: "node", onLog: warned })
      return (await bundle.generate({ format: "esm" })).output.map((_) => _.code).join("\n")
    }

    await step("a bundle of one setting holds no other service and no event", async () => {
      const code = await bundled(`export { Ids } from "fiberloop/services/Ids"\n`)
      expect(code.includes("fiberloop/services/Ids"), "it is not in its bundle")
      for (const other of ["fiberloop/services/SessionStore", "TaggedStruct(\"InvalidInput\""]) {
        expect(!code.includes(other), `a bundle of fiberloop/services/Ids holds ${other}`)
      }
    })

    await step("a bundle of an agent holds no adapter, one of an adapter what it loads", async () => {
      const agent = await bundled(`export { Agent, SessionStoreMemory } from "fiberloop"\n`)
      const parts = {
        ModelLanguageModel: "effect/ai/LanguageModel",
        ModelOpenAi: "/chat/completions",
        SessionStoreSqlite: "node:sqlite"
      }
      for (const [adapter, part] of Object.entries(parts)) {
        const code = await bundled(`export { ${adapter} } from "fiberloop"\n`)
        expect(code.includes(part), `the bundle of ${adapter} holds no ${part}`)
        expect(!agent.includes(part), `the bundle of an agent holds ${part}`)
      }
    })
  }

  await step(
    `Node ${version}: every entry point loads, by import and by require, the command's files and the rooms are none`,
    async () => {
      const load = names.map((_) => `await import("${_}")`).join("\n")
      await run("node", ["--input-type=module", "-e", load], { cwd: app, bin: [bin] })
      const required = names.map((_) => `require("${_}")`).join("\n")
      await run("node", ["--input-type=commonjs", "-e", required], { cwd: app, bin: [bin] })
      for (const name of ["cli/main", "agent.chunk", "run/run.chunk", "run/stats/Summary", "layers/SessionStoreSql"]) {
        const closed = `import("fiberloop/${name}").then(() => console.log("it"), (_) => console.log(_.code))`
        const { stdout } = await run("node", ["-e", closed], { cwd: app, bin: [bin] })
        expect(stdout.trim() === "ERR_PACKAGE_PATH_NOT_EXPORTED", `importing fiberloop/${name} gives ${stdout}`)
      }
    }
  )

  await step(
    `Node ${version}: fiberloop and an adapter load what that is made of once it is built, and adapters no agent`,
    async () => {
      const hook = `registerHooks({ load: (url, context, next) => { console.log(url); return next(url, context) } })`
      /** What an import loads, with everything loaded in turn. */
      const loadedBy = async (name) => {
        const load = `import { registerHooks } from "node:module"\n${hook}\nawait import("${name}")`
        const { stdout } = await run("node", ["--input-type=module", "-e", load], { cwd: app, bin: [bin] })
        return stdout.trim().split("\n")
      }
      const agent = /\/dist\/agent\.chunk\.js$/
      const made =
        /^node:|\/effect\/dist\/(http\/HttpClient|sql|reactivity|encoding\/Sse|ai\/(LanguageModel|Model|Prompt|Response)\.)|\/dist\/layers\/(model|openai|sql)/
      const all = await loadedBy("fiberloop")
      expect(all.some((url) => agent.test(url)), "fiberloop loads no agent.chunk.js")
      const adapters = ["LanguageModelOpenAi", "ModelLanguageModel", "ModelOpenAi", "SessionStoreSqlite"]
      const alone = await Promise.all(adapters.map((adapter) => loadedBy(`fiberloop/layers/${adapter}`)))
      const early = new Set([all, ...alone].flat().filter((url) => made.test(url)))
      expect(
        early.size === 0,
        `it loads ${Array.from(early, (url) => url.replace(/^.*node_modules\//, "")).join(", ")}`
      )
      expect(!alone.flat().some((url) => agent.test(url)), "an adapter loads agent.chunk.js")
    }
  )

  await step(`Node ${version}: node program.ts`, async () => {
    const { requests, stderr, stdout } = await converse("node", ["program.ts"], { cwd: app, bin: [bin] })
    expect(stdout.replace(/\s+/g, " ").trim() === warmer, `it should print "${warmer}"`, { stdout, stderr })
    expect(requests.length === 2, `it should ask the model twice, and asked ${requests.length} times`, {
      stdout,
      stderr
    })
    expect(FileSystem.existsSync(join(app, "sessions.db")), "there is no sessions.db", { stdout, stderr })
  })

  await step(`Node ${version}: npx fiberloop --help, --version`, async () => {
    const help = await run("npx", ["--no-install", "fiberloop", "--help"], { cwd: app, bin: [bin], env: provider })
    expect(/\brun\b/.test(help.stdout), "--help does not name the command run", help)
    const { stdout } = await run("npx", ["--no-install", "fiberloop", "--version"], {
      cwd: app,
      bin: [bin],
      env: provider
    })
    expect(stdout.includes(manifest.version), `--version should say ${manifest.version}`, { stdout })
  })

  await step(`Node ${version}: fiberloop run "which three files are the longest?"`, async () => {
    const lines = { "poem.md": 120, "list.txt": 90, "code.ts": 60, "note.txt": 5, "empty.md": 0 }
    const cwd = folder(
      `files-${version}`,
      Object.fromEntries(Object.entries(lines).map(([file, n]) => [file, "a line\n".repeat(n)]))
    )
    const path = [join(app, "node_modules/.bin"), bin]
    const { stderr, stdout } = await converse("fiberloop", ["run", "which three files are the longest?"], {
      cwd,
      bin: path
    })
    expect(!/warning/i.test(stderr), "Node warns", { stdout, stderr })
    for (const [file, n] of Object.entries(lines)) {
      const isLong = n >= 60
      expect(stdout.includes(file) === isLong, `${file} (${n} lines) is ${isLong ? "not " : ""}named`, {
        stdout,
        stderr
      })
    }
  })
}

await server[Symbol.asyncDispose]()
console.log("The package works as installed.")
