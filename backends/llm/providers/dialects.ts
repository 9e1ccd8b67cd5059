/**
 * Which dialect a provider is asked in: by its name or host (compatible.ts), as a file changes it, and as its refusals
 * teach (plan/compatibility-retry.ts).
 */
import { COMPATIBLE, type CompatibleService, type DialectName } from './compatible.ts'
import { type Dialect, OPENAI } from './dialect/dialect.ts'

/** Plain data, so that other threads can have it. One for each provider: what is learned of it is put here. */
export interface LearnedDialect {
  dialect: Dialect
}

/** By its name where the configuration says it, else by the host; `changes`: what a file says beside that. */
export function dialectFor(name: DialectName | null, host: string, changes?: Partial<Dialect>): Dialect {
  const service = name ?? serviceAt(host)
  const { dialect }: CompatibleService = service === null ? {} : COMPATIBLE[service]
  return dialect === undefined && changes === undefined ? OPENAI : { ...OPENAI, ...dialect, ...changes }
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
  if (dialect.streamOptions && usage.length > 0) added.push({ names: usage, change: { streamOptions: false } })
  if (isNative) return added
  const { limit, thoughts } = dialect
  const other = limit === 'max_tokens' ? 'max_completion_tokens' : 'max_tokens'
  added.push({ names: [limit], change: { limit: other } })
  if (thoughts !== 'none') added.push({ names: THOUGHT_NAMES[thoughts], change: { thoughts: 'none' } })
  return added
}

const THOUGHT_NAMES: Readonly<Record<Exclude<Dialect['thoughts'], 'none'>, readonly string[]>> = {
  reasoning_content: ['reasoning_content', 'thinking_blocks'],
  reasoning: ['reasoning'],
  content: ['thinking']
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
