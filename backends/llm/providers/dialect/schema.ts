/** `dialect` of a provider in a file: the name of one, or what differs from one. */
import { DIALECTS, type DialectName } from '#backends/llm/providers/compatible.ts'
import { atLeastOne, byShape } from '#engine/schema/choice.ts'
import { list, shortString, z } from '#engine/schema/schema.ts'
import { inResources } from '#engine/schema/spelling.ts'
import {
  CALL_IDS,
  type Dialect,
  EFFORT_FIELDS,
  EFFORTS,
  FORCED_TOOLS,
  LIMITS,
  OUTPUTS,
  PREFILLS,
  SEEDS,
  STRICT_TOOLS,
  THOUGHTS
} from './dialect.ts'

const MEMBERS_MAX = 64

const members = (of: string) =>
  list(shortString(), 0, MEMBERS_MAX).optional().describe(`Members ${of} that are refused.`)

const fields = {
  base: z.enum(DIALECTS).optional().describe('What all that is not said here is taken from. Default: by the host.'),
  streamOptions: z.boolean().optional().describe('Streams may be asked for their usage (stream_options).'),
  limit: z.enum(LIMITS).optional().describe('Where the bound of an answer stands.'),
  thoughts: z
    .enum(THOUGHTS)
    .optional()
    .describe('Where thoughts of earlier turns stand: a member, or parts of content.'),
  needsThoughts: z
    .boolean()
    .optional()
    .describe('Messages with calls must have thoughts: a blank where there are none.'),
  developer: z.boolean().optional().describe('The role developer is taken; else it is system.'),
  textLists: z.boolean().optional().describe('Text may be a list of parts; else it is one text.'),
  alternating: z.boolean().optional().describe('Messages of one role that follow each other are made one.'),
  effort: z.enum(EFFORT_FIELDS).optional().describe('The member that says how much to think.'),
  efforts: list(z.enum(EFFORTS), 0, EFFORTS.length).optional().describe('Words that reasoning_effort takes. []: all.'),
  outputs: list(z.enum(OUTPUTS), 0, OUTPUTS.length)
    .optional()
    .describe('Types of response_format; others are fields in words.'),
  forcedTool: z
    .enum(FORCED_TOOLS)
    .optional()
    .describe('The word of tool_choice for any tool, but one. none: there is none.'),
  namedTool: z.boolean().optional().describe('tool_choice may name a tool; else it is the only one that is offered.'),
  strictTools: z.enum(STRICT_TOOLS).optional().describe('strict of tools. alike: the same for all. none: left out.'),
  callIds: z.enum(CALL_IDS).optional().describe('alphanumeric9: nine letters and digits; others are hashed.'),
  seed: z.enum(SEEDS).optional().describe('What the seed is called.'),
  prefill: z.enum(PREFILLS).optional().describe('The member that marks the beginning of an answer as such.'),
  refuses: members('of a request'),
  refusesInMessages: members('of messages'),
  refusesInSchemas: list(shortString(), 0, MEMBERS_MAX).optional().describe('Keywords of JSON Schema that are refused.')
} satisfies Record<keyof Dialect | 'base', z.ZodType>

/** Of chat completions; other formats have one author each. */
export function dialect() {
  const name = z.enum(DIALECTS)
  const changes = atLeastOne(fields)
  const either = byShape([name, changes], (input) => (typeof input === 'string' ? name : changes))
  return inResources(either, changes)
    .describe(
      "How the server's chat completions differ from OpenAI's. Default: by its host; what it refuses is learned."
    )
    .meta({ examples: ['vllm'] })
}

/** As the schema gives it. */
export type FileDialect =
  | DialectName
  | ({ readonly base?: DialectName | undefined } & { readonly [K in keyof Dialect]?: Dialect[K] | undefined })

export interface DialectSettings {
  readonly dialect: DialectName | null
  readonly dialectChanges?: Partial<Dialect>
}

export function dialectOf(file: FileDialect | undefined): DialectSettings {
  if (file === undefined || typeof file === 'string') return { dialect: file ?? null }
  const { base = null, ...fields } = file
  const changes = Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
  return Object.keys(changes).length === 0 ? { dialect: base } : { dialect: base, dialectChanges: changes }
}
