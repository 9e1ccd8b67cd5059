/**
 * Where a client's format has what a conversation says. Writers name their losses by these paths; each folder of a
 * format that clients speak has its own (formats/<format>/paths.ts), and a conversation brings those of its client.
 */

/** Of fields that OpenAI's two formats share, and others in part. */
export const OPENAI_FIELDS = {
  temperature: 'temperature',
  topP: 'top_p',
  topK: 'top_k',
  stop: 'stop',
  seed: 'seed',
  frequencyPenalty: 'frequency_penalty',
  presencePenalty: 'presence_penalty',
  count: 'n',
  topLogprobs: 'top_logprobs',
  user: 'user',
  metadata: 'metadata',
  parallel: 'parallel_tool_calls',
  toolChoice: 'tool_choice',
  serviceTier: 'service_tier'
} as const

export type PathField = keyof typeof OPENAI_FIELDS | 'output' | 'thinking' | 'turns'

export interface ClientPaths {
  readonly fields: Readonly<Record<PathField, string>>
  /**
   * The lists of turns and of parts. Formats with one message for each turn have them by their own names; others have
   * `turns` and `parts`, which `partPaths` of the format translates (formats/format.ts).
   */
  readonly turns: string
  readonly parts: string
  /** Names of fields of a part, where they differ from those of the conversation. */
  readonly partFields?: Readonly<Record<string, string>>
  /** The list of the instructions ahead of the conversation; null: they stand among the turns, or are one text. */
  readonly system: string | null
}

/** What bears the paths: the origin of a conversation. */
interface FromClient {
  readonly paths: ClientPaths
}

export const fieldPath = ({ paths }: FromClient, field: PathField): string => paths.fields[field]

/** Of the conversation's turn `i`; clientPaths (translate/client-paths.ts) makes it the client's. */
export function turnPath({ paths }: FromClient, i: number): string {
  return `${paths.turns}[${i}]`
}

export function partPath(from: FromClient, i: number, j: number): string {
  return `${turnPath(from, i)}.${from.paths.parts}[${j}]`
}
