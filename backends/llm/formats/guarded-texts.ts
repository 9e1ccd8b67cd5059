/**
 * What a format says of its texts, for prompt guards: everything of a request that reaches a model as text, and of an
 * answer that a client reads, by the bodies of its API reference. Other members of a request are searched for
 * strings that may be texts (engine/kit/scan/unknown.ts).
 */
import type { Reach } from '#engine/kit/scan/body.ts'
import { isObject, type Slot, textsBelow, textsBeside } from '#engine/kit/scan/texts.ts'

/** Of a body that a client sends. */
export const requestReach = (texts: readonly string[], declared: readonly string[]): Reach => ({
  texts,
  declared,
  hasNames: true,
  isRequest: true
})

/** Of a provider's answer. A name in it is one that the request has declared. */
export const answered = (...texts: readonly string[]): Reach => ({
  texts,
  declared: [],
  hasNames: false,
  isRequest: false
})

// --- events of streams: which texts go on from event to event, and which are complete ---

export interface Piece {
  readonly slot: Slot
  /** Of the part that it is a piece of, or that it repeats; null: it is a text of its own. */
  readonly key: string | null
  /** Parts of the same kind and choice are read as one text; null: this one is not. */
  readonly kind: Kind | null
  /** "0|"; formats that have only one choice: "|". */
  readonly choice: string
  /** It says again, whole, what has come in pieces. */
  readonly isRepeated: boolean
}

export type Kind = 'text' | 'thought'

export interface EventTexts {
  readonly pieces: readonly Piece[]
  /** Texts whose keys begin like this have ended with this event, or before it. */
  readonly ends: readonly string[]
}

export type Value = { readonly [name: string]: unknown }
export const NONE: EventTexts = { pieces: [], ends: [] }
/** Every key begins so. */
export const ALL = ['']
export const ROLE = 'assistant'

/** The choice of formats that have only one. */
const ONLY = '|'

export function whole(slots: readonly Slot[]): Piece[] {
  return slots.map((slot) => pieceOf(slot, null))
}

/** Unknown fields of a value, beside the known ones. */
export function beside(value: Value, ...known: string[]): Piece[] {
  return whole(textsBeside(value, known, ROLE))
}

/** What is in a list beside objects, or in what should be one. */
export function astray(value: Value, name: string): Piece[] {
  const list = value[name]
  if (!Array.isArray(list)) return whole(textsBelow(value, name, ROLE))
  return whole(list.flatMap((item, i) => (isObject(item) ? [] : textsBelow(list, String(i), ROLE))))
}

export function pieceOf(slot: Slot, key: string | null, kind: Kind | null = null, choice: string = ONLY): Piece {
  return { slot, key, kind, choice, isRepeated: false }
}

export function listOf(value: unknown): Value[] {
  return Array.isArray(value) ? value.filter(isObject) : []
}
