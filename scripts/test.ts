/**
 * `npm test`: types, format and lint, floating promises, house rules and layers, and the bundle, all at once; then
 * every *.test.ts under node's own test runner: those of units in three processes, the others in one each. The last
 * line says how many there were.
 * `npm test -- path/to/one.test.ts ...` runs only those tests.
 */
import { spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { isTest, listFiles, ROOT } from './files.ts'

/** Test files mostly wait for sockets: a little more than two cores have to do. */
const TEST_CONCURRENCY = 3
/** For one file: a hang, even a busy loop, becomes a failure that names it. */
const TEST_TIMEOUT_MS = 120_000

/**
 * Files that may share a process: nothing in them starts a program or a thread, or changes what the process has for
 * all. A process of its own for each of them costs as much as all their tests.
 */
const SHARED =
  /^(?:backends|engine\/(?:admin|build|cel|contract|downstream|http2?|ir|kit|routing|schema|socket|standalone|telemetry|upstream)|policies)\//
const ALONE = /program|upstream\/hostile|grpc-example/
/** Processes that share them. */
const PARTS = 3

interface Check {
  readonly name: string
  /** Arguments for node: a script and its own arguments. */
  readonly args: readonly string[]
}

interface Outcome {
  readonly code: number
  readonly output: string
}

/** Script files behind an installed tool, from its package: works on every platform, and without a PATH. */
function tool(packageName: string, binary: string): string {
  const folder = join(ROOT, 'node_modules', packageName)
  const manifest = join(folder, 'package.json')
  if (!existsSync(manifest)) throw new Error(`${packageName} is not installed: run npm ci first`)
  const { bin } = JSON.parse(readFileSync(manifest, 'utf8')) as { bin: string | Record<string, string> }
  const path = typeof bin === 'string' ? bin : bin[binary]
  if (path === undefined) throw new Error(`${packageName} has no program ${binary}`)
  return join(folder, path)
}

function checks(): Check[] {
  return [
    { name: 'tsc', args: [tool('typescript', 'tsc'), '--noEmit'] },
    { name: 'biome', args: [tool('@biomejs/biome', 'biome'), 'check', '.'] },
    { name: 'oxlint', args: [tool('oxlint', 'oxlint'), '--type-aware', '.'] },
    { name: 'tidy', args: ['--disable-warning=ExperimentalWarning', join(ROOT, 'scripts/tidy.ts')] },
    { name: 'layers', args: ['--disable-warning=ExperimentalWarning', join(ROOT, 'scripts/layers.ts')] },
    { name: 'bundle', args: ['--disable-warning=ExperimentalWarning', join(ROOT, 'scripts/build.ts'), BUNDLE] }
  ]
}

/** What tests start as the program: in a folder of its own below the packages that it is not bundled with. */
const BUNDLE = join(ROOT, 'dist', 'test', 'weir.mjs')
/** What Node has compiled, for the next process: a third of what it takes to load the engine's sources. */
const COMPILED = join(ROOT, 'dist', 'test', 'compiled')

/** oxlint looks for its type-aware half in the PATH; npm sets that, a direct call does not. */
const env: NodeJS.ProcessEnv = {
  ...process.env,
  NODE_COMPILE_CACHE: COMPILED,
  PATH: `${join(ROOT, 'node_modules', '.bin')}${delimiter}${process.env.PATH ?? ''}`
}

const TEST_ARGS = ['--disable-warning=ExperimentalWarning', '--test', `--test-timeout=${TEST_TIMEOUT_MS}`]
const TAP = '--test-reporter=tap'

/** Runs the node that runs this, so that every step has the pinned version. Killed by a signal: code 1. */
function runNode(args: readonly string[], how: 'pipe' | 'tee' | 'inherit'): Promise<Outcome> {
  const stdio = how === 'inherit' ? how : 'pipe'
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, args, { cwd: ROOT, env, stdio: ['ignore', stdio, stdio] })
    const chunks: Buffer[] = []
    for (const [stream, own] of [
      [child.stdout, process.stdout],
      [child.stderr, process.stderr]
    ] as const) {
      stream?.on('data', (chunk: Buffer) => {
        chunks.push(chunk)
        if (how === 'tee') own.write(chunk)
      })
    }
    child.once('error', reject)
    child.once('close', (code) => resolve({ code: code ?? 1, output: Buffer.concat(chunks).toString() }))
  })
}

/** Runs one check and prints its line; what it said is printed only when it failed. */
async function runCheck({ name, args }: Check): Promise<string | null> {
  const startedAt = performance.now()
  const { code, output } = await runNode(args, 'pipe')
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1)
  console.log(`${code === 0 ? 'ok  ' : 'FAIL'} ${name} (${seconds} s)`)
  if (code === 0) return null
  console.log(output.trimEnd())
  return name
}

/** Runs files in one process. The number of tests that passed; null when one did not, and then all is printed. */
async function runShared(files: readonly string[]): Promise<number | null> {
  const { code, output } = await runNode([...TEST_ARGS, '--experimental-test-isolation=none', TAP, ...files], 'pipe')
  if (code !== 0) console.log(output.trimEnd())
  return code === 0 ? countOf(output) : null
}

/** Of the summary of a run. */
function countOf(output: string): number {
  return Number(/^# pass (\d+)$/m.exec(output)?.[1] ?? 0)
}

async function main(asked: readonly string[]): Promise<void> {
  if (asked.length > 0) {
    const { code } = await runNode([...TEST_ARGS, ...asked], 'inherit')
    if (code !== 0) process.exitCode = 1
    return
  }
  const failed = (await Promise.all(checks().map(runCheck))).filter((name) => name !== null)
  if (!failed.includes('bundle')) env.WEIR_TEST_PROGRAM = BUNDLE
  const files = listFiles(ROOT).filter(isTest)
  const isShared = (file: string) => SHARED.test(file) && !ALONE.test(file)
  const shared = files.filter(isShared)
  const parts = Array.from({ length: PARTS }, (_, part) => runShared(shared.filter((_, i) => i % PARTS === part)))
  const counts = await Promise.all(parts)
  const alone = await runAlone(files.filter((file) => !isShared(file)))
  if (failed.length > 0) console.error(`failed before the tests: ${failed.join(', ')} (see above)`)
  if (counts.includes(null)) console.error('tests failed in a shared process (see above)')
  if (failed.length > 0 || counts.includes(null) || alone === null) process.exitCode = 1
  else console.log(`all ${counts.concat(alone).reduce<number>((sum, count) => sum + (count ?? 0), 0)} tests passed`)
}

/** As runShared, a process for each file, printed as they end. */
async function runAlone(files: readonly string[]): Promise<number | null> {
  const { code, output } = await runNode([...TEST_ARGS, `--test-concurrency=${TEST_CONCURRENCY}`, TAP, ...files], 'tee')
  return code === 0 ? countOf(output) : null
}

await main(process.argv.slice(2))
