/**
 * What two configurations have in common, found once: what stays the same over a reload becomes the same
 * object, and what was compiled from that object need not be compiled again.
 */

import { commonEnds, isSameList } from '#engine/kit/same-list.ts'

/**
 * `next`, with every part that equals its counterpart in `before` replaced by it; `before` itself when all is
 * equal. For plain data, which must not be changed afterwards. Entries of a list that have a name are
 * compared with the entry of that name, others with the entry of their place.
 */
export function share<T>(before: unknown, next: T): T {
  return shared(before, next, new Map()) as T
}

/** What was made of entries of lists, and compared with which: one that stands in several lists stays one. */
type Made = Map<unknown, { readonly other: unknown; readonly entry: unknown }>

function shared(before: unknown, next: unknown, made: Made): unknown {
  if (Object.is(before, next)) return before
  if (typeof before !== 'object' || typeof next !== 'object' || before === null || next === null) return next
  if (Array.isArray(next)) return Array.isArray(before) ? sharedList(before, next, made) : next
  // What is neither a list nor a plain object (bytes, dates) is not looked into.
  return isPlain(before) && isPlain(next) ? sharedObject(before, next, made) : next
}

function sharedList(before: readonly unknown[], next: readonly unknown[], made: Made): readonly unknown[] {
  const { start, end } = commonEnds(before, next)
  const inMiddle = next.length - end
  if (start === inMiddle && before.length === next.length) return before
  const others = before.slice(start, before.length - end)
  let byName: Map<unknown, unknown> | null = null
  const out = next.slice()
  for (let i = start; i < inMiddle; i++) {
    let other = others[i - start]
    const name = nameOf(next[i])
    if (name !== undefined && nameOf(other) !== name) {
      byName ??= new Map(others.map((candidate) => [nameOf(candidate), candidate]))
      other = byName.get(name)
    }
    out[i] = sharedEntry(other, next[i], made)
  }
  return isSameList(before, out) ? before : out
}

function sharedEntry(other: unknown, next: unknown, made: Made): unknown {
  if (Object.is(other, next) || typeof next !== 'object') return next
  const known = made.get(next)
  if (known !== undefined && Object.is(known.other, other)) return known.entry
  const entry = shared(other, next, made)
  made.set(next, { other, entry })
  return entry
}

function sharedObject(before: Plain, next: Plain, made: Made): Plain {
  const keys = Object.keys(next)
  const keysBefore = Object.keys(before)
  let isSame = keys.length === keysBefore.length
  const out: Plain = {}
  for (let i = 0; i < keys.length; i++) {
    const key = keys[i]!
    // Setting it would set something else.
    if (key === '__proto__') return next
    // The order of keys is that of header fields, so it counts.
    if (keysBefore[i] !== key) isSame = false
    out[key] = Object.hasOwn(before, key) ? shared(before[key], next[key], made) : next[key]
    if (isSame && !Object.is(out[key], before[key])) isSame = false
  }
  return isSame ? before : out
}

type Plain = Record<string, unknown>

function isPlain(value: object): value is Plain {
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}

/** Rules of a route have its name. */
function nameOf(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return undefined
  const { name, rule } = value as { readonly name?: unknown; readonly rule?: unknown }
  return typeof name === 'string' && typeof rule === 'string' ? `${name}/${rule}` : name
}
