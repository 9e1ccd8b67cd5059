/** A rate limit service for tests: counts hits by descriptor, as envoyproxy/ratelimit does, without windows. */
import { once } from 'node:events'
import { Server, ServerCredentials, type ServerUnaryCall, type sendUnaryData } from '@grpc/grpc-js'
import { RateLimitRequest, RateLimitResponse } from '#engine/proto/generated/envoy/service/ratelimit/v3/rls.ts'

export type Answer = Partial<RateLimitResponse> | Buffer | Error | null

export interface LimitService {
  readonly port: number
  readonly requests: RateLimitRequest[]
  /** What it answers; null: nothing, for as long as the call lasts. */
  judge: (request: RateLimitRequest) => Answer
  /** Resolves with the next request that comes. */
  next(): Promise<RateLimitRequest>
  close(): void
}

const EMPTY: RateLimitResponse = {
  overallCode: 1,
  statuses: [],
  responseHeadersToAdd: [],
  requestHeadersToAdd: [],
  rawBody: Buffer.alloc(0),
  dynamicMetadata: undefined,
  quota: undefined
}

export async function startLimitService(judge: LimitService['judge']): Promise<LimitService> {
  const server = new Server()
  const requests: RateLimitRequest[] = []
  const events = new EventTarget()
  const own = {
    requests,
    judge,
    async next(): Promise<RateLimitRequest> {
      await once(events, 'request')
      return requests.at(-1)!
    },
    close: () => server.forceShutdown()
  }
  const shouldRateLimit = {
    path: '/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit',
    requestStream: false as const,
    responseStream: false as const,
    requestSerialize: (request: RateLimitRequest) => Buffer.from(RateLimitRequest.encode(request).finish()),
    requestDeserialize: (bytes: Buffer) => RateLimitRequest.decode(bytes),
    responseSerialize: (answer: RateLimitResponse | Buffer) =>
      Buffer.isBuffer(answer) ? answer : Buffer.from(RateLimitResponse.encode(answer).finish()),
    responseDeserialize: (bytes: Buffer) => RateLimitResponse.decode(bytes)
  }
  server.addService(
    { shouldRateLimit },
    {
      shouldRateLimit(
        call: ServerUnaryCall<RateLimitRequest, RateLimitResponse>,
        done: sendUnaryData<RateLimitResponse | Buffer>
      ) {
        requests.push(call.request)
        const answer = own.judge(call.request)
        if (answer instanceof Error) done(answer)
        else if (Buffer.isBuffer(answer)) done(null, answer)
        else if (answer !== null) done(null, { ...EMPTY, ...answer })
        events.dispatchEvent(new Event('request'))
      }
    }
  )
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, at) =>
      error === null ? resolve(at) : reject(error)
    )
  })
  return Object.assign(own, { port })
}

/** Counts hits by descriptor against `limit` per hour. */
export function counting(limit: number): LimitService['judge'] {
  const hits = new Map<string, number>()
  return ({ descriptors, hitsAddend }) => {
    const statuses = descriptors.map(({ entries }) => {
      const key = JSON.stringify(entries)
      const count = (hits.get(key) ?? 0) + Math.max(1, hitsAddend)
      hits.set(key, count)
      return {
        code: count > limit ? (2 as const) : (1 as const),
        currentLimit: { name: '', requestsPerUnit: limit, unit: 3 as const },
        limitRemaining: Math.max(0, limit - count),
        durationUntilReset: { seconds: 1800n, nanos: 1 },
        quota: undefined
      }
    })
    return { overallCode: statuses.some(({ code }) => code === 2) ? 2 : 1, statuses }
  }
}
