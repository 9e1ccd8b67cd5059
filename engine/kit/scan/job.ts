/**
 * What is done with the texts of a whole body: they are searched and masked, told as messages, or replaced. Plain data
 * in and out, so that a big body can be worked on in another thread (engine/workers/jobs.ts).
 */
import { maskText, type RuleSet, rulesOf, spansOf } from './rules.ts'
import { maskJsonText, StreamJson } from './stream-json.ts'
import { type Slot, textsOf } from './texts.ts'

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
}

const NOTHING: ScanResult = { bytes: null, isHit: false, messages: [] }

/**
 * Throws SyntaxError when the body is no JSON, or when a text that replaces arguments is none; RangeError when it is
 * nested too deeply, or when there are more or fewer texts than were told.
 */
export function runScanJob({ bytes, roots, role, step }: ScanJob): ScanResult {
  const body: unknown = JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString())
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

function written(body: unknown): Uint8Array {
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
