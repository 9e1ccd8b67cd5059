/**
 * Makes a configuration that loads of one that may not: what weir refuses is taken out, with a note of why. A variable
 * that is not set here stands for something that fits.
 */

import type { ForeignFile, Importer, Mistake, Settle, TakenOut } from '#engine/contract/importer.ts'
import { type Path, pathText, type Raw, valueAt } from '#engine/schema/placed.ts'
import { Draft } from './draft.ts'

/** What is being taken out of. */
type Round = Draft & { readonly gone: Path[] }

/** Each round takes something out; a file has fewer entries than this that are wrong in turns. */
const ROUNDS_MAX = 200
/** Texts that places want where a variable stands. */
const STAND_INS = ['stand-in', 'https://stand-in.example', 'stand-in.example:443', '10443', 'us-east-1', '2024-10-21']
const VARIABLE = /\$\{?([A-Za-z_][A-Za-z0-9_]*)/g

/** `known`: variables that are set. `file`: what notes name, where a place is the same in both. */
export const settled: Settle = (imported, { takesOut }, mistakesOf, known, file) => {
  const draft: Round = Object.assign(new Draft(), { value: imported.value, gone: [] })
  draft.comments.push(...imported.comments)
  draft.notes.push(...imported.notes)
  const standIns = new Map<string, number>()
  for (let round = 0; round < ROUNDS_MAX; round++) {
    for (const name of variablesIn(draft.value))
      if (known[name] === undefined && !standIns.has(name)) standIns.set(name, 0)
    const variables = Object.fromEntries([...standIns].map(([name, i]) => [name, STAND_INS[i]!]))
    const mistakes = mistakesOf(draft.value, variables)
    if (mistakes.length === 0) return draft
    const real = mistakes.filter(({ path }) => !standsInAgain(valueAt(draft.value, path), standIns))
    takeOut(draft, real, file, takesOut)
  }
  throw new Error('what is carried of this file does not load')
}

function variablesIn(value: unknown): Set<string> {
  const text = JSON.stringify(value) ?? ''
  return new Set([...text.replaceAll('$$', '').matchAll(VARIABLE)].map(([, name]) => name!))
}

/** Whether a variable of `value` gets another value in the next round. */
function standsInAgain(value: unknown, standIns: Map<string, number>): boolean {
  if (typeof value !== 'string') return false
  const names = [...variablesIn(value)].filter(
    (name) => (standIns.get(name) ?? STAND_INS.length) < STAND_INS.length - 1
  )
  for (const name of names) standIns.set(name, standIns.get(name)! + 1)
  return names.length > 0
}

/** All of one round: places are those that they all were found at. */
function takeOut(
  draft: Round,
  mistakes: readonly Mistake[],
  file: ForeignFile | null,
  takesOut: Importer['takesOut']
): void {
  const chosen = new Map<string, TakenOut & Mistake>()
  for (const { path, message } of mistakes) {
    const taken = takesOut(present(draft.value, path))
    if (taken.out.length === 0) throw new Error(`what is carried of this file does not load: ${message}`)
    const text = pathText(taken.out)
    if (!chosen.has(text)) chosen.set(text, { ...taken, path, message })
  }
  // From the end: entries of a list that are taken out move those behind them.
  for (const { out, closed, path, message } of [...chosen.values()].toReversed()) {
    const isAround = draft.gone.some((gone) => isBelow(gone, out))
    draft.gone.push(out)
    remove(draft, out)
    if (closed !== null) put(draft.value, closed, { rules: [{ deny: 'true' }] })
    // What is empty now says nothing new.
    if (isAround) continue
    const inside = out.length < path.length ? `${pathText(path.slice(out.length))}: ` : ''
    const reason = `${inside}${message}${closed === null ? '' : '; what it protects is closed: authorization denies all'}`
    if (file === null) draft.notes.push({ place: `${pathText(out)} (as weir has it)`, reason })
    else draft.note(file, out, reason)
  }
}

/** The innermost thing on the way to `path` that is there. */
function present(value: unknown, path: Path): Path {
  let at = path
  while (at.length > 0 && valueAt(value, at) === undefined) at = at.slice(0, -1)
  return at
}

function remove(draft: Draft, at: Path): void {
  // With what was around it.
  if (valueAt(draft.value, at) === undefined) return
  const key = at.at(-1)!
  const above = at.slice(0, -1)
  const container = valueAt(draft.value, above)
  if (Array.isArray(container)) container.splice(Number(key), 1)
  else delete (container as Raw)[String(key)]
  const kept = draft.comments.filter(([place]) => !isBelow(place, at))
  const moved = kept.map(([place, lines]): [Path, readonly string[]] => {
    const index = place[above.length]
    const follows = Array.isArray(container) && isBelow(place, above) && Number(index) > Number(key)
    return [follows ? place.with(above.length, Number(index) - 1) : place, lines]
  })
  draft.comments.splice(0, Number.POSITIVE_INFINITY, ...moved)
}

const isBelow = (place: Path, at: Path): boolean => at.every((key, i) => place[i] === key)

/** Makes what is around it, too. */
export function put(value: Raw, path: Path, what: unknown): void {
  let at = value
  for (const key of path.slice(0, -1)) {
    at[String(key)] ??= {}
    at = at[String(key)] as Raw
  }
  at[String(path.at(-1))] = what
}
