/**
 * Qdrant's REST API as its reference describes it (api.qdrant.tech: "Query points", "Upsert points", "Delete points"),
 * as far as Weir asks it: one collection of vectors with the distance Cosine.
 */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'

export interface QdrantPoint {
  readonly id: string
  vector: number[]
  payload: Record<string, unknown>
}

export interface QdrantRequest {
  readonly method: string
  readonly path: string
  readonly apiKey: string | undefined
  /** As it came. */
  readonly text: string
}

interface Condition {
  readonly key: string
  readonly match?: { readonly value: unknown }
  readonly range?: { readonly gt?: number; readonly lte?: number }
}

interface QueryBody {
  readonly query: number[]
  readonly filter: { readonly must: readonly Condition[] }
  readonly limit: number
  readonly score_threshold: number
  readonly with_payload: readonly string[]
}

export interface Qdrant {
  readonly url: string
  readonly requests: QdrantRequest[]
  readonly points: Map<string, QdrantPoint>
  /** Resolves when so many points have been put there, since it was started. */
  stored(count: number): Promise<void>
  /** Answers instead of the usual, when it returns true. */
  instead: ((request: QdrantRequest, response: ServerResponse) => boolean) | null
}

const COLLECTION = '/collections/answers/points'

export async function startQdrant(t: TestContext, apiKey?: string): Promise<Qdrant> {
  const points = new Map<string, QdrantPoint>()
  const requests: QdrantRequest[] = []
  const waiting: { readonly count: number; readonly resolve: () => void }[] = []
  let stored = 0
  const put = (list: readonly QdrantPoint[]) => {
    for (const point of list) points.set(point.id, point)
    stored += list.length
    for (const { count, resolve } of waiting) if (stored >= count) resolve()
  }
  const server = createServer((request, response) => {
    void read(request).then((one) => {
      requests.push(one)
      if (qdrant.instead?.(one, response) === true) return
      if (apiKey !== undefined && one.apiKey !== apiKey) {
        reply(response, 401, { status: { error: 'Must provide an API key or an Authorization bearer token' } })
        return
      }
      answer(one, response, points, put)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.close()
    server.closeAllConnections()
  })
  const qdrant: Qdrant = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    points,
    stored: (count) =>
      new Promise((resolve) => {
        if (stored >= count) resolve()
        else waiting.push({ count, resolve })
      }),
    instead: null
  }
  return qdrant
}

async function read(request: IncomingMessage): Promise<QdrantRequest> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  const key = request.headers['api-key']
  return {
    method: request.method!,
    path: request.url!,
    apiKey: typeof key === 'string' ? key : undefined,
    text: Buffer.concat(chunks).toString()
  }
}

export function reply(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify({ time: 0.001, ...body }))
}

const isMet = (payload: QdrantPoint['payload'], { key, match, range }: Condition): boolean => {
  const value = payload[key]
  if (match !== undefined) return value === match.value
  if (typeof value !== 'number' || range === undefined) return false
  return (range.gt === undefined || value > range.gt) && (range.lte === undefined || value <= range.lte)
}

function answer(
  { method, path, text }: QdrantRequest,
  response: ServerResponse,
  points: Map<string, QdrantPoint>,
  put: (list: readonly QdrantPoint[]) => void
): void {
  if (!path.startsWith(COLLECTION)) {
    reply(response, 404, { status: { error: "Not found: Collection doesn't exist!" } })
    return
  }
  const name = `${method} ${path.slice(COLLECTION.length)}`
  if (name === 'POST /query') {
    reply(response, 200, { status: 'ok', result: { points: nearest(JSON.parse(text) as QueryBody, points) } })
    return
  }
  if (name === 'PUT ') put((JSON.parse(text) as { points: QdrantPoint[] }).points)
  else if (name === 'POST /delete') {
    const { must } = (JSON.parse(text) as Pick<QueryBody, 'filter'>).filter
    for (const { id, payload } of [...points.values()]) if (must.every((one) => isMet(payload, one))) points.delete(id)
  } else {
    reply(response, 404, { status: { error: 'not found' } })
    return
  }
  reply(response, 200, { status: 'ok', result: { operation_id: 1, status: 'acknowledged' } })
}

function nearest({ query, filter, limit, score_threshold: least }: QueryBody, points: Map<string, QdrantPoint>) {
  return [...points.values()]
    .filter(({ payload }) => filter.must.every((one) => isMet(payload, one)))
    .map(({ id, vector, payload }) => ({ id, version: 1, score: cosine(query, vector), payload }))
    .filter(({ score }) => score >= least)
    .toSorted((a, b) => b.score - a.score)
    .slice(0, limit)
}

function cosine(one: readonly number[], other: readonly number[]): number {
  const dot = one.reduce((sum, value, i) => sum + value * (other[i] ?? 0), 0)
  return dot / (Math.hypot(...one) * Math.hypot(...other))
}
