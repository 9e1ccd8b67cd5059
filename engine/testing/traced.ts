/** A gateway that traces, between a client and what a test has started. */
import { type IncomingHttpHeaders, request } from 'node:http'
import type { TestContext } from 'node:test'
import { startGateway, type TestOptions } from './gateway.ts'
import { type CollectedSpan, type Collector, startHttpCollector } from './otlp-collector.ts'

export interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

/** One request over a connection of its own; a POST where there is a body. */
export function ask(
  port: number,
  path: string,
  headers: Readonly<Record<string, string | string[]>> = {},
  body?: string
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const method = body === undefined ? 'GET' : 'POST'
    const outgoing = request({ host: '127.0.0.1', port, path, method, headers, agent: false }, (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('error', reject)
      response.on('end', () => {
        const { statusCode: status = 0, headers: fields } = response
        resolve({ status, headers: fields, body: Buffer.concat(chunks).toString() })
      })
    })
    outgoing.on('error', reject)
    outgoing.end(body)
  })
}

/** A file: `tracing` with what every test wants, and one route. */
export function tracedFile(port: number, route: object, tracing: object = {}, more: object = {}): string {
  const options = { host: `127.0.0.1:${port}`, randomSampling: true, batch: { scheduleDelay: '10ms' }, ...tracing }
  const binds = [{ port: 0, listeners: [{ name: 'web', routes: [{ name: 'one', ...route }] }] }]
  return JSON.stringify({ frontendPolicies: { tracing: options }, binds, ...more })
}

export interface Traced {
  readonly port: number
  readonly collector: Collector
  metrics(): string
  /** At the latest with the test. */
  close(): Promise<void>
}

/** With a collector of its own. */
export async function startTraced(
  t: TestContext,
  route: object,
  tracing: object = {},
  { more = {}, ...options }: TestOptions & { readonly more?: object } = {}
): Promise<Traced> {
  const collector = await startHttpCollector()
  t.after(() => collector.close())
  const gateway = await startGateway(tracedFile(collector.port, route, tracing, more), options)
  let closed: Promise<void> | null = null
  const close = (): Promise<void> => (closed ??= gateway.close())
  t.after(close)
  return { port: gateway.port, collector, metrics: () => gateway.metrics(), close }
}

/** The span of the request, once it is there. */
export const hasServer = (spans: readonly CollectedSpan[]): boolean => spans.some(isServer)

export const isServer = ({ kind, name }: CollectedSpan): boolean => kind === 'SPAN_KIND_SERVER' && /^[A-Z]/.test(name)
export const isClient = ({ kind }: CollectedSpan): boolean => kind === 'SPAN_KIND_CLIENT'
