/** Fields that the conversation has no place for: back to where they were, or told as losses. */
import type { CacheMark, FormatName, Json, JsonObject, Origin } from '#backends/llm/conversation.ts'
import { isObject } from '#backends/llm/formats/fields.ts'
import type { Losses } from '#backends/llm/formats/format.ts'

/** An object that is being written. */
export interface Draft {
  [name: string]: Json
}

/** What reading leaves beside the conversation. */
export interface Notes {
  readonly rest: Map<string, Json>
  /** See Rest.wording. */
  readonly wording: Map<string, Json>
}

/** How a request of this format worded things; empty for requests of others. */
export type Wording = ReadonlyMap<string, Json>

const NO_WORDING: Wording = new Map()

export function restOf(notes: Notes): Origin {
  const { rest, wording } = notes
  return wording.size === 0
    ? { format: 'completions', unknownFields: rest }
    : { format: 'completions', unknownFields: rest, wording }
}

export function wordingOf(rest: Origin): Wording {
  return rest.format === 'completions' ? (rest.wording ?? NO_WORDING) : NO_WORDING
}

/** Objects and lists of a body that rest may have entries in. Where one is not written, its entries are lost. */
const CONTAINERS: ReadonlySet<string> = new Set([
  'messages',
  'tools',
  'functions',
  'choices',
  'usage',
  'stream_options',
  'response_format',
  'tool_choice'
])

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

/** Puts `rest` into `body` at its paths; what has no place there is added to `losses`. */
export function giveBack(rest: Origin, body: Draft, losses: Losses): void {
  if (rest.format === 'completions') {
    for (const [path, value] of rest.unknownFields) if (!place(body, path, value)) losses.add(path)
    return
  }
  const same = SAME[rest.format]
  for (const [path, value] of rest.unknownFields) {
    const name = same?.get(path)
    if (name === undefined) losses.add(path)
    else body[name] = value
  }
}

/** False when the object that had the field is not in `body`. Names with dots in them are taken as they are. */
function place(body: Draft, path: string, value: Json): boolean {
  let at: Json = body
  let start = 0
  while (isObject(at) || Array.isArray(at)) {
    if (Array.isArray(at)) {
      const close = path.indexOf(']', start)
      const index = Number(path.slice(start + 1, close))
      if (!Number.isSafeInteger(index) || close < 0) return false
      if (close === path.length - 1) {
        at.splice(index, 0, value)
        return true
      }
      at = at[index] ?? null
      start = path[close + 1] === '.' ? close + 2 : close + 1
      continue
    }
    const end = delimiter(path, start)
    const name = path.slice(start, end)
    const child: Json | undefined = Object.hasOwn(at, name) ? at[name] : undefined
    const isWay = path[end] === '.' ? isObject(child) : path[end] === '[' && Array.isArray(child)
    if (!isWay) {
      if (at === body && end < path.length && CONTAINERS.has(name)) return false
      set(at as Draft, path.slice(start), value)
      return true
    }
    at = child as Json
    start = path[end] === '.' ? end + 1 : end
  }
  return false
}

function delimiter(path: string, start: number): number {
  for (let i = start; i < path.length; i++) if (path[i] === '.' || path[i] === '[') return i
  return path.length
}

/** A field of any name: "__proto__" is one too. */
function set(object: Draft, name: string, value: Json): void {
  if (name !== '__proto__') object[name] = value
  else Object.defineProperty(object, name, { value, enumerable: true, writable: true, configurable: true })
}

/** A mutable copy of the entries that say something. */
export function draft(entries: { readonly [name: string]: Json | undefined }): Draft {
  const result: Draft = {}
  for (const [name, value] of Object.entries(entries)) if (value !== null && value !== undefined) result[name] = value
  return result
}

export function isString(value: Json | undefined): value is string {
  return typeof value === 'string'
}

/** `value` when it is an object with nothing but `names`. */
export function only(value: Json | undefined, names: readonly string[]): JsonObject | null {
  return isObject(value) && Object.keys(value).every((name) => names.includes(name)) ? value : null
}

/** `object` with its cache mark, when there is one. */
export function marked(object: Draft, cache: CacheMark | null, path: string, wording: Wording): Draft {
  if (cache === null) return object
  if (wording.has(`${path}.prompt_cache_breakpoint`)) object.prompt_cache_breakpoint = { mode: 'explicit' }
  else object.cache_control = draft({ type: 'ephemeral', ttl: cache.ttl })
  return object
}
