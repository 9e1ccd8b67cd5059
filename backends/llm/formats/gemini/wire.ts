/**
 * How Google's JSON reads. It is proto JSON: names in camelCase or snake_case, numbers as numbers or text, bytes as
 * base64, and a single object where a list of one is meant (the documentation's own curl examples do so).
 * Source: protobuf.dev, "ProtoJSON Format"; ai.google.dev, "Gemini API reference".
 */

import type { Json, JsonObject, Signature } from '#backends/llm/conversation.ts'
import { Fields, isObject } from '#backends/llm/formats/fields.ts'
import { FormatError } from '#backends/llm/formats/format.ts'
import { openSignature, sealSignature } from '#backends/llm/translate/signature.ts'
import { parseJson } from '#engine/kit/json.ts'

const SNAKE = /(?<=[A-Za-z0-9])_([a-z0-9])/g

/** The same message with names in camelCase; its values as they are, for they may be the caller's own data. */
export function camel(value: JsonObject): JsonObject {
  let isPlain = true
  for (const name in value) {
    if (name.includes('_')) isPlain = false
  }
  if (isPlain) return value
  const entries = Object.entries(value)
  // fromEntries defines what it adds: "__proto__" is a name like any other.
  return Object.fromEntries(entries.map(([name, item]) => [name.replace(SNAKE, upper), item]))
}

const upper = (_: string, letter: string) => letter.toUpperCase()

/** A message at `path`; throws FormatError when `value` is none. */
export function message(value: Json | undefined, path: string): Fields {
  return Fields.of(isObject(value) ? camel(value) : value, path)
}

export function optionalMessage(fields: Fields, name: string): Fields | null {
  const value = fields.any(name)
  return value === null ? null : message(value, fields.at(name))
}

/** The messages of a list; [] when it is absent. */
export function messages(fields: Fields, name: string): Fields[] {
  const value = fields.any(name)
  if (isObject(value)) return [message(value, `${fields.at(name)}[0]`)]
  return (fields.optionalList(name) ?? []).map((item, i) => message(item, `${fields.at(name)}[${i}]`))
}

export function optionalNumber(fields: Fields, name: string): number | null {
  const value = fields.any(name)
  if (typeof value !== 'string' || value.trim() === '') return fields.optionalNumber(name)
  const number = Number(value)
  if (Number.isFinite(number)) return number
  throw new FormatError(fields.at(name), 'must be a number')
}

export function count(fields: Fields, name: string): number {
  return optionalNumber(fields, name) ?? 0
}

const DEPTH_MAX = 500

/** The object that `text` holds; null when it is not JSON, no object, or nested deeper than 500. */
export function parseObject(text: string): JsonObject | null {
  const value = parseJson(text) as Json | undefined
  if (value === undefined) return null
  // So much nesting takes two characters a level.
  return isObject(value) && (text.length <= 2 * DEPTH_MAX || isShallow(value, DEPTH_MAX)) ? value : null
}

function isShallow(value: Json, left: number): boolean {
  if (typeof value !== 'object' || value === null) return true
  return left > 0 && Object.values(value).every((item) => isShallow(item, left - 1))
}

// Base64 of "weir.[" and what follows it always begins so.
const SEALED = 'd2Vpci5X'

/**
 * A signature as Gemini's clients carry it. The field is of bytes, which some SDKs decode and encode again: another
 * format's, sealed, travels as base64 of the sealed text.
 */
export function writeSignature(signature: Signature): string {
  if (signature.format === 'gemini') return signature.data
  return Buffer.from(sealSignature(signature, 'gemini')).toString('base64')
}

export function readSignature(text: string): Signature {
  if (!text.startsWith(SEALED)) return { format: 'gemini', data: text }
  const signature = openSignature(Buffer.from(text, 'base64').toString(), 'gemini')
  return signature.format === 'gemini' ? { format: 'gemini', data: text } : signature
}

const MADE = 'call_weir_'

/** An id for a call that the model gave none: the same whenever the same answer or request is read. */
export function madeId(tag: string, n: number): string {
  return tag === '' ? `${MADE}${n}` : `${MADE}${tag}_${n}`
}

/** Of an answer's id, what every format takes in the id of a call (OpenAI: 40 characters). */
export function idTag(id: string): string {
  return id.replace(/[^A-Za-z0-9_-]/g, '').slice(0, 24)
}

export function isMadeId(id: string): boolean {
  return id.startsWith(MADE)
}
