/**
 * Calls whose arguments come bit by bit (Vertex AI, streamFunctionCallArguments): each bit has a JSON Path of its
 * place, and text goes on until a bit says that it ends. It becomes one event when the call is complete.
 * Source: cloud.google.com, "Introduction to function calling", streaming of arguments; PartialArg.
 */
import type { Json, JsonObject } from '#backends/llm/conversation.ts'
import type { Fields } from '#backends/llm/formats/fields.ts'
import { FormatError } from '#backends/llm/formats/format.ts'
import { messages } from './wire.ts'

type Container = Json[] | { [name: string]: Json }

// $.name, $['name'] and $[0]: what paths to one value are made of (RFC 9535, normalised paths).
const STEP = /\.([^.[\]]+)|\['((?:[^'\\]|\\.)*)'\]|\[(\d+)\]/gy
const DEPTH_MAX = 100
const ITEMS_MAX = 100_000

export class PartialCall {
  readonly #id: string | null
  readonly #name: string
  #seal: string | null = null
  readonly #root: Json[] = [{}]

  constructor(call: Fields) {
    this.#id = call.optionalString('id')
    this.#name = call.string('name')
  }

  add(part: Fields, call: Fields): void {
    this.#seal = part.optionalString('thoughtSignature') ?? this.#seal
    for (const bit of messages(call, 'partialArgs')) this.#put(bit)
  }

  /** The part that would have come unstreamed. */
  whole(): JsonObject {
    const id = this.#id === null ? {} : { id: this.#id }
    const functionCall = { ...id, name: this.#name, args: this.#root[0]! }
    return this.#seal === null ? { functionCall } : { functionCall, thoughtSignature: this.#seal }
  }

  #put(bit: Fields): void {
    const steps = stepsOf(bit.string('jsonPath'), bit.at('jsonPath'))
    let at: Container = this.#root
    let key: string | number = 0
    for (const step of steps) {
      const inner: Json = own(at, key) ?? (typeof step === 'number' ? [] : {})
      if (typeof inner !== 'object' || inner === null || Array.isArray(inner) !== (typeof step === 'number')) {
        throw new FormatError(bit.at('jsonPath'), 'leads through another value')
      }
      set(at, key, inner)
      at = inner as Container
      key = step
    }
    const value = scalarOf(bit)
    const before = own(at, key)
    set(at, key, typeof value === 'string' && typeof before === 'string' ? before + value : value)
  }
}

function stepsOf(path: string, field: string): (string | number)[] {
  const steps: (string | number)[] = []
  STEP.lastIndex = 1
  while (path.startsWith('$') && STEP.lastIndex < path.length && steps.length < DEPTH_MAX) {
    const at = STEP.lastIndex
    const step = STEP.exec(path)
    if (step === null) throw new FormatError(field, `is no path to one value from its character ${at} on`)
    steps.push(step[1] ?? step[2]?.replace(/\\(.)/g, '$1') ?? Number(step[3]))
  }
  if (steps.length === 0 || steps.length === DEPTH_MAX) throw new FormatError(field, 'is no path to an argument')
  if (steps.some((step) => typeof step === 'number' && step >= ITEMS_MAX)) throw new FormatError(field, 'is too far')
  return steps
}

function scalarOf(bit: Fields): Json {
  return bit.optionalString('stringValue') ?? bit.optionalNumber('numberValue') ?? bit.optionalBoolean('boolValue')
}

function own(at: Container, key: string | number): Json | undefined {
  return Object.hasOwn(at, key) ? (at as { [name: string]: Json })[key] : undefined
}

/** As an own property, whatever its name. */
function set(at: Container, key: string | number, value: Json): void {
  Object.defineProperty(at, key, { value, enumerable: true, configurable: true, writable: true })
}
