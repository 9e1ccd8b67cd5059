/** What a reading of the Responses format leaves over, and where a writer gives it back. */
import type { Json, JsonObject, Origin } from '#backends/llm/conversation.ts'
import type { Fields } from '#backends/llm/formats/fields.ts'

/**
 * `own` has two kinds of entries: fields, by path, and marks, by the path of an object, "#" and a name. A mark tells
 * which of several spellings was used ("input[0]#list": content was a list although a string would have done).
 */
export interface Left {
  readonly fields: Map<string, Json>
  readonly own: Map<string, Json>
}

export function newLeft(): Left {
  return { fields: new Map(), own: new Map() }
}

/** Keeps `names` of an object for its own format: others lose nothing without them. */
export function keepOwn(left: Left, object: Fields, names: readonly string[]): void {
  for (const name of names) {
    const value = object.any(name)
    if (value !== null) left.own.set(object.at(name), value)
  }
}

export function restOf(left: Left): Origin {
  return { format: 'responses', unknownFields: left.fields, wording: left.own }
}

// The objects that readers leave fields of. What follows the dot is a name, whatever is in it.
const PARENT = new RegExp(
  '^(?:(?:in|out)put\\[\\d+\\](?:\\.(?:content|output|summary)\\[\\d+\\](?:\\.input_audio)?)?' +
    '|text(?:\\.format)?|reasoning|stream_options|tools\\[\\d+\\]|tool_choice' +
    '|incomplete_details|usage(?:\\.(?:in|out)put_tokens_details)?)(?=\\.)'
)

/** What a conversation or an answer of the Responses format has left over, by the object that it belongs to. */
export class Extras {
  /** What is written comes from a message of this format. */
  readonly isOwn: boolean
  /** ... and its readings are still with it: an answer put together from a stream has none. */
  readonly hasOwn: boolean
  /** ... or of one with the same provider's notions of caching and files. */
  readonly isOpenAi: boolean
  readonly #marks = new Map<string, Json>()
  readonly #fields = new Map<string, [name: string, value: Json][]>()

  constructor(rest: Origin) {
    this.isOwn = rest.format === 'responses'
    this.hasOwn = this.isOwn && rest.wording !== undefined
    this.isOpenAi = this.isOwn || rest.format === 'completions'
    if (!this.isOwn) return
    for (const [path, value] of rest.unknownFields) this.#add(path, value)
    for (const [path, value] of rest.wording ?? []) {
      if (path.includes('#')) this.#marks.set(path, value)
      else this.#add(path, value)
    }
  }

  mark(path: string, name: string): Json {
    return this.#marks.get(`${path}#${name}`) ?? null
  }

  /** The object at `path`: `entries` that are not null, and what was left over of it. */
  object(path: string, entries: { readonly [name: string]: Json | undefined }): JsonObject {
    return this.#whole(path, Object.entries(entries).filter(isSaid))
  }

  /** The same, with what is null: of answers, where clients expect all fields. */
  whole(path: string, entries: JsonObject): JsonObject {
    return this.#whole(path, Object.entries(entries))
  }

  #whole(path: string, pairs: readonly (readonly [string, Json | undefined])[]): JsonObject {
    // Defines properties, so that "__proto__" is a name like others.
    return Object.fromEntries(withElements([...pairs, ...(this.#fields.get(path) ?? [])])) as JsonObject
  }

  #add(path: string, value: Json): void {
    const parent = PARENT.exec(path)?.[0] ?? ''
    const name = parent === '' ? path : path.slice(parent.length + 1)
    const fields = this.#fields.get(parent)
    if (fields === undefined) this.#fields.set(parent, [[name, value]])
    else fields.push([name, value])
  }
}

/** Elements of lists that were left out of them. */
const ELEMENT = /^(content|output)\[(\d+)\]$/

function withElements(
  pairs: readonly (readonly [string, Json | undefined])[]
): (readonly [string, Json | undefined])[] {
  const fields: (readonly [string, Json | undefined])[] = []
  for (const pair of pairs) {
    const [, name, index] = ELEMENT.exec(pair[0]) ?? []
    const list = name === undefined ? undefined : fields.find(([other]) => other === name)?.[1]
    if (Array.isArray(list)) (list as Json[]).splice(Number(index), 0, pair[1] ?? null)
    else fields.push(pair)
  }
  return fields
}

function isSaid([, value]: readonly [string, Json | undefined]): boolean {
  return value !== null && value !== undefined
}
