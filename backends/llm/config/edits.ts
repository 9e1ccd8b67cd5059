/** How requests of models are changed (docs/specification.md#policies-for-models; not guards and routes). */

import type { AiBackend, AiEdits, AiField, AiMessage } from '#backends/llm/config/snapshot.ts'
import { atLeastOne } from '#engine/schema/choice.ts'
import { ONLY_GATEWAY } from '#engine/schema/rule.ts'
import { ENTRIES_MAX, list, map, says, shortString, whole, z } from '#engine/schema/schema.ts'
import { anyJson, filledIn } from '#engine/schema/spelling.ts'
import { together } from '#engine/schema/together.ts'

/** docs/specification.md#policies-for-models. */
const FIELDS_MAX = 64
const ALIASES_MAX = 64
const CONTENT_MAX = 1_048_576

const ROLES = ['system', 'developer', 'user', 'assistant'] as const

/** Fields that say what the gateway itself must know. */
const TYPES: Readonly<Record<string, 'string' | 'boolean'>> = { model: 'string', stream: 'boolean' }

const fields = () =>
  list(
    z
      .strictObject({
        field: shortString().describe('A key of the JSON body.'),
        value: anyJson(says('must be JSON')).describe('Any JSON.')
      })
      .check(
        together<AiField>(
          ['field', 'value'],
          ({ value: { field, value }, issues }) => {
            const type = Object.hasOwn(TYPES, field) ? TYPES[field] : undefined
            if (type === undefined || typeof value === type) return
            issues.push({ code: 'custom', path: ['value'], message: `must be a ${type} for ${field}`, input: value })
          },
          ONLY_GATEWAY
        )
      ),
    1,
    FIELDS_MAX
  )

const messages = () =>
  list(
    z.strictObject({
      role: z.enum(ROLES, { error: says(`must be one of ${ROLES.join(', ')}`) }),
      content: z.string().min(1, 'must not be empty').max(CONTENT_MAX)
    }),
    1,
    ENTRIES_MAX
  )

/** The star of a pattern is at one of its ends. */
const ALIAS = /^(?:\*?[^*]*|[^*]*\*)$/

/** What an `ai` backend, or one of its providers, says of this. */
export const edits = () => ({
  defaults: fields()
    .optional()
    .describe('Fields of the body of a chat request that are sent where the client has none.'),
  overrides: fields().optional().describe('Fields of the body of a chat request that replace what the client says.'),
  prompt: atLeastOne({
    prepend: messages().optional().describe("Messages before the client's."),
    append: messages().optional().describe("Messages after the client's.")
  })
    .optional()
    .describe('Messages that every conversation gets.'),
  promptCaching: z
    .strictObject({
      cacheSystem: filledIn(z.boolean(), true).optional().describe('Behind the instructions. Default true.'),
      cacheMessages: filledIn(z.boolean(), true).optional().describe('Before the last message. Default true.'),
      cacheTools: filledIn(z.boolean(), false).optional().describe('Behind the tools. Default false.'),
      minTokens: filledIn(whole(0, 10_000_000), 1024)
        .optional()
        .describe('What is shorter is not marked. Default 1024.')
    })
    .optional()
    .describe('Marks up to which Claude and Nova keep a prompt; other providers have no marks.'),
  modelAliases: map(
    z.string().min(1).max(256).regex(ALIAS, 'may have one star, at its beginning or end'),
    shortString(),
    0,
    ALIASES_MAX
  )
    .optional()
    .describe("The client's name of a model, or a pattern with one star -> the provider's.")
})

export interface FileEdits {
  readonly defaults?: readonly AiField[] | undefined
  readonly overrides?: readonly AiField[] | undefined
  readonly prompt?:
    | { readonly prepend?: readonly AiMessage[] | undefined; readonly append?: readonly AiMessage[] | undefined }
    | undefined
  readonly promptCaching?:
    | {
        readonly cacheSystem?: boolean | undefined
        readonly cacheMessages?: boolean | undefined
        readonly cacheTools?: boolean | undefined
        readonly minTokens?: number | undefined
      }
    | undefined
  readonly modelAliases?: AiBackend['modelAliases'] | undefined
}

/** What a provider says itself wins, setting by setting, over what the backend says. */
export function editsOf(own: FileEdits, outer: FileEdits): AiEdits {
  const { defaults, overrides, prompt, promptCaching } = { ...defined(outer), ...defined(own) }
  return {
    // The model of an override is that of the provider (overriddenModel).
    overrides: (overrides ?? []).filter(({ field }) => field !== 'model'),
    defaults: defaults ?? [],
    prompt: prompt === undefined ? null : { prepend: prompt.prepend ?? [], append: prompt.append ?? [] },
    caching:
      promptCaching === undefined
        ? null
        : {
            cacheSystem: promptCaching.cacheSystem ?? true,
            cacheMessages: promptCaching.cacheMessages ?? true,
            cacheTools: promptCaching.cacheTools ?? false,
            minTokens: promptCaching.minTokens ?? 1024
          }
  }
}

/** Setting by setting, what `own` says, else what `outer` says. */
export function withOuter(own: FileEdits, outer: FileEdits): FileEdits {
  return { ...defined(outer), ...defined(own) }
}

/** The model that an override names, or null. */
export function overriddenModel(own: FileEdits, outer: FileEdits): string | null {
  const { overrides } = { ...defined(outer), ...defined(own) }
  const value = overrides?.find(({ field }) => field === 'model')?.value
  return typeof value === 'string' ? value : null
}

function defined(edits: FileEdits): FileEdits {
  return Object.fromEntries(Object.entries(edits).filter(([, value]) => value !== undefined))
}
