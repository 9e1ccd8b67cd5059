/** Putting back, at their paths, the fields that a conversation or an answer had no place for. */
import type { Json, Origin } from '#backends/llm/conversation.ts'
import type { Losses } from '#backends/llm/formats/format.ts'

type Writable = { [name: string]: Json }

/** Sets what `rest` holds in `body`; what is of another format, or has lost its place, is a loss. */
export function restore(body: Writable, rest: Origin, losses: Losses): void {
  for (const [path, value] of rest.unknownFields) {
    if (rest.format !== 'gemini' || !put(body, path, value)) losses.add(path)
  }
}

const STEP = /([^.[\]]+)|\[(\d+)\]/g

/** A field whose name is empty has no place that its path could tell. */
const NAMELESS = /^$|^\.|\.\.|\.$|\.\[/

/** False when a list on the way is not long enough: what the field belonged to is gone. */
function put(body: Writable, path: string, value: Json): boolean {
  if (NAMELESS.test(path)) return false
  const steps = [...path.matchAll(STEP)].map((step) => step[1] ?? Number(step[2]))
  const last = steps.pop()
  let at: Json | undefined = body
  for (const [i, step] of steps.entries()) {
    const isOfElement = i === steps.length - 1 && typeof last === 'number'
    at = typeof step === 'number' ? item(at, step) : child(at, step, isOfElement ? [] : {})
    if (at === undefined) return false
  }
  if (typeof last === 'number') {
    if (!Array.isArray(at)) return false
    at.splice(last, 0, value)
    return true
  }
  if (last === undefined || typeof at !== 'object' || at === null || Array.isArray(at)) return false
  define(at as Writable, last, value)
  return true
}

function item(at: Json | undefined, index: number): Json | undefined {
  return Array.isArray(at) ? at[index] : undefined
}

/** What has that name, made where it is missing: everything in it may be rest. */
function child(at: Json | undefined, name: string, missing: Json): Json | undefined {
  if (typeof at !== 'object' || at === null || Array.isArray(at)) return undefined
  const owner = at as Writable
  if (!Object.hasOwn(owner, name)) define(owner, name, missing)
  return owner[name]
}

/** As an own property, whatever its name. */
function define(owner: Writable, name: string, value: Json): void {
  Object.defineProperty(owner, name, { value, enumerable: true, configurable: true, writable: true })
}
