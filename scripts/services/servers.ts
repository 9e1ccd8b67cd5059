/** The servers of all cases: what they answer is the case's, and all that they are told is kept. */
import type { ServerResponse } from 'node:http'
import { freePort } from '#bench/load/ports.ts'
import { type Origin, type Seen, startOrigin } from '#engine/testing/origin.ts'
import {
  allowed,
  type CheckRequest,
  type Judge,
  startGrpcAuthorizer
} from '#policies/traffic/ext-auth/services.fixture.ts'
import { answerTo, type Call, type Processor, startProcessor } from '#policies/traffic/ext-proc/services.fixture.ts'
import { type LimitService, startLimitService } from '#policies/traffic/rate-limit/service.fixture.ts'

/** Answers a request that is whole, or leaves it. */
export type Reply = (response: ServerResponse, seen: Seen) => void

export type { CheckRequest }
export type ProcessingRequest = Parameters<Processor>[0]
export type LimitRequest = Parameters<LimitService['judge']>[0]

/** What the servers of a case do. */
export interface Behaviour {
  readonly check: Judge
  readonly httpCheck: Reply
  readonly process: Processor
  readonly limit: LimitService['judge']
  readonly backend: Reply
}

/** Writes an answer; headers flat: name, value, ... */
export function reply(status: number, headers: readonly string[] = [], body: string | Buffer = ''): Reply {
  return (response) => {
    response.sendDate = false
    response.writeHead(status, [...headers, 'Content-Length', String(Buffer.byteLength(body))]).end(body)
  }
}

export const WELL: Behaviour = {
  check: () => allowed(),
  httpCheck: reply(200),
  process: (request) => [answerTo(request)],
  limit: () => ({}),
  backend: reply(200, ['Content-Type', 'text/plain', 'X-From', 'backend'], 'hello')
}

export interface Servers {
  readonly ports: Ports
  behave(behaviour: Partial<Behaviour>): void
  /** Since the last call of `behave`. */
  readonly backend: readonly Seen[]
  readonly httpChecks: readonly Seen[]
  readonly checks: readonly CheckRequest[]
  readonly processed: readonly ProcessingRequest[]
  readonly limits: readonly LimitRequest[]
  /** Resolves when a service is asked. */
  firstRequest(): Promise<void>
  /** Resolves when the processor's stream is over. */
  processorIsDone(): Promise<void>
  /** Checks over gRPC that a gateway has given up. */
  cancelled(): number
  close(): void
}

export interface Ports {
  readonly backend: number
  readonly check: number
  readonly httpCheck: number
  readonly process: number
  readonly limit: number
  /** Nobody listens there. */
  readonly dead: number
}

export async function startServers(): Promise<Servers> {
  let now = WELL
  let firstRequest = Promise.withResolvers<void>()
  const act = (): Behaviour => {
    firstRequest.resolve()
    return now
  }
  const backend: Origin = await startOrigin((response, seen) => now.backend(response, seen))
  const httpCheck = await startOrigin((response, seen) => act().httpCheck(response, seen))
  const checks: CheckRequest[] = []
  const check = await startGrpcAuthorizer((request) => {
    checks.push(request)
    return act().check(request)
  })
  const processed: ProcessingRequest[] = []
  let turn = 0
  const turns = new WeakMap<Call, number>()
  const process = await startProcessor((request, call) => {
    // What was on its way when a stream ended is no part of the next case.
    if (!turns.has(call)) turns.set(call, turn)
    if (turns.get(call) !== turn) return []
    processed.push(request)
    return act().process(request, call)
  })
  const limits: LimitRequest[] = []
  const limit = await startLimitService((request) => {
    limits.push(request)
    return act().limit(request)
  })
  const all = [backend, httpCheck, check, process, limit]
  return {
    ports: {
      backend: backend.port,
      check: check.port,
      httpCheck: httpCheck.port,
      process: process.port,
      limit: limit.port,
      dead: await freePort()
    },
    behave(behaviour) {
      now = { ...WELL, ...behaviour }
      turn++
      firstRequest = Promise.withResolvers()
      process.over = Promise.withResolvers()
      check.cancelled = 0
      for (const log of [backend.seen, httpCheck.seen, checks, processed, limits]) log.length = 0
    },
    backend: backend.seen,
    httpChecks: httpCheck.seen,
    checks,
    processed,
    limits,
    firstRequest: () => firstRequest.promise,
    processorIsDone: () => process.over.promise,
    cancelled: () => check.cancelled,
    close() {
      for (const server of all) server.close()
    }
  }
}
