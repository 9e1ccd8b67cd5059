/** Fields that only the Messages API has, on their way back to where they stood. */
import type { Json, JsonObject, Origin } from '#backends/llm/conversation.ts'
import type { Fields } from '#backends/llm/formats/fields.ts'
import { FormatError, type Losses } from '#backends/llm/formats/format.ts'

export type Writable = { [key: string]: Json }

/** `i`: of the item; `path`: where it is to stand, after what `list` has. */
type ItemWriter<T> = (item: T, path: string, list: Json[], i: number) => JsonObject | null

/** Left as a whole where it has fields that are not known, beside the mark that was read of it. */
const MARK = 'cache_control'

/** Characters of a name that is refused. */
const NAME_SHOWN_MAX = 64

/**
 * Leaves what nobody asked for in `rest`. Names with the signs of a path are refused, as the API refuses all names that
 * it does not know: one could pass for another field's path, and appear where nobody has looked at it.
 */
export function leave(fields: Fields, rest: Map<string, Json>): void {
  for (const name of Object.keys(fields.value)) {
    if (!name.includes('.') && !name.includes('[')) continue
    throw new FormatError(fields.at(name.slice(0, NAME_SHOWN_MAX)), 'is not a name of the API')
  }
  fields.leaveUnknown(rest)
}

/**
 * While a message is written: `place` tells which object stands at which path, `take` gives list elements back, and
 * `finish` fills the fields in. Of another format's rest, every path is a loss.
 */
export class RestWriter {
  /** The conversation came in this format, and is to go out as it came. */
  readonly isOwn: boolean
  readonly #left: Map<string, Json>
  readonly #objects = new Map<string, Writable>()
  readonly #losses: Losses

  constructor(rest: Origin, losses: Losses) {
    this.isOwn = rest.format === 'messages'
    this.#losses = losses
    this.#left = new Map(this.isOwn ? rest.unknownFields : [])
    if (!this.isOwn) for (const path of rest.unknownFields.keys()) losses.add(path)
  }

  place<T extends Writable>(path: string, object: T): T {
    if (this.#left.size > 0) this.#objects.set(path, object)
    return object
  }

  /** What stood at `path`, once. */
  take(path: string): Json | undefined {
    if (this.#left.size === 0) return undefined
    const value = this.#left.get(path)
    this.#left.delete(path)
    return value
  }

  /** A list at `path` of what `write` makes of `items`, with the elements that nobody understood between them. */
  list<T>(path: string, items: readonly T[], write: ItemWriter<T>): Json[] {
    const list: Json[] = []
    items.forEach((item, i) => {
      this.#takeElements(path, list)
      const written = write(item, `${path}[${list.length}]`, list, i)
      if (written !== null) list.push(written)
    })
    this.#takeElements(path, list)
    return list
  }

  /** Adds the fields to their objects. None but a mark replaces what was written; those without a place are losses. */
  finish(): void {
    for (const [path, value] of this.#left) {
      const dot = path.lastIndexOf('.')
      const object = this.#objects.get(dot === -1 ? '' : path.slice(0, dot))
      const name = path.slice(dot + 1)
      const isTaken = object !== undefined && Object.hasOwn(object, name) && name !== MARK
      if (object === undefined || isTaken) this.#losses.add(path)
      else Object.defineProperty(object, name, { value, enumerable: true, writable: true, configurable: true })
    }
  }

  #takeElements(path: string, list: Json[]): void {
    for (;;) {
      const kept = this.take(`${path}[${list.length}]`)
      if (kept === undefined) return
      list.push(kept)
    }
  }
}
