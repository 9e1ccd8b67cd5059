/**
 * Jobs on the texts of a whole body: they are searched and masked, sent as messages, or replaced. Plain data
 * in and out, so that a big body can be worked on in another thread (engine/contract/policy.ts, Offload).
 */
import { jsonBytes } from '#engine/kit/shared-bytes.ts'
import { type Declared, declaredIn, findsInNames, maskDeclared } from './declared.ts'
import type { Rule } from './live.ts'
import { type RuleSet, rulesOf } from './rules.ts'
import { findsIn, maskSlots } from './search.ts'
import { BESIDE, isObject, stripLogprobs, textsAndNamesOf } from './texts.ts'
import { tokensIn, unknownTexts } from './unknown.ts'

/** Where in a body there is something to look at. */
export interface Reach {
  /** Paths of fields below which texts are ("messages"). */
  readonly texts: readonly string[]
  /** Paths of tools and schemas; [] for answers. */
  readonly declared: readonly string[]
  /** Names beside the texts (of tools that are called, of who speaks) are looked at. */
  readonly hasNames: boolean
  /** A request: unknown members are searched, too. */
  readonly isRequest: boolean
}

export interface Search {
  readonly rules: RuleSet
  readonly action: 'mask' | 'reject'
}

export interface BodyScan {
  /** A JSON text. */
  readonly bytes: Uint8Array
  readonly reach: Reach
  /** Of texts without a role. */
  readonly role: string
  readonly step: /** One after the other, each over what the one before has left; the first that rejects ends it. */
    | { readonly kind: 'search'; readonly searches: readonly Search[] }
    | { readonly kind: 'tell' }
    /** One text for each message of `tell`. */
    | { readonly kind: 'replace'; readonly texts: readonly string[] }
}

export interface Message {
  readonly role: string
  readonly content: string
}

export interface ScanResult {
  /** The changed body; null: it stays as it is. */
  readonly bytes: Uint8Array | null
  /** Indices of the searches that have changed it. */
  readonly maskedBy: readonly number[]
  /** Index of the search that rejects the body; -1: none does. */
  readonly rejectedBy: number
  /** Index of the rule of that search which does (rulesOf); -1: none, or none does by itself. */
  readonly rejectingRule: number
  /** Of `tell`. */
  readonly messages: readonly Message[]
  /** Why nothing can be said of the body, or null. */
  readonly problem: string | null
}

export const NOTHING: ScanResult = {
  ...{ bytes: null, maskedBy: [], rejectedBy: -1, rejectingRule: -1, messages: [], problem: null }
}

/** The role under which declarations are reported. */
const DECLARER = 'system'

/**
 * Throws SyntaxError when the body, or a text that replaces arguments, is no JSON; RangeError when it is nested too
 * deeply, or when the number of texts differs from that of the messages.
 */
export function scanBody({ bytes, reach, role, step }: BodyScan): ScanResult {
  const json = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString()
  const body: unknown = JSON.parse(json)
  if (!isObject(body)) return { ...NOTHING, problem: 'the body is no JSON object' }
  if (hasTwins(json, body)) return { ...NOTHING, problem: 'a field of the body comes twice' }
  if (hasVariants(body, reach)) return { ...NOTHING, problem: 'a field of the body is written in another case' }
  const tokens = reach.isRequest ? tokensIn(body) : null
  if (tokens !== null) return { ...NOTHING, problem: `guards cannot read the tokens in ${tokens}: send text` }
  if (step.kind === 'search') return search(body, reach, role, step.searches)
  const { slots, declared } = look(body, reach, role)
  if (step.kind === 'tell') {
    const messages = slots.map(({ role: by, text }) => ({ role: by, content: text }))
    return { ...NOTHING, messages: [...messages, ...declared.map(({ text }) => ({ role: DECLARER, content: text }))] }
  }
  return replace(body, [...slots, ...declared.map(asJson)], step.texts)
}

function look(body: object, { texts, declared, hasNames, isRequest }: Reach, role: string) {
  const known = textsAndNamesOf(body, texts, role)
  const other = isRequest ? unknownTexts(body, [...texts, ...declared], role) : { slots: [], names: [] }
  const names = [...(hasNames ? known.names : []), ...other.names]
  return { slots: [...known.slots, ...other.slots], names, declared: declaredIn(body, declared) }
}

function search(body: object, reach: Reach, role: string, searches: readonly Search[]): ScanResult {
  const maskedBy: number[] = []
  let found = look(body, reach, role)
  for (const [i, { rules: set, action }] of searches.entries()) {
    const rules = rulesOf(set)
    const isDry = action === 'reject'
    const inDeclared = maskDeclared(found.declared, rules, isDry)
    // What is found in a name cannot be masked, and must not go on.
    const isRejected = inDeclared === 'name' || findsInNames(found.names, rules)
    if (isRejected || (isDry && (inDeclared === 'text' || findsIn(found.slots, rules)))) {
      return { ...NOTHING, rejectedBy: i, rejectingRule: rules.findIndex((rule) => rejects(found, [rule], isDry)) }
    }
    if (isDry || !masks(found.slots, rules, inDeclared === 'text')) continue
    maskedBy.push(i)
    if (i < searches.length - 1) found = look(body, reach, role)
  }
  return maskedBy.length > 0 ? { ...NOTHING, maskedBy, bytes: written(body) } : NOTHING
}

/** `isAnywhere`: in texts too, not in names alone. */
function rejects({ slots, names, declared }: ReturnType<typeof look>, rules: readonly Rule[], isAnywhere: boolean) {
  const inDeclared = maskDeclared(declared, rules, true)
  if (inDeclared === 'name' || findsInNames(names, rules)) return true
  return isAnywhere && (inDeclared === 'text' || findsIn(slots, rules))
}

function masks(slots: Parameters<typeof maskSlots>[0], rules: readonly Rule[], isMasked: boolean): boolean {
  return maskSlots(slots, rules) || isMasked
}

interface Replaceable {
  readonly text: string
  readonly isJson: boolean
  set(text: string): void
}

function asJson({ text, set }: Declared): Replaceable {
  return { text, isJson: true, set }
}

function replace(body: object, slots: readonly Replaceable[], texts: readonly string[]): ScanResult {
  if (texts.length !== slots.length) throw new RangeError('there must be one text for each that was told')
  let isChanged = false
  for (const [i, slot] of slots.entries()) {
    const text = texts[i]!
    if (text === slot.text) continue
    // What is JSON has to stay JSON.
    if (slot.isJson) JSON.parse(text)
    slot.set(text)
    isChanged = true
  }
  return isChanged ? { ...NOTHING, bytes: written(body) } : NOTHING
}

const QUOTE = 34
const COLON = 58
const BACKSLASH = 92

/** A field of `json`, which is `value`, comes twice: others may read the first, which was not searched. */
export function hasTwins(json: string, value: unknown): boolean {
  return colonsIn(json) !== entriesOf(value)
}

/**
 * A field on a path of `reach` has the name that is there but for its case. Servers in Go take either for the other
 * (encoding/json, Unmarshal), and it was not searched.
 */
function hasVariants(body: object, { texts, declared }: Reach): boolean {
  // All that is beside is looked at anyway.
  return (
    !texts.includes(BESIDE) &&
    variesFrom(
      body,
      [...texts, ...declared].map((path) => path.split('.'))
    )
  )
}

function variesFrom(value: unknown, paths: readonly (readonly string[])[]): boolean {
  if (!isObject(value) || paths.length === 0) return false
  const known = new Set(paths.map(([name]) => name!))
  const folded = new Set([...known].map(fold))
  return Object.keys(value).some((name) => {
    if (!known.has(name)) return folded.has(fold(name))
    const below = paths.filter((path) => path.length > 1 && path[0] === name).map((path) => path.slice(1))
    return variesFrom(value[name], below)
  })
}

/** Also of letters that only fold to one of ASCII, such as the long s. */
const fold = (name: string): string => name.toUpperCase().toLowerCase()

/** Outside of strings: one for each field of each object. */
function colonsIn(json: string): number {
  let count = 0
  for (let i = 0; i < json.length; i++) {
    const code = json.charCodeAt(i)
    if (code === COLON) count++
    else if (code === QUOTE) {
      i++
      for (let unit = json.charCodeAt(i); unit !== QUOTE; unit = json.charCodeAt(++i)) if (unit === BACKSLASH) i++
    }
  }
  return count
}

function entriesOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  let count = 0
  if (Array.isArray(value)) {
    for (const item of value) count += entriesOf(item)
    return count
  }
  for (const one of Object.values(value)) count += 1 + entriesOf(one)
  return count
}

/** A body of which something has been masked. */
function written(body: object): Uint8Array {
  stripLogprobs(body)
  return jsonBytes(body)
}
