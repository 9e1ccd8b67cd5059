/** POST /trace: a token with which live requests are followed. GET /trace/ID: what they have gone through. */
import { TRACE_HEADER } from '#engine/http/trace-header.ts'
import { parseJson } from '#engine/kit/json.ts'
import type { Story } from '#engine/story/story.ts'
import { ARMED_MAX, LIFETIME_S_MAX, STORIES_MAX, USES_MAX } from '#engine/story/trace-limits.ts'
import { jsonReply, type Reply, type Request } from './server.ts'

export interface AdminTraces {
  /** Resolves when workers know the token. Null: ARMED_MAX are good already. */
  arm(
    uses: number,
    lifetimeMs: number
  ): Promise<{
    readonly id: string
    readonly token: string
    /** Milliseconds since 1970. */
    readonly expires: number
  } | null>
  /** Of requests that are over, the oldest first. */
  stories(id: string): readonly Story[]
}

/** In front of an id. */
export const STORY_PATH = '/trace/'

const USES = 1
const LIFETIME_S = 60

const NOT_FOUND: Reply = { status: 404, body: 'not found\n' }

/** What POST /trace answers. */
export interface ArmedTraceShown {
  readonly id: string
  readonly token: string
  readonly header: string
  /** ISO time. */
  readonly expires: string
}

interface Wanted {
  readonly uses: number
  /** Seconds. */
  readonly lifetime: number
}

export async function armTrace(traces: AdminTraces | undefined, { body }: Request): Promise<Reply> {
  if (traces === undefined) return NOT_FOUND
  const text = (await body()).toString()
  const wanted = readTrace(text === '' ? {} : parseJson(text))
  if (typeof wanted === 'string') return jsonReply(400, { error: wanted })
  const trace = await armed(traces, wanted)
  return jsonReply('error' in trace ? 429 : 200, trace)
}

export async function armed(
  traces: AdminTraces,
  { uses, lifetime }: Wanted
): Promise<ArmedTraceShown | { readonly error: string }> {
  const trace = await traces.arm(uses, lifetime * 1000)
  if (trace === null) return { error: `${ARMED_MAX} traces wait for requests: use one, or wait until one expires` }
  const { id, token, expires } = trace
  return { id, token, header: TRACE_HEADER, expires: new Date(expires).toISOString() }
}

/** What is wrong with it, as text. */
export function readTrace(input: unknown): Wanted | string {
  if (typeof input !== 'object' || input === null || Array.isArray(input)) {
    return 'the body must be a JSON object, or none: {"uses": 1, "lifetime": 60}'
  }
  const { uses = USES, lifetime = LIFETIME_S, ...others } = input as Record<string, unknown>
  const [other] = Object.keys(others)
  if (other !== undefined) return 'the body may have "uses" and "lifetime", and nothing else'
  if (!isFrom1To(uses, USES_MAX)) return `"uses" must be a whole number from 1 to ${USES_MAX}`
  if (!isFrom1To(lifetime, LIFETIME_S_MAX)) return `"lifetime" must be whole seconds from 1 to ${LIFETIME_S_MAX}`
  return { uses, lifetime }
}

function isFrom1To(value: unknown, max: number): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= max
}

export const storyMissing = `there is no story of it: no request has come with its token, or none is over, or ${STORIES_MAX} others have come since`

export function showTrace(traces: AdminTraces | undefined, { path }: Request): Reply {
  if (traces === undefined) return NOT_FOUND
  const id = path.slice(STORY_PATH.length)
  const stories = traces.stories(id)
  if (stories.length > 0) return jsonReply(200, { id, stories })
  return jsonReply(404, { error: storyMissing })
}
