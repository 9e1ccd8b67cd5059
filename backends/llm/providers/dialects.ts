/**
 * Requests as a server of OpenAI's chat completions reads them (compatible.ts). Only fields that this gateway adds or
 * translates follow a dialect; those of the client pass unchanged.
 */
import type { Conversation, Json, JsonObject } from '#backends/llm/conversation.ts'
import { isObject } from '#backends/llm/formats/fields.ts'
import type { Losses } from '#backends/llm/formats/format.ts'
import { partPath } from '#backends/llm/formats/paths.ts'
import { COMPATIBLE, type CompatibleService, type Dialect, type DialectName, OPENAI } from './compatible.ts'

/** Plain data, so that other threads can have it. One for each provider: what is learned of it is put here. */
export interface LearnedDialect {
  dialect: Dialect
}

/** By its name where the configuration says it, else by the host. */
export function dialectFor(name: DialectName | null, host: string): Dialect {
  const rows: readonly CompatibleService[] = Object.values(COMPATIBLE)
  const row = name === null ? rows.find(({ hosts = [] }) => isAt(host, hosts)) : COMPATIBLE[name]
  const { asksUsage, limit, thoughts }: Dialect = { ...OPENAI, ...row }
  return { asksUsage, limit, thoughts }
}

/** The one of the services (compatible.ts) that has this host; null: none. */
export function serviceAt(host: string): DialectName | null {
  const rows = Object.entries(COMPATIBLE) as (readonly [DialectName, CompatibleService])[]
  return rows.find(([, { hosts = [] }]) => isAt(host, hosts))?.[0] ?? null
}

function isAt(host: string, hosts: readonly string[]): boolean {
  const name = host.toLowerCase()
  return hosts.some((one) => name === one || name.endsWith(`.${one}`))
}

// --- requests that have been written here ---

const THOUGHTS = ['reasoning_content', 'thinking_blocks'] as const

/** `body` as the writer of completions has made it of another format's request: none of it is the client's wording. */
export function inDialect(body: JsonObject, dialect: Dialect, conversation: Conversation, losses: Losses): JsonObject {
  const { asksUsage, limit, thoughts } = dialect
  if (asksUsage && limit === OPENAI.limit && thoughts === OPENAI.thoughts) return body
  const made: { [name: string]: Json } = { ...body }
  if (!asksUsage) delete made.stream_options
  if (limit !== OPENAI.limit && made.max_completion_tokens !== undefined) {
    made[limit] = made.max_completion_tokens
    delete made.max_completion_tokens
  }
  if (thoughts !== OPENAI.thoughts && Array.isArray(made.messages)) {
    made.messages = made.messages.map((message: Json) => withThoughts(message, thoughts))
    if (thoughts === null) tellThoughts(conversation, losses)
  }
  return made
}

function withThoughts(message: Json, name: Dialect['thoughts']): Json {
  if (!isObject(message) || THOUGHTS.every((one) => message[one] === undefined)) return message
  const { reasoning_content: text = null, thinking_blocks: _, ...rest } = message
  return name === null || text === null ? rest : { ...rest, [name]: text }
}

/** They are the model's own, and it answers without them. */
function tellThoughts({ turns, origin }: Conversation, losses: Losses): void {
  for (const [i, { parts }] of turns.entries()) {
    for (const [j, { kind }] of parts.entries()) {
      if (kind === 'thinking') losses.add(partPath(origin, i, j), 'harmless')
    }
  }
}

// --- refusals ---

/** What was added to a request, by the names that a server may refuse it under. */
export interface AddedField {
  readonly names: readonly string[]
  /** The dialect without it. */
  readonly change: Partial<Dialect>
}

/** What a request has in `dialect` that its client did not write. `isNative`: it is the client's own but for usage. */
export function addedFields(
  dialect: Dialect,
  { isNative, usage }: { isNative: boolean; usage: readonly string[] }
): AddedField[] {
  const added: AddedField[] = []
  if (dialect.asksUsage && usage.length > 0) added.push({ names: usage, change: { asksUsage: false } })
  if (isNative) return added
  const { limit, thoughts } = dialect
  const other = limit === 'max_tokens' ? 'max_completion_tokens' : 'max_tokens'
  added.push({ names: [limit], change: { limit: other } })
  if (thoughts !== null) added.push({ names: [thoughts, 'thinking_blocks'], change: { thoughts: null } })
  return added
}

/** As pydantic, JSON Schema, OpenAI, and servers in Go and Rust say it; not that a value is wrong, or missing. */
const REFUSES =
  /\b(?:un(?:supported|known|recogni[sz]ed|expected)|extra[ _](?:inputs?|fields?|parameters?|forbidden)|additional propert|not (?:supported|permitted|allowed|recogni[sz]ed)|does not support|no such)/i

/** Members that a refusal names, among `added`. `text`: the body of a 400 or 422. */
export function refusedFields(text: string, added: readonly AddedField[]): AddedField[] {
  if (!REFUSES.test(text)) return []
  const words = new Set(text.match(/\w+/g))
  return added.filter(({ names }) => names.some((name) => words.has(name)))
}
