/** How a request or an answer of Responses words things, and fields that only it has. */
import type { Json, Origin } from '#backends/llm/conversation.ts'
import type { Fields, Writable } from '#backends/llm/formats/fields.ts'
import { putBack, type ReadNotes } from '#backends/llm/formats/unknown-fields.ts'

/** Keeps `names` of an object for its own format: others lose nothing without them. */
export function keepOwn({ wording }: ReadNotes, object: Fields, names: readonly string[]): void {
  for (const name of names) {
    const value = object.any(name)
    if (value !== null) wording.set(object.at(name), value)
  }
}

export function originOf({ unknown, wording }: ReadNotes): Origin<'responses'> {
  return { format: 'responses', unknownFields: unknown, wording }
}

/**
 * What Origin.wording has in this format: fields by path, and marks by the path of an object, "#" and a name. A mark
 * tells which of several spellings was used ("input[0]#list": a list where a string would have done).
 */
export class Wording {
  /** What is written came in this format. */
  readonly isOwn: boolean
  /** ... and its wording is known: an answer put together from a stream has none. */
  readonly hasWording: boolean
  /** It came in a format with the same provider's notions of caching and files. */
  readonly isOpenAi: boolean
  readonly #origin: Origin

  constructor(origin: Origin) {
    this.isOwn = origin.format === 'responses'
    this.hasWording = this.isOwn && origin.wording !== undefined
    this.isOpenAi = this.isOwn || origin.format === 'completions'
    this.#origin = origin
  }

  mark(path: string, name: string): Json {
    return (this.isOwn ? this.#origin.wording?.get(`${path}#${name}`) : null) ?? null
  }

  /** Puts back what only this format has: unknown fields, and fields of the wording. */
  restore(body: Writable): void {
    if (!this.isOwn) return
    const { unknownFields, wording = [] } = this.#origin
    putBack(body, [...unknownFields, ...[...wording].filter(([path]) => !path.includes('#'))], true, () => {})
  }
}
