/**
 * How a server's chat completions differ from OpenAI's: the fields of `dialect` in a file (schema.ts), and the columns
 * of the services that Weir knows (compatible.ts). Plain data, so that other threads can have it.
 */

/** Words for how much to think, by rising effort; "none" turns it off. */
export const EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const
export type Effort = (typeof EFFORTS)[number]

export const LIMITS = ['max_completion_tokens', 'max_tokens'] as const
export const THOUGHTS = ['reasoning_content', 'reasoning', 'content', 'none'] as const
export const EFFORT_FIELDS = ['reasoning_effort', 'thinking', 'enable_thinking', 'none'] as const
export const OUTPUTS = ['json_object', 'json_schema'] as const
export const FORCED_TOOLS = ['required', 'any', 'none'] as const
export const STRICT_TOOLS = ['mixed', 'alike', 'none'] as const
export const CALL_IDS = ['any', 'alphanumeric9'] as const
export const SEEDS = ['seed', 'random_seed'] as const
export const PREFILLS = ['none', 'unmarked', 'partial', 'prefix', 'continue_final_message'] as const

type One<T extends readonly string[]> = T[number]

export interface Dialect {
  /** Streams may be asked for their usage (`stream_options`): the others tell it unasked, or never. */
  readonly streamOptions: boolean
  /** Where the bound of an answer stands. */
  readonly limit: One<typeof LIMITS>
  /** Where the model's thoughts of earlier turns stand in its messages; content: as parts of it; none: left out. */
  readonly thoughts: One<typeof THOUGHTS>
  /** A message with calls must have thoughts: it gets a blank where the history has none. */
  readonly needsThoughts: boolean
  /** Messages of the role `developer` are taken; else they are `system`. */
  readonly developer: boolean
  /** Content that is text may be a list of parts; else they are one text. */
  readonly textLists: boolean
  /** Messages of users and of the model must take turns: those of one role that follow each other are one. */
  readonly alternating: boolean
  /** The member that says how much to think. */
  readonly effort: One<typeof EFFORT_FIELDS>
  /** Words that `reasoning_effort` takes; empty: all, or, where `effort` is another member, none. */
  readonly efforts: readonly Effort[]
  /** Types of `response_format` beside text; the model is told in words where the one asked for is none of them. */
  readonly outputs: readonly One<typeof OUTPUTS>[]
  /** The word of `tool_choice` for "any tool, but one"; none: there is none, nor may a tool be named. */
  readonly forcedTool: One<typeof FORCED_TOOLS>
  /** `tool_choice` may name a tool; else it is the only one that is offered. */
  readonly namedTool: boolean
  /** `strict` of tools: alike: the same for all; none: not taken. */
  readonly strictTools: One<typeof STRICT_TOOLS>
  /** alphanumeric9: nine letters and digits; others are hashed. */
  readonly callIds: One<typeof CALL_IDS>
  readonly seed: One<typeof SEEDS>
  /**
   * How a last message of the model is marked that its answer is to go on with: by a member of it; of the request
   * (continue_final_message); unmarked: such a message is always gone on with; none: it is not, or nobody says so.
   */
  readonly prefill: One<typeof PREFILLS>
  /** Members of a request that are refused. */
  readonly refuses: readonly string[]
  /** ... of messages. */
  readonly refusesInMessages: readonly string[]
  /** Keywords of JSON Schema that are refused in tools and answers. */
  readonly refusesInSchemas: readonly string[]
}

export const OPENAI: Dialect = {
  streamOptions: true,
  limit: 'max_completion_tokens',
  thoughts: 'reasoning_content',
  needsThoughts: false,
  developer: true,
  textLists: true,
  alternating: false,
  effort: 'reasoning_effort',
  efforts: [],
  outputs: OUTPUTS,
  forcedTool: 'required',
  namedTool: true,
  strictTools: 'mixed',
  callIds: 'any',
  seed: 'seed',
  prefill: 'none',
  refuses: [],
  refusesInMessages: [],
  refusesInSchemas: []
}
