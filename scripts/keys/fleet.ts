/** Replicas of the real program before one provider, which keeps books of its own. */
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as after } from 'node:timers/promises'
import { freePort, type RunningProgram, runProgram } from '#engine/testing/program.ts'

const LOOK_MS = 50
const WAIT_MS_MAX = 40_000

/** At a dollar for a million tokens. */
export const NANOS_PER_TOKEN = 1_000

export interface ProviderBody {
  /** By the provider's name. */
  readonly model: string
  readonly max_tokens: number
  readonly stream?: boolean
}

/** What it has billed for, in tokens, by the name of the call. */
export interface Provider {
  readonly port: number
  billed: number
  calls: number
  /** Writes the answer of a request. */
  answer: (body: ProviderBody, response: ServerResponse) => void
  close(): void
}

export const usageOf = (tokens: unknown) => ({ prompt_tokens: 0, completion_tokens: tokens, total_tokens: tokens })

export function completion(usage: object | undefined): string {
  return JSON.stringify({
    ...{ id: 'c', object: 'chat.completion', created: 1, model: 'm' },
    choices: [{ index: 0, message: { role: 'assistant', content: 'hi' }, finish_reason: 'stop' }],
    ...(usage === undefined ? {} : { usage })
  })
}

export async function startProvider(): Promise<Provider> {
  const server = createServer((request, response) => {
    const pieces: Buffer[] = []
    request.on('data', (piece: Buffer) => pieces.push(piece))
    request.on('end', () => {
      provider.calls++
      provider.answer(JSON.parse(Buffer.concat(pieces).toString()), response)
    })
  })
  const provider: Provider = {
    port: 0,
    billed: 0,
    calls: 0,
    answer: (body, response) => {
      provider.billed += body.max_tokens
      response.writeHead(200, { 'content-type': 'application/json' }).end(completion(usageOf(body.max_tokens)))
    },
    close: () => server.closeAllConnections()
  }
  await once(server.listen(0, '127.0.0.1'), 'listening')
  server.unref()
  return Object.assign(provider, { port: (server.address() as AddressInfo).port })
}

export interface FleetOptions {
  readonly url: string
  readonly provider: Provider
  readonly replicas: number
  /** Of the configuration: keys, teams. */
  readonly accounts: object
  readonly prefix: string
  readonly state?: object
  /** `llm` of the configuration, but for its port, of models at `params`. Default: one model, m. */
  readonly llm?: (params: object) => object
  /** Of replicas by number. */
  readonly env?: readonly NodeJS.ProcessEnv[]
}

/** A dollar for a million tokens. */
export const PRICES = [{ input: 1, output: 1 }]
const ONE_MODEL = (params: object) => ({ models: [{ name: 'm', provider: 'openai', params, prices: PRICES }] })

interface Replica {
  readonly port: number
  readonly admin: number
  readonly file: string
  readonly env: NodeJS.ProcessEnv
  readonly folder: string
  program: RunningProgram
}

export interface Budget {
  readonly account: string
  readonly spent: string
  readonly reserved: string
}

export class Fleet {
  readonly replicas: readonly Replica[]

  private constructor(replicas: readonly Replica[]) {
    this.replicas = replicas
  }

  static async start(options: FleetOptions): Promise<Fleet> {
    const { url, provider, accounts, prefix, state = {}, env = [], llm = ONE_MODEL } = options
    const params = { baseUrl: `http://127.0.0.1:${provider.port}/v1`, apiKey: 'of-provider' }
    const replicas = Array.from({ length: options.replicas }, async (_, i): Promise<Replica> => {
      const [port, admin] = [await freePort(), await freePort()]
      const folder = mkdtempSync(join(tmpdir(), 'weir-keys-replica-'))
      const quiet = { statsAddr: 'off', readinessAddr: 'off', logging: { level: 'info,request=off' } }
      const kept = { path: folder, url, prefix, timeout: '5s', ...state }
      const file = JSON.stringify({
        config: { ...quiet, adminAddr: `127.0.0.1:${admin}`, workerThreads: 2, state: kept },
        llm: { port, ...llm(params) },
        ...accounts
      })
      return { port, admin, file, folder, env: env[i] ?? {}, program: await started(file, env[i] ?? {}) }
    })
    return new Fleet(await Promise.all(replicas))
  }

  async restart(i: number): Promise<void> {
    const replica = this.replicas[i]!
    await replica.program.stop()
    replica.program = await started(replica.file, replica.env)
  }

  /** Resolves with the status, 0: no answer; and its text. */
  async chat(
    i: number,
    key: string,
    body: object = {},
    signal?: AbortSignal
  ): Promise<{ status: number; text: string }> {
    try {
      // A connection of its own: any worker may get it.
      const headers = { 'content-type': 'application/json', authorization: `Bearer ${key}`, connection: 'close' }
      const response = await fetch(`http://127.0.0.1:${this.replicas[i]!.port}/v1/chat/completions`, {
        ...{ method: 'POST', headers },
        body: JSON.stringify({ model: 'm', max_tokens: 100, messages: [{ role: 'user', content: 'hi' }], ...body }),
        ...(signal === undefined ? {} : { signal })
      })
      return { status: response.status, text: await response.text() }
    } catch {
      // Nobody listens, or the connection was cut.
      return { status: 0, text: '' }
    }
  }

  /** A stream whose client leaves when its first piece is there. */
  async leaveStream(i: number, key: string): Promise<void> {
    const response = await fetch(`http://127.0.0.1:${this.replicas[i]!.port}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
      body: JSON.stringify({ model: 'm', max_tokens: 100, stream: true, messages: [{ role: 'user', content: 'hi' }] })
    })
    const reader = response.body!.getReader()
    await reader.read()
    await reader.cancel()
  }

  async api<T>(i: number, method: string, path: string, body?: object): Promise<T> {
    const headers = { 'content-type': 'application/json' }
    const sent = body === undefined ? {} : { body: JSON.stringify(body) }
    const response = await fetch(`http://127.0.0.1:${this.replicas[i]!.admin}/api/v1/${path}`, {
      method,
      headers,
      ...sent
    })
    return (response.status === 204 ? null : await response.json()) as T
  }

  /** In nanos, by a replica's own admin API. */
  async book(i: number, account: string): Promise<{ spent: number; reserved: number }> {
    const { budgets = [] } = await this.api<{ budgets?: readonly Budget[] }>(i, 'GET', 'budgets')
    const found = budgets.find((one) => one.account === account)
    const nanos = (text: string | undefined) => Math.round(Number(text) * 1e9)
    return { spent: nanos(found?.spent), reserved: nanos(found?.reserved) }
  }

  async close(): Promise<void> {
    await Promise.all(this.replicas.map(({ program }) => program.stop()))
    for (const { folder } of this.replicas) rmSync(folder, { recursive: true, force: true })
  }
}

async function started(file: string, env: NodeJS.ProcessEnv): Promise<RunningProgram> {
  const program = runProgram(['-c', file], '', env)
  await program.logged('target=start')
  await program.logged('are shared by')
  return program
}

/** False: it is not so after a minute. */
export async function becomes(isSo: () => Promise<boolean>): Promise<boolean> {
  const late = AbortSignal.timeout(WAIT_MS_MAX)
  while (!(await isSo())) {
    if (late.aborted) return false
    await after(LOOK_MS)
  }
  return true
}
