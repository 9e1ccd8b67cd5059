/** Fields that only Converse knows, back at their places: what Fields.leaveRest and the readers took out. */
import type { Json, JsonObject, Origin } from '#backends/llm/conversation.ts'
import { isObject } from '#backends/llm/formats/fields.ts'
import type { Losses } from '#backends/llm/formats/format.ts'

type Mutable = { [key: string]: Json }

/** Where paths go deeper than the body. All other paths are names of the body as a whole, whatever is in them. */
const INSIDE =
  /^(?:system|messages)\[|^(?:toolConfig|inferenceConfig|outputConfig|serviceTier|additionalModel\w+|output|usage)\./
const STEP = /\[(\d+)\]|[^.[\]]+/g

/**
 * `body` with the fields of `rest` at their paths; a path that ends in an index is an element that was left out of
 * its list. Paths of other formats, and those whose place is gone, are losses. `body` is changed.
 */
export function putBack(body: JsonObject, rest: Origin, losses: Losses): JsonObject {
  if (rest.format !== 'converse') {
    for (const path of rest.unknownFields.keys()) losses.add(path)
    return body
  }
  const paths = [...rest.unknownFields].map(([path, value]) => ({ path, steps: stepsOf(path), value }))
  const lists = new Map<string, { readonly list: Json[]; readonly inserts: [at: number, value: Json][] }>()
  for (const { path, steps, value } of paths) {
    const last = steps.at(-1)
    if (typeof last !== 'number') continue
    const key = path.slice(0, path.lastIndexOf('['))
    let found = lists.get(key)
    if (found === undefined) {
      const list = place(body, [...steps.slice(0, -1), 0])
      if (!Array.isArray(list)) {
        losses.add(path)
        continue
      }
      found = { list, inserts: [] }
      lists.set(key, found)
    }
    found.inserts.push([last, value])
  }
  for (const { list, inserts } of lists.values()) insert(list, inserts)
  for (const { path, steps, value } of paths) {
    const last = steps.at(-1)
    if (typeof last !== 'string') continue
    const parent = place(body, steps)
    if (isObject(parent)) define(parent, last, merged(Object.hasOwn(parent, last) ? parent[last] : undefined, value))
    else losses.add(path)
  }
  return body
}

function stepsOf(path: string): (string | number)[] {
  if (!INSIDE.test(path)) return [path]
  return [...path.matchAll(STEP)].map((match) => (match[1] === undefined ? match[0] : Number(match[1])))
}

/** What holds the last of `steps`; made where objects and lists of the body are missing, null where an element is. */
function place(body: JsonObject, steps: readonly (string | number)[]): Json {
  let at: Json = body
  for (const [i, step] of steps.slice(0, -1).entries()) {
    if (typeof step === 'number') {
      at = Array.isArray(at) ? ((at as readonly Json[])[step] ?? null) : null
    } else if (isObject(at)) {
      if (!Object.hasOwn(at, step)) define(at, step, typeof steps[i + 1] === 'number' ? [] : {})
      at = at[step] ?? null
    } else {
      return null
    }
  }
  return at
}

/** Elements at the indexes that they shall have, in order of these. One pass: lists may be long. */
function insert(list: Json[], inserts: readonly (readonly [at: number, value: Json])[]): void {
  const old = list.splice(0)
  let next = 0
  for (const [at, value] of inserts) {
    while (list.length < at && next < old.length) list.push(old[next++]!)
    list.push(value)
  }
  while (next < old.length) list.push(old[next++]!)
}

/** What was left of an object goes beside what was read of it. */
function merged(written: Json | undefined, left: Json): Json {
  return isObject(written) && isObject(left) ? { ...written, ...left } : left
}

/** As an own property, whatever its name. */
function define(target: JsonObject, name: string, value: Json): void {
  if (name === '__proto__') {
    Object.defineProperty(target, name, { value, enumerable: true, configurable: true, writable: true })
  } else {
    ;(target as Mutable)[name] = value
  }
}
