/** A service for tests: a serving stack of one worker that calls the server on `port`, and what was recorded. */
import type { GrpcService, HttpService, ServiceResult } from '#engine/contract/service.ts'
import { inProcess } from '#engine/lifecycle/in-process.ts'
import { servicesBy } from '#engine/service/services.ts'
import { startStack } from './stack.ts'

export interface TestService {
  readonly grpc: GrpcService
  readonly http: HttpService
  /** How calls have ended. */
  readonly results: ServiceResult[]
  close(): void
}

export async function startService(port: number): Promise<TestService> {
  const results: ServiceResult[] = []
  const stack = await startStack({ upstream: port, spoken: {} })
  const { lifecycle, upstream, endpoint } = stack
  const services = servicesBy(() => ({
    name: 'test',
    definition: null,
    inProcess: inProcess({ events: lifecycle, upstream, timers: lifecycle.timers }),
    serve: (ex) => {
      ex.upstreamHost ??= endpoint.hostHeader
      upstream.send(ex, endpoint)
    },
    recorder: { record: (result) => void results.push(result) }
  }))
  const ref = { name: 'test', at: [] }
  return { grpc: services.grpc(ref), http: services.http(ref), results, close: () => stack.close() }
}
