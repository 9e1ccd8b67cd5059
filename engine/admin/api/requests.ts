/** Requests: what would become of one, and what has become of one that was followed (docs/explain.md). */

import { jsonReply, type Reply } from '#engine/admin/server.ts'
import { type AdminTraces, armed, readTrace, storyMissing } from '#engine/admin/traces.ts'
import { z } from '#engine/schema/schema.ts'
import { ARMED_MAX, LIFETIME_S_MAX, USES_MAX } from '#engine/story/trace-limits.ts'
import { type Operation, refusal } from './operation.ts'

export interface AdminRequests {
  /**
   * What would become of a request under the configuration in force: plain data for JSON. `error`: what is wrong with
   * the question. Absent: nobody explains.
   */
  explain?(input: Readonly<Record<string, unknown>>): Promise<{ readonly error: string } | { readonly found: object }>
  /** Follows live requests. Absent: nobody does. */
  readonly traces?: AdminTraces
}

/** A request that is to be explained may have a body of its own. */
export const EXPLAIN_BYTES_MAX = 1024 * 1024
const TRACE_BYTES_MAX = 4096
const TAG = 'Requests'

const question = () =>
  z.looseObject({
    method: z.string(),
    url: z.string().describe('"http://shop.example:8080/cart".'),
    headers: z.union([z.record(z.string(), z.string()), z.array(z.tuple([z.string(), z.string()]))]).optional(),
    body: z.string().optional(),
    from: z.string().optional().describe('The address of the client. Default 127.0.0.1.'),
    cert: z.string().optional().describe('The certificate that the client shows, in PEM.'),
    httpVersion: z.enum(['1.1', '2', '2-prior-knowledge']).optional()
  })

const explanation = () =>
  z.looseObject({
    request: z.looseObject({ method: z.string(), url: z.string() }),
    listener: z.looseObject({ name: z.string() }).nullable(),
    route: z.looseObject({ name: z.string() }).nullable(),
    policies: z.array(z.looseObject({ policy: z.string(), verdict: z.string() })),
    outcome: z.looseObject({ kind: z.string() }),
    notes: z.array(z.string())
  })

const traceWanted = () =>
  z.strictObject({
    uses: z.int().min(1).max(USES_MAX).optional().describe('How many requests. Default 1.'),
    lifetime: z.int().min(1).max(LIFETIME_S_MAX).optional().describe('Seconds. Default 60.')
  })

const traceMade = () =>
  z.strictObject({
    id: z.string(),
    token: z.string().describe('Its value in `header` of a request makes that be followed.'),
    header: z.string(),
    expires: z.iso.datetime()
  })

const stories = () => z.strictObject({ id: z.string(), stories: z.array(z.looseObject({ requestId: z.string() })) })

export function requestOperations({ explain, traces }: AdminRequests): readonly Operation[] {
  return [
    {
      ...{ id: 'explain', method: 'POST', path: '/explain', tag: TAG, role: 'test' },
      summary: 'What would become of a request; nothing is sent.',
      body: { schema: question(), bytesMax: EXPLAIN_BYTES_MAX },
      replies: { 200: { about: 'Listener, route, each policy, and how it ends.', schema: explanation() } },
      refusals: { 404: 'Nobody explains here.' },
      answer: async ({ body }) => await explained(explain, body)
    },
    {
      ...{ id: 'armTrace', method: 'POST', path: '/traces', tag: TAG, role: 'test' },
      summary: 'A token with which requests are followed.',
      body: { schema: traceWanted(), bytesMax: TRACE_BYTES_MAX, isOptional: true },
      replies: { 200: { about: 'The token, and the header that it goes in.', schema: traceMade() } },
      refusals: { 404: 'Nobody follows requests here.', 429: `${ARMED_MAX} tokens wait for requests.` },
      answer: async ({ body }) => {
        if (traces === undefined) return refusal(404, 'NOT_FOUND', 'nobody follows requests here')
        const wanted = readTrace(body)
        if (typeof wanted === 'string') return refusal(400, 'INVALID', wanted)
        const trace = await armed(traces, wanted)
        return 'error' in trace ? refusal(429, 'TOO_MANY', trace.error) : jsonReply(200, trace)
      }
    },
    {
      ...{ id: 'getTrace', method: 'GET', path: '/traces/{id}', tag: TAG, role: 'see' },
      summary: 'What requests with that token have gone through.',
      names: { id: { about: 'As armTrace has answered it.', schema: z.string() } },
      replies: { 200: { about: 'Of requests that are over, the oldest first.', schema: stories() } },
      refusals: { 404: 'No request has come with it, or none is over.' },
      answer: ({ names }) => {
        const found = traces?.stories(names.id!) ?? []
        return found.length > 0
          ? jsonReply(200, { id: names.id!, stories: found })
          : refusal(404, 'NOT_FOUND', storyMissing)
      }
    }
  ]
}

async function explained(explain: AdminRequests['explain'], body: unknown): Promise<Reply> {
  if (explain === undefined) return refusal(404, 'NOT_FOUND', 'nobody explains here')
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    return refusal(400, 'INVALID', 'the body must be an object: {"method": "GET", "url": "http://host:8080/path"}')
  const answer = await explain(body as Record<string, unknown>)
  return 'error' in answer ? refusal(400, 'INVALID', answer.error) : jsonReply(200, answer.found)
}
