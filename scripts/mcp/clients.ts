/**
 * `npm run conformance -- mcp-clients`: the official clients, TypeScript SDK 1 and 2 and Python SDK 1 and 2, through
 * the program with three workers, a connection for each request, in front of one server (backends/mcp/testing/notes.ts)
 * on standard streams, over HTTP and over the SSE of 2024-11-05. The SDKs for Python are installed, in fixed versions,
 * into a cache outside of the repository: XDG_CACHE_HOME, or .cache at home.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { serveNotes } from '#backends/mcp/testing/notes.ts'
import { freePort, runProgram } from '#engine/testing/program.ts'

const PYTHON_SDKS = { first: '1.30.0', second: '2.3.0' } as const
const QUIET = '--disable-warning=ExperimentalWarning'
const TYPESCRIPT = fileURLToPath(new URL('./client-typescript.ts', import.meta.url))
const PYTHON = fileURLToPath(new URL('./client-python.py', import.meta.url))
const CHILD = fileURLToPath(new URL('../../backends/mcp/testing/notes-child.fixture.ts', import.meta.url))

export interface Tried {
  readonly kind: string
  readonly step: string
  /** Null: it went well. */
  readonly why: string | null
}

export interface ClientRun {
  readonly client: string
  readonly tried: readonly Tried[]
}

interface ClientProgram {
  readonly name: string
  readonly cmd: string
  readonly args: readonly string[]
}

/** A client that shows a key is one that the gateway knows: it is served in 2026-07-28, if it wants that. */
export async function runMcpClients(): Promise<ClientRun[]> {
  const [one, two] = [await python(PYTHON_SDKS.first), await python(PYTHON_SDKS.second)]
  const [http, sse] = [await serveNotes('http'), await serveNotes('sse')]
  const port = await freePort()
  const cmd = process.execPath
  const targets = [
    { name: 'stdio', stdio: { cmd, args: [QUIET, CHILD] } },
    { name: 'http', mcp: { host: `http://127.0.0.1:${http.port}/mcp` } },
    { name: 'sse', sse: { host: `http://127.0.0.1:${sse.port}/sse` } }
  ]
  const config = { adminAddr: 'off', statsAddr: 'off', readinessAddr: 'off', workerThreads: 3 }
  const mcp = { port, targets, forwardHeaders: ['authorization'], targetTimeout: '60s' }
  const weir = runProgram(['-c', JSON.stringify({ config, mcp })])
  await weir.logged('target=start')
  const url = `http://127.0.0.1:${port}/mcp`
  const typescript = (sdk: string, key: string, version: string): string[] => [
    ...[QUIET, TYPESCRIPT],
    ...[sdk, url, key, version]
  ]
  const py = (key: string, version: string): string[] => [PYTHON, url, key, version]
  const clients: ClientProgram[] = [
    { name: 'TypeScript SDK 1', cmd, args: typescript('1', '-', '2025-11-25') },
    { name: 'TypeScript SDK 2', cmd, args: typescript('2', '-', '2025-11-25') },
    { name: 'TypeScript SDK 2, known', cmd, args: typescript('2', 'a key', '2026-07-28') },
    { name: 'Python SDK 1', cmd: one, args: py('-', '2025') },
    { name: 'Python SDK 2', cmd: two, args: py('-', '2025') },
    { name: 'Python SDK 2, known', cmd: two, args: py('another key', '2026-07-28') }
  ]
  try {
    const runs: ClientRun[] = []
    for (const client of clients) runs.push({ client: client.name, tried: await tried(client) })
    return runs
  } finally {
    await weir.stop()
    for (const { http: server } of [http, sse]) {
      server.closeAllConnections()
      server.close()
    }
  }
}

/** The interpreter that has this version of the SDK. */
async function python(version: string): Promise<string> {
  const cache = process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache')
  const folder = join(cache, 'weir', 'mcp-clients', `python-${version}`)
  const interpreter = join(folder, 'bin', 'python')
  const mark = join(folder, 'bin', 'installed')
  if (existsSync(mark)) return interpreter
  await run('python3', ['-m', 'venv', folder])
  await run(interpreter, ['-m', 'pip', 'install', '--quiet', `mcp==${version}`])
  await run(interpreter, ['-c', `open(${JSON.stringify(mark)}, "w").close()`])
  return interpreter
}

async function run(cmd: string, args: readonly string[]): Promise<void> {
  const [code] = await once(spawn(cmd, args, { stdio: ['ignore', 'inherit', 'inherit'] }), 'close')
  if (code !== 0) throw new Error(`${cmd} ${args.join(' ')} ended with ${code}`)
}

async function tried({ name, cmd, args }: ClientProgram): Promise<Tried[]> {
  const child = spawn(cmd, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  let [output, errors] = ['', '']
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors += text
  })
  const [code] = await once(child, 'close')
  const lines = output.split('\n').filter((line) => line.startsWith('{'))
  const done = lines.map((line) => JSON.parse(line) as Tried)
  return code === 0 ? done : [...done, { kind: 'all', step: name, why: `ended with ${code}: ${errors.slice(-400)}` }]
}

export function* printMcpClients(runs: readonly ClientRun[]): Generator<string> {
  for (const { client, tried: all } of runs) {
    const bad = all.filter(({ why }) => why !== null)
    yield `mcp-clients: ${client}: ${all.length - bad.length} passed, ${bad.length} failed`
    for (const { kind, step, why } of bad) yield `  ${kind}, ${step}: ${why}`
  }
}
