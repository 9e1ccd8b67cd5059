/**
 * `npm test`: types, format and lint, floating promises, project rules, layers, and every *.test.ts under node's own
 * test runner, all from one queue: those of units in twelve processes, the others in one each. The bundle is made
 * first: tests start it. The last line says how many tests there were.
 * `npm test -- FILE ...` runs only those tests, behind the bundle where they may start it.
 */
import { spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { isTest, listFiles, ROOT } from './files.ts'
import { FAILED } from './reporter.ts'

/** Steps that run at once: tests wait for sockets half of the time. A little more than two cores have to do. */
const LANES = 3
/**
 * For one test: a hang becomes a failure that names it. The longest takes ten seconds alone; beside other work, or on
 * a slower machine, twenty times that is no fault.
 */
const TEST_TIMEOUT_MS = 1_200_000
/** Of a file that was asked for by name. The longest takes half a minute alone. */
const CHOSEN_TIMEOUT_MS = 300_000
/**
 * For one step, of the processor: the slowest takes one or two minutes. A loop that never ends is ended by it, and a
 * step that waits for its turn on a busy machine is not.
 */
const STEP_CPU_MS = 1_200_000
/** For one step. The largest takes 2 GB: without a bound the kernel ends whatever is largest, and nobody knows why. */
const STEP_MEMORY_MB = 6144
const WATCH_MS = 5000

/**
 * Files that may share a process: nothing in them starts a program or a thread, or changes what the process has for
 * all. A process of its own for each of them costs as much as all their tests.
 */
const SHARED =
  /^(?:backends|engine\/(?:admin|build|cel|contract|downstream|http2?|ir|kit|routing|schema|socket|source|standalone|telemetry|upstream)|policies)\//
/** Of those folders, what starts programs, changes what a process has for all, or counts its objects. */
const ALONE = [
  'backends/llm/plan/released-requests.test.ts',
  'engine/upstream/http1/hostile.test.ts',
  'policies/canary-program.test.ts',
  'policies/grpc-example.test.ts',
  'policies/traffic/credentials-program.test.ts',
  'policies/traffic/ext-proc/leaks.test.ts',
  'policies/traffic/ext-proc/leaving.test.ts',
  'policies/traffic/rate-limit-program.test.ts'
]
const isShared = (file: string): boolean => SHARED.test(file) && !ALONE.includes(file)
/** Processes that share them. */
const PARTS = 12
/** Of the others those that take longest: they begin first, so that the last minute has something for every lane. */
const LONG = [
  'engine/workers/supervisor.test.ts',
  'engine/process/program-end.test.ts',
  'engine/process/program.test.ts',
  'engine/upstream/http1/hostile.test.ts',
  'bench/load/soak.test.ts',
  'engine/process/weir.test.ts',
  'engine/testing/h1spec.test.ts',
  'bench/bench.test.ts',
  'engine/workers/children/children-life.test.ts',
  'engine/process/program-files.test.ts'
]

interface Step {
  readonly name: string
  /** Arguments for node: a script and its own arguments, or tests. */
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

/** Where our code is: whatever else lies in a clone is not ours to judge. */
const FOLDERS = ['engine', 'policies', 'backends', 'bench', 'fuzz', 'scripts']

function checks(): Step[] {
  return [
    // What has been found out is kept: the next run looks at what has changed, and at what that touches.
    { name: 'tsc', args: [tool('typescript', 'tsc'), '--noEmit', '--incremental', '--tsBuildInfoFile', TYPES] },
    {
      name: 'tsc of the browser application',
      args: [tool('typescript', 'tsc'), '-p', 'engine/ui', '--noEmit', '--incremental', '--tsBuildInfoFile', UI_TYPES]
    },
    { name: 'oxlint', args: [tool('oxlint', 'oxlint'), '--type-aware', ...FOLDERS] },
    { name: 'biome', args: [tool('@biomejs/biome', 'biome'), 'check', '.'] },
    { name: 'tidy', args: ['--disable-warning=ExperimentalWarning', join(ROOT, 'scripts/tidy.ts')] },
    { name: 'layers', args: ['--disable-warning=ExperimentalWarning', join(ROOT, 'scripts/layers.ts')] }
  ]
}

/** Every test file, as steps in the order in which they begin. */
function tests(): Step[] {
  const files = listFiles(ROOT).filter(isTest)
  const lost = [...ALONE, ...LONG].filter((file) => !files.includes(file))
  if (lost.length > 0) throw new Error(`scripts/test.ts names tests that are not there: ${lost.join(', ')}`)
  const shared = files.filter(isShared)
  const parts = Array.from({ length: PARTS }, (_, part) => shared.filter((_, i) => i % PARTS === part))
  const alone = files.filter((file) => !isShared(file))
  const long = LONG.filter((file) => alone.includes(file))
  return [
    ...parts.map((part, i) => ({ name: `units, part ${i + 1} of ${PARTS}`, args: [...ONE_PROCESS, ...part] })),
    ...[...long, ...alone.filter((file) => !long.includes(file))].map((file) => ({
      name: file,
      args: [...ONE_PROCESS, file]
    }))
  ]
}

/** What tests start as the program: in a folder of its own below the packages that it is not bundled with. */
const BUNDLE = join(ROOT, 'dist', 'test', 'weir.mjs')
/** What tsc remembers. */
const TYPES = join(ROOT, 'dist', 'test', 'types.json')
const UI_TYPES = join(ROOT, 'dist', 'test', 'ui-types.json')
const BUILD: Step = {
  name: 'bundle',
  args: ['--disable-warning=ExperimentalWarning', join(ROOT, 'scripts/build.ts'), BUNDLE]
}

/** What Node has compiled, for the next process: a third of what it takes to load the engine's sources. */
const COMPILED = join(ROOT, 'dist', 'test', 'compiled')

/** oxlint looks for its type-aware half in the PATH; npm sets that, a direct call does not. */
const env: NodeJS.ProcessEnv = {
  ...process.env,
  NODE_COMPILE_CACHE: COMPILED,
  PATH: `${join(ROOT, 'node_modules', '.bin')}${delimiter}${process.env.PATH ?? ''}`
}

const testArgs = (timeoutMs: number) => [
  '--disable-warning=ExperimentalWarning',
  '--test',
  `--test-timeout=${timeoutMs}`
]
/** A connection that a test has left open, on a busy machine for instance, must not keep the process for ever. */
const ONE_PROCESS = [
  ...testArgs(TEST_TIMEOUT_MS),
  ...['--experimental-test-isolation=none', '--test-force-exit'],
  `--test-reporter=${pathToFileURL(join(ROOT, 'scripts', 'reporter.ts'))}`
]

/**
 * Processor time of a process and of its children that have ended; 0 where the system has no /proc: there a step ends
 * by the time limits of its tests only. Fields 14 to 17 of proc_pid_stat(5), in hundredths of a second.
 */
function cpuMsOf(pid: number): number {
  const file = `/proc/${pid}/stat`
  if (!existsSync(file)) return 0
  const text = readFileSync(file, 'latin1')
  // The name of the program is in parentheses and may hold spaces.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks) * 10, 0)
}

/** Of a process without its children; 0 where the system has no /proc. */
function residentMbOf(pid: number): number {
  const file = `/proc/${pid}/status`
  const kb = existsSync(file) ? /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(file, 'latin1'))?.[1] : undefined
  return Math.round(Number(kb ?? 0) / 1024)
}

/** Runs the node that runs this, so that every step has the pinned version. Killed by a signal: code 1, and why. */
function runNode(args: readonly string[], how: 'pipe' | 'inherit'): Promise<Outcome> {
  const stdio = how === 'inherit' ? how : 'pipe'
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, args, { cwd: ROOT, env, stdio: ['ignore', stdio, stdio] })
    const chunks: Buffer[] = []
    let peakMb = 0
    const end = (why: string): void => {
      chunks.push(Buffer.from(`${why}\n`))
      child.kill('SIGKILL')
    }
    const watch = setInterval(() => {
      peakMb = Math.max(peakMb, residentMbOf(child.pid!))
      if (peakMb > STEP_MEMORY_MB) end(`it has ${peakMb} MB of memory, and a step may have ${STEP_MEMORY_MB}`)
      if (cpuMsOf(child.pid!) >= STEP_CPU_MS) end(`it has used ${STEP_CPU_MS / 1000} s of processor time`)
    }, WATCH_MS)
    for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk: Buffer) => chunks.push(chunk))
    child.once('error', reject)
    child.once('close', (code, signal) => {
      clearInterval(watch)
      if (signal !== null) chunks.push(Buffer.from(`ended by ${signal}, with at most ${peakMb} MB of memory\n`))
      resolve({ code: code ?? 1, output: Buffer.concat(chunks).toString() })
    })
  })
}

/** Runs one step and prints its line; what it said is printed only when it failed. */
async function runStep({ name, args }: Step): Promise<Outcome> {
  const startedAt = performance.now()
  const outcome = await runNode(args, 'pipe')
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1)
  console.log(`${outcome.code === 0 ? 'ok  ' : 'FAIL'} ${name} (${seconds} s)`)
  if (outcome.code !== 0) console.log(outcome.output.trimEnd())
  return outcome
}

/** Of the summary of a run of tests. */
function countOf(output: string): number {
  return Number(/^# pass (\d+)$/m.exec(output)?.[1] ?? 0)
}

/** The lines that name tests. */
function failuresIn(output: string): string[] {
  return output.split('\n').filter((line) => line.startsWith(FAILED))
}

/** Resolves with the exit code. */
async function runChosen(files: readonly string[]): Promise<number> {
  if (!files.every(isShared)) {
    // It starts in a seventh of the time of the sources: 0.6 s instead of 4.5 s on a busy machine.
    const { code, output } = await runNode(BUILD.args, 'pipe')
    if (code !== 0) console.error(output)
    if (code !== 0) return 1
    env.WEIR_TEST_PROGRAM = BUNDLE
  }
  return (await runNode([...testArgs(CHOSEN_TIMEOUT_MS), ...files], 'inherit')).code === 0 ? 0 : 1
}

async function main(files: readonly string[]): Promise<void> {
  if (files.length > 0) {
    process.exitCode = await runChosen(files)
    return
  }
  const failed: string[] = []
  let passed = 0
  const run = async (step: Step): Promise<void> => {
    const { code, output } = await runStep(step)
    if (code !== 0) failed.push(step.name, ...failuresIn(output))
    passed += countOf(output)
  }
  await run(BUILD)
  if (failed.length === 0) env.WEIR_TEST_PROGRAM = BUNDLE
  const steps = [...checks(), ...tests()].values()
  const lane = async (): Promise<void> => {
    for (const step of steps) await run(step)
  }
  await Promise.all(Array.from({ length: LANES }, lane))
  if (failed.length === 0) {
    console.log(`all ${passed} tests passed`)
    return
  }
  console.error(`failed (see above):\n${failed.join('\n')}`)
  process.exitCode = 1
}

await main(process.argv.slice(2))
