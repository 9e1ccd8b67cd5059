/**
 * What is done with the texts of a whole body: they are searched and masked, told as messages, or replaced. Plain data
 * in and out, so that a big body can be worked on in another thread (engine/workers/jobs.ts).
 */
import { maskText, type RuleSet, rulesOf, spansOf } from './rules.ts'
import { maskJsonText, StreamJson } from './stream-json.ts'
import { isObject, type Slot, stripLogprobs, textsOf } from './texts.ts'

export const SCAN_JOB = 'scan'

export interface ScanJob {
  /** A JSON text. */
  readonly bytes: Uint8Array
  /** Fields of the body below which texts are. */
  readonly roots: readonly string[]
  /** Of who says so nowhere. */
  readonly role: string
  readonly step:
    | { readonly kind: 'search'; readonly rules: RuleSet; readonly action: 'mask' | 'reject' }
    | { readonly kind: 'tell' }
    /** One text for each that was told. */
    | { readonly kind: 'replace'; readonly texts: readonly string[] }
}

export interface Message {
  readonly role: string
  readonly content: string
}

export interface ScanResult {
  /** The changed body; null: it stays as it is. */
  readonly bytes: Uint8Array | null
  /** Something has been found. */
  readonly isHit: boolean
  /** Of `tell`. */
  readonly messages: readonly Message[]
  /** Why nothing can be said of the body, or null. */
  readonly problem: string | null
}

export const NOTHING: ScanResult = { bytes: null, isHit: false, messages: [], problem: null }

/**
 * Throws SyntaxError when the body is no JSON, or when a text that replaces arguments is none; RangeError when it is
 * nested too deeply, or when there are more or fewer texts than were told.
 */
export function runScanJob({ bytes, roots, role, step }: ScanJob): ScanResult {
  const json = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString()
  const body: unknown = JSON.parse(json)
  if (!isObject(body)) return { ...NOTHING, problem: 'the body is no JSON object' }
  if (hasTwins(json, body)) return { ...NOTHING, problem: 'a field of the body comes twice' }
  const slots = textsOf(body, roots, role)
  if (step.kind === 'tell') {
    return { ...NOTHING, messages: slots.map(({ role: by, text }) => ({ role: by, content: text })) }
  }
  if (step.kind === 'search') {
    if (step.action === 'reject') return { ...NOTHING, isHit: finds(slots, step.rules) }
    return mask(slots, step.rules) ? { ...NOTHING, isHit: true, bytes: written(body) } : NOTHING
  }
  if (step.texts.length !== slots.length) throw new RangeError('there must be one text for each that was told')
  let isChanged = false
  for (const [i, slot] of slots.entries()) {
    const text = step.texts[i]!
    if (text === slot.text) continue
    // What is JSON has to stay JSON.
    if (slot.isJson) JSON.parse(text)
    slot.set(text)
    isChanged = true
  }
  return isChanged ? { ...NOTHING, isHit: true, bytes: written(body) } : NOTHING
}

const QUOTE = 34
const COLON = 58
const BACKSLASH = 92

/** A field of `json`, which is `value`, comes twice: others may read the first, which nobody here has seen. */
export function hasTwins(json: string, value: unknown): boolean {
  return colonsIn(json) !== entriesOf(value)
}

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
  return Buffer.from(JSON.stringify(body))
}

function finds(slots: readonly Slot[], set: RuleSet): boolean {
  const rules = rulesOf(set)
  return slots.some(({ text, isJson }) => {
    if (!isJson) return rules.some((rule) => spansOf(text, [rule]).length > 0)
    const json = new StreamJson(rules)
    json.push(text)
    json.end()
    return json.isHit
  })
}

function mask(slots: readonly Slot[], set: RuleSet): boolean {
  const rules = rulesOf(set)
  let isHit = false
  for (const slot of slots) {
    const text = slot.isJson ? maskJsonText(slot.text, rules) : maskText(slot.text, rules)
    if (text === slot.text) continue
    isHit = true
    slot.set(text)
  }
  return isHit
}
