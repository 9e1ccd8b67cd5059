/** How a request of chat completions words things, and the fields that it shares with Responses. */
import type { CacheMark, ClientFormat, FormatName, Json, JsonObject, Origin } from '#backends/llm/conversation.ts'
import { compact, isObject, type Writable } from '#backends/llm/formats/fields.ts'
import type { Losses } from '#backends/llm/formats/format.ts'
import { lossPath, type ReadNotes, restoreUnknown } from '#backends/llm/formats/unknown-fields.ts'

/** See Origin.wording; empty for requests of other formats. */
export type Wording = ReadonlyMap<string, Json>

const NO_WORDING: Wording = new Map()

export function originOf({ unknown, wording }: ReadNotes): Origin<ClientFormat> {
  const origin = { format: 'completions', unknownFields: unknown } as const
  return wording.size === 0 ? origin : { ...origin, wording }
}

export function wordingOf(origin: Origin): Wording {
  return origin.format === 'completions' ? (origin.wording ?? NO_WORDING) : NO_WORDING
}

/** Fields of other formats that mean the same here, by their path there. */
const SAME: { readonly [format in FormatName]?: ReadonlyMap<string, string> } = {
  // OpenAI's two APIs share these (API reference, "Create a model response" and "Create chat completion").
  responses: new Map([
    ['store', 'store'],
    ['prompt_cache_key', 'prompt_cache_key'],
    ['prompt_cache_retention', 'prompt_cache_retention'],
    ['prompt_cache_options', 'prompt_cache_options'],
    ['text.verbosity', 'verbosity'],
    ['moderation', 'moderation']
  ])
}

/** Puts the unknown fields of `origin` into `body`, and those of Responses that mean the same here. */
export function restore(origin: Origin, body: Writable, losses: Losses): void {
  const same = SAME[origin.format]
  if (same === undefined) restoreUnknown(body, origin, 'completions', losses, false)
  else {
    for (const [path, value] of origin.unknownFields) {
      const name = same.get(path)
      if (name === undefined) losses.add(lossPath(path))
      else body[name] = value
    }
  }
}

/** `value` when it is an object with nothing but `names`. */
export function only(value: Json | undefined, names: readonly string[]): JsonObject | null {
  return isObject(value) && Object.keys(value).every((name) => names.includes(name)) ? value : null
}

/** `object` with its cache mark, when there is one. */
export function marked(object: Writable, cache: CacheMark | null, path: string, wording: Wording): Writable {
  if (cache === null) return object
  if (wording.has(`${path}.prompt_cache_breakpoint`)) object.prompt_cache_breakpoint = { mode: 'explicit' }
  else object.cache_control = compact({ type: 'ephemeral', ttl: cache.ttl })
  return object
}
