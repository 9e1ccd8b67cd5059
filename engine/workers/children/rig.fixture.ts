/** What the tests of child processes have in common: two workers and a hub in one thread, and the fixture's tools. */

import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import type { TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { backends } from '#backends/index.ts'
import type { ChildFailure, ChildLink, ChildSpec } from '#engine/contract/children.ts'
import { ChildrenOfWorker } from './client.ts'
import { ChildHub, type HubOptions } from './hub.ts'

export const SERVER = fileURLToPath(new URL('./server.fixture.ts', import.meta.url))
export const QUIET = '--disable-warning=ExperimentalWarning'

export function specOf(manner: string, more: Partial<ChildSpec> = {}, port?: number): ChildSpec {
  const args = [QUIET, SERVER, manner, ...(port === undefined ? [] : [String(port)])]
  const spec = { backend: 'b', target: 'tools', cmd: process.execPath, args, env: {}, cwd: null }
  return { ...spec, lineBytesMax: 1024 * 1024, idleMs: 0, ...more }
}

export interface Rig {
  readonly hub: ChildHub
  /** Two workers. */
  readonly workers: readonly [ChildrenOfWorker, ChildrenOfWorker]
  readonly logged: string[]
  /** Resolves when a logged line matches. */
  readonly logLine: (pattern: RegExp) => Promise<void>
}

export function rig(t: TestContext, options: Partial<HubOptions> = {}): Rig {
  const logged: string[] = []
  const waiting: { pattern: RegExp; resolve: () => void }[] = []
  const hub = new ChildHub({
    kinds: backends,
    log(level, message) {
      logged.push(`${level}: ${message}`)
      for (const { pattern, resolve } of waiting) if (pattern.test(message)) resolve()
    },
    post: (worker, report) => setImmediate(() => workers[worker]!.receive(structuredClone(report))),
    graceMs: 200,
    ...options
  })
  const workerOf = (worker: number) => new ChildrenOfWorker((order) => hub.receive(worker, structuredClone(order)))
  const workers = [workerOf(0), workerOf(1)] as const
  t.after(() => hub.close())
  const logLine = (pattern: RegExp): Promise<void> =>
    new Promise((resolve) => {
      if (logged.some((line) => pattern.test(line))) resolve()
      else waiting.push({ pattern, resolve })
    })
  return { hub, workers, logged, logLine }
}

export interface Answered {
  readonly result?: Record<string, unknown>
  readonly failure?: ChildFailure
  readonly messages: string[]
}

/** Calls a tool of the fixture. */
export function call(link: ChildLink, name: string, args: object = {}, token: string | null = null): Promise<Answered> {
  return ask(link, 'tools/call', { name, arguments: args }, token)
}

export function ask(
  link: ChildLink,
  method: string,
  params: object,
  progressToken: string | null = null
): Promise<Answered> {
  const text = JSON.stringify({ jsonrpc: '2.0', method, params })
  const messages: string[] = []
  return new Promise((resolve) => {
    const request = { text, id: 7, progressToken, isInitialize: method === 'initialize' }
    link.request(request, {
      message: (line) => messages.push((JSON.parse(line) as { method: string }).method),
      answered: (line) => resolve({ ...(JSON.parse(line) as { result: Record<string, unknown> }), messages }),
      failed: (failure) => resolve({ failure, messages })
    })
  })
}

/** Connections of the fixture: `pid` when it has come, `gone` when the process is dead. */
export async function lifeline(t: TestContext) {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  const next = async () => {
    const [socket] = (await once(server, 'connection')) as [Socket]
    const gone = new Promise<void>((resolve) => socket.on('close', () => resolve()))
    // A reset is an end too.
    socket.on('error', () => undefined)
    const [pid] = (await once(socket, 'data')) as [Buffer]
    return { pid: Number(pid.toString()), gone }
  }
  return { port: (server.address() as AddressInfo).port, next }
}
