/**
 * Servers that speak OpenAI's chat completions and refuse, or do not read, what is added to requests here: one row per
 * server. Only what this gateway adds or words itself is said in a dialect; what a client has written passes as it is.
 */

import type { DialectName } from '#backends/llm/config/dialect-names.ts'
import type { Conversation, Json, JsonObject } from '#backends/llm/conversation.ts'
import { isObject } from '#backends/llm/formats/fields.ts'
import type { Losses } from '#backends/llm/formats/format.ts'
import { partPath } from '#backends/llm/translate/client-paths.ts'

export interface Dialect {
  /** Streams may be asked for their usage (`stream_options`): the others tell it unasked, or never. */
  readonly asksUsage: boolean
  /** Where the bound of an answer stands. */
  readonly limit: 'max_completion_tokens' | 'max_tokens'
  /** Where the model's thoughts of earlier turns stand in its messages; null: they are left out. */
  readonly thoughts: 'reasoning_content' | 'reasoning' | null
}

/** Plain data, so that other threads can be told. One for each provider: what is learned of it is put here. */
export interface LearnedDialect {
  dialect: Dialect
}

interface Row extends Partial<Dialect> {
  /** The server's own; also with something ahead of it. */
  readonly hosts: readonly string[]
}

const OPENAI: Dialect = { asksUsage: true, limit: 'max_completion_tokens', thoughts: 'reasoning_content' }

const ROWS: { readonly [name in DialectName]: Row } = {
  openai: { hosts: ['api.openai.com'] },
  // "property 'messages.2.assistant.reasoning_content' is unsupported", and `reasoning` is read (qwen-code #11045).
  cerebras: { hosts: ['api.cerebras.ai'], thoughts: 'reasoning' },
  // "Compatibility API", supported parameters: max_tokens.
  cohere: { hosts: ['api.cohere.ai', 'api.cohere.com'], limit: 'max_tokens' },
  // "Create Chat Completion": max_tokens; "Thinking mode": reasoning_content of turns with calls must come back.
  deepseek: { hosts: ['api.deepseek.com'], limit: 'max_tokens' },
  // "Create Chat Completion": max_tokens.
  fireworks: { hosts: ['api.fireworks.ai'], limit: 'max_tokens' },
  // "property 'reasoning_content' is unsupported" (jan #8136); `reasoning` too, of some models (llms #64).
  groq: { hosts: ['api.groq.com'], thoughts: null },
  // "Chat Completion" of Inference Providers: max_tokens, stream_options.
  huggingface: { hosts: ['router.huggingface.co'], limit: 'max_tokens' },
  // tools/server/README.md: max_tokens.
  llamacpp: { hosts: [], limit: 'max_tokens' },
  // "OpenAI Compatibility Endpoints", supported payload parameters: max_tokens.
  lmstudio: { hosts: [], limit: 'max_tokens' },
  // 422 "extra_forbidden" of max_completion_tokens (hindsight #852), of stream_options (llxprt-code #114; usage is in
  // the last event all the same), of members that messages do not have (nanobot #2494).
  mistral: { hosts: ['api.mistral.ai'], asksUsage: false, limit: 'max_tokens', thoughts: null },
  // "OpenAI compatibility", supported request fields: stream_options, max_tokens. Others are not looked at.
  ollama: { hosts: ['ollama.com'], limit: 'max_tokens' },
  openrouter: { hosts: ['openrouter.ai'] },
  // "Chat Completions": max_tokens.
  perplexity: { hosts: ['api.perplexity.ai'], limit: 'max_tokens' },
  // "Create Chat Completion": max_tokens.
  together: { hosts: ['api.together.xyz', 'api.together.ai'], limit: 'max_tokens' },
  // Before 0.6.3 max_completion_tokens was "extra_forbidden"; the older name is read by all.
  vllm: { hosts: [], limit: 'max_tokens' },
  // "Chat completions": max_tokens is deprecated in favour of max_completion_tokens.
  xai: { hosts: ['api.x.ai'] }
}

/** By its name where the configuration says it, else by the host. */
export function dialectFor(name: DialectName | null, host: string): Dialect {
  const rows: readonly Row[] = name === null ? Object.values(ROWS).filter((row) => isAt(host, row.hosts)) : [ROWS[name]]
  const { asksUsage, limit, thoughts } = { ...OPENAI, ...rows[0] }
  return { asksUsage, limit, thoughts }
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
      if (kind === 'thinking') losses.add(partPath(origin.format, i, j), 'harmless')
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
