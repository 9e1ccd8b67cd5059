/** `npm run bench`: micro, gc and load, one table each, and one JSON document per run. */
import { execFileSync, type StdioOptions } from 'node:child_process'
import { gateText, runGate } from './gc/gate.ts'
import { type Plan, type Row, runLoad } from './load/load.ts'
import { cpuModel } from './load/machine.ts'
import { PEERS } from './load/peers/index.ts'
import { complaints, runSoak, soakText } from './load/soak.ts'
import { WORKLOADS } from './load/workloads.ts'
import { type MicroRow, type MicroTiming, microFiles, runMicro } from './micro.ts'
import { HELP, type Options, parseOptions } from './options.ts'
import { type Document, loadTable, microTable, passed, save, table } from './report.ts'
import { runTurns } from './turns/turns.ts'

const RESULTS = new URL('./results/', import.meta.url)

interface Mode {
  readonly micro: MicroTiming
  /** Defaults of `only` and `peers`. */
  readonly load: Plan
}

const FULL: Mode = {
  micro: { ms: 500, warmupMs: 100, iterations: 64 },
  load: { only: [], peers: [], rounds: 15, settleMs: 4000, warmupMs: 400, windowMs: 1200 }
}
/** Two minutes in all, whatever is installed. */
const QUICK_WORKLOADS = [
  'get-1k',
  'post-4k',
  'answer-1m',
  'sse-200',
  'churn',
  'routes-1',
  'routes-5000',
  'tls-get-1k',
  'chat-plain',
  'chat-native'
]
const QUICK: Mode = {
  micro: { ms: 50, warmupMs: 20, iterations: 16 },
  load: {
    only: QUICK_WORKLOADS,
    peers: ['nginx', 'weir'],
    rounds: 2,
    settleMs: 700,
    warmupMs: 100,
    windowMs: 300
  }
}

/** Gives whether everything passed. */
async function main(options: Options): Promise<boolean> {
  if (options.soak !== null) {
    const soaks = await runSoak({ requests: options.soak })
    console.log(soaks.map(soakText).join('\n'))
    return soaks.every((soak) => complaints(soak).length === 0)
  }
  if (options.turns) {
    console.log(await runTurns())
    return true
  }
  const mode = options.quick ? QUICK : FULL
  const rounds = options.rounds ?? mode.load.rounds
  const parts = new Set(options.parts)
  const micro = parts.has('micro') ? await runAllMicro(mode.micro) : []
  const gc = parts.has('gc') ? await runGate() : null
  if (parts.has('gc'))
    console.log(`\n${gc === null ? 'gc: skipped, there is no committed number yet' : gc.map(gateText).join('\n')}`)
  const only = options.only.length > 0 ? options.only : mode.load.only
  const peers = options.peers.length > 0 ? options.peers : mode.load.peers
  const plan: Plan = { ...mode.load, rounds, only, peers }
  const load = parts.has('load') ? await runAllLoad(plan) : []
  const document: Document = {
    date: new Date().toISOString(),
    commit: commit(),
    mode: options.quick ? 'quick' : 'full',
    node: process.version,
    cpu: cpuModel(),
    versions: versions(load),
    micro,
    gc,
    load
  }
  if (options.save) console.log(`\nsaved as bench/results/${save(document, RESULTS)}`)
  return load.every(passed) && (gc?.every(({ passed }) => passed) ?? true)
}

async function runAllMicro(timing: MicroTiming): Promise<MicroRow[]> {
  const rows: MicroRow[] = []
  for (const file of microFiles()) rows.push(...(await runMicro(file, timing)))
  console.log(`\n${microTable(rows)}`)
  return rows
}

function runAllLoad(plan: Plan): Promise<Row[]> {
  return runLoad(plan, {
    note: (line) => console.log(line),
    table: (rows) => console.log(`\n${loadTable(rows)}`)
  })
}

/** Commit of the working tree, marked when it has changes; 'unknown' outside of a repository. */
function commit(): string {
  // Without a repository git would complain on stderr.
  const stdio: StdioOptions = ['ignore', 'pipe', 'ignore']
  const options = { cwd: import.meta.dirname, encoding: 'utf8', stdio } as const
  try {
    const git = (...args: string[]) => execFileSync('git', args, options).trim()
    const changed = git('status', '--porcelain', '--untracked-files=no') !== ''
    return `${git('rev-parse', '--short', 'HEAD')}${changed ? '-changed' : ''}`
  } catch {
    // No git, or a copy without history: the figures are still worth keeping.
    return 'unknown'
  }
}

/** What each measured proxy says about its version. */
function versions(rows: readonly Row[]): Record<string, string> {
  const found: Record<string, string> = {}
  for (const peer of PEERS) {
    const command = peer.find()
    if ('missing' in command || !rows.some((row) => row.peer === peer.name)) continue
    found[peer.name] = peer.version(command)
  }
  return found
}

function list(): string {
  return table(
    ['workload', 'about'],
    WORKLOADS.map(({ name, about }) => [name, about])
  )
}

try {
  const names = { workloads: WORKLOADS.map(({ name }) => name), peers: PEERS.map(({ name }) => name) }
  const options = parseOptions(process.argv.slice(2), names)
  // Ending through exit() lets the handlers run that end every child.
  for (const [signal, code] of [
    ['SIGINT', 130],
    ['SIGTERM', 143]
  ] as const)
    process.on(signal, () => process.exit(code))
  if (options.action === 'help') console.log(HELP)
  else if (options.action === 'list') console.log(list())
  else if (!(await main(options))) process.exitCode = 1
} catch (error) {
  console.error(`bench: ${(error as Error).message}`)
  process.exitCode = 1
}
