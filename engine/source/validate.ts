/** What a schema found wrong -> findings that say what is allowed, in the words of the configuration. */

import { type Path, pathText } from '#engine/schema/placed.ts'
import { isHidden, isRefused, type ZodType, type z } from '#engine/schema/schema.ts'
import { nearest, wordHint } from '#engine/schema/suggest.ts'
import { aboveOf, belowOf } from './elsewhere.ts'
import type { Finding } from './tree.ts'
import { valueHint } from './value-hints.ts'

type Issue = z.core.$ZodIssue
type RawIssue = z.core.$ZodRawIssue

/** Stands for a value that could not be read. Its source has reported why, so no other mistake is reported. */
export const UNREADABLE = Symbol('unreadable')

export type Outcome<T> = { readonly value: T } | { readonly findings: readonly Finding[] }

/** Validates what stands at `base`. */
export function validate<T extends ZodType>(schema: T, value: unknown, base: Path = []): Outcome<z.output<T>> {
  // An issue only has the unknown keys; which ones are known is noted here while the schema is at hand.
  const known: Known = { root: schema, objects: new WeakMap(), placed: 0 }
  const error = (issue: RawIssue): string | undefined => {
    if (issue.code === 'unrecognized_keys') known.objects.set(issue.keys, issue.inst as z.core.$ZodType)
    return messageOf(issue)
  }
  const result = schema.safeParse(value, { error, reportInput: true })
  if (result.success) return { value: result.data }
  const { issues } = result.error
  const findings: Finding[] = []
  for (const [i, issue] of issues.entries()) {
    if (findings.length >= FINDINGS_MAX) {
      findings.push(rest(issue, base, issues.length - i))
      break
    }
    for (const finding of findingsOf(issue, base, known)) findings.push(finding)
  }
  return { findings: firstOfEach(findings) }
}

/** What is told one by one. Nobody reads more, and each is compared with every word that was perhaps meant. */
const FINDINGS_MAX = 1_000

const rest = (next: Issue, base: Path, count: number): Finding => ({
  path: [...base, ...next.path],
  message: `is wrong, and so are ${count - 1} more places: the first ${FINDINGS_MAX} are told one by one`,
  at: 'value'
})

/** One value, one message: an empty name is also not a valid one, but that says nothing new. */
function firstOfEach(findings: readonly Finding[]): Finding[] {
  const seen = new Set<string>()
  return findings.filter(({ path }) => {
    const text = pathText(path)
    return !seen.has(text) && seen.add(text)
  })
}

interface Known {
  readonly root: z.core.$ZodType
  /** Objects with unknown keys. */
  readonly objects: WeakMap<readonly string[], z.core.$ZodType>
  /** Keys that were looked for elsewhere. */
  placed: number
}

/** Of one configuration: nobody reads more hints, and each is a search. */
const PLACED_MAX = 16

function hintFor(key: string, issue: Issue & { readonly code: 'unrecognized_keys' }, known: Known): string | undefined {
  const object = known.objects.get(issue.keys)
  const words = object === undefined ? [] : knownKeys(object)
  if (key === '<<') return 'keys are not merged: write here what is meant'
  const all = wordHint(key, words)
  if (object === undefined || nearest(key, words) !== null || known.placed++ >= PLACED_MAX) return all
  const elsewhere = elsewhereOf(key, issue.path as Path, object, known.root)
  return elsewhere === null ? all : `${elsewhere}${all === undefined ? '' : `; ${all}`}`
}

function elsewhereOf(key: string, path: Path, object: z.core.$ZodType, root: z.core.$ZodType): string | null {
  const near = belowOf(object, key, 1)
  const above = near === null ? aboveOf(root, path, key) : null
  if (above !== null) {
    return above.length === 0
      ? 'write it at the top of the file'
      : `write it beside ${pathText(path.slice(0, above.length + 1))}`
  }
  const below = near ?? belowOf(object, key)
  return below === null ? null : `write it as ${below}.${key}`
}

function findingsOf(issue: Issue, base: Path, known: Known): Finding[] {
  const path = [...base, ...issue.path]
  if (issue.input === UNREADABLE || isHidden(issue)) return []
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.slice(0, FINDINGS_MAX).map((key) => ({
      path: [...path, key],
      message: 'is not a known key',
      at: 'key',
      hint: hintFor(key, issue, known)
    }))
  }
  if (issue.code === 'invalid_union') {
    const branch = issue.errors.find((issues) => !issues.some(isAboutWhole))
    if (branch !== undefined) return branch.flatMap((inner) => findingsOf(inner, path, known))
  }
  const aboutKey = issue.code === 'invalid_key' || (issue.code === 'invalid_type' && issue.expected === 'never')
  const at = aboutKey ? 'key' : 'value'
  return [
    issue.input === null ? emptyFinding(issue, path, at) : { path, message: issue.message, at, hint: hintOf(issue) }
  ]
}

/** A key with nothing behind it, or with null. */
function emptyFinding(issue: Issue, path: Path, at: Finding['at']): Finding {
  const wanted = issue.message.replace(/, not empty$/, '')
  const entries = issue.code === 'invalid_type' && issue.expected === 'array' ? ' (each entry begins with "- ")' : ''
  return {
    path,
    message: `is empty: ${wanted}${entries}`,
    at,
    hint: 'write what belongs here, indented more than the key, or take the key out'
  }
}

/** Whether a branch of a union was the wrong one altogether, so that its other mistakes say nothing. */
function isAboutWhole(issue: Issue): boolean {
  // What a check says of several fields is about an object, as it should be.
  const isOfFields = issue.code === 'custom' && typeof issue.input === 'object'
  return issue.path.length === 0 && issue.code !== 'unrecognized_keys' && !isOfFields && !isHidden(issue)
}

function hintOf(issue: Issue): string | undefined {
  if (issue.code !== 'invalid_value' || typeof issue.input !== 'string') return valueHint(issue.input, issue.message)
  // A schema with a message of its own has reported the mistake.
  if (!issue.message.startsWith('must be')) return undefined
  const near = nearest(issue.input, issue.values.map(String))
  return near === null ? undefined : `did you mean "${near}"?`
}

function knownKeys(schema: RawIssue['inst']): readonly string[] {
  const { def } = (schema as z.core.$ZodTypes)._zod
  if (def.type !== 'object') return []
  return Object.keys(def.shape).filter((key) => !isRefused(def.shape[key]!))
}

// --- messages of schemas that have none of their own ---

const KINDS: Readonly<Record<string, string>> = {
  string: 'a text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  record: 'an object'
}

function messageOf(issue: RawIssue): string | undefined {
  if (issue.input === undefined) return 'is required'
  switch (issue.code) {
    case 'invalid_type':
      return `must be ${KINDS[issue.expected] ?? issue.expected}${parts(issue)}, not ${describe(issue.input)}${remedy(issue)}`
    case 'invalid_value':
      return `must be ${issue.values.length === 1 ? '' : 'one of '}${issue.values.join(', ')}`
    case 'too_small':
      return issue.origin === 'string' && issue.minimum === 1
        ? 'must not be empty'
        : `must ${amount(issue.origin, 'at least', issue.minimum)}`
    case 'too_big':
      return `must ${amount(issue.origin, 'at most', issue.maximum)}`
    case 'invalid_format':
      return issue.pattern === undefined ? undefined : `must match ${issue.pattern}`
    case 'invalid_key':
      return issue.issues.map((inner) => inner.message).join('; ')
    case 'invalid_union':
      return [...new Set(issue.errors.flatMap((branch) => branch[0]?.message ?? []))].join(', or ')
    default:
      return undefined
  }
}

function amount(origin: string, bound: string, limit: number | bigint): string {
  if (origin === 'string') return `have ${bound} ${limit} characters`
  return origin === 'array' ? `have ${bound} ${limit} entries` : `be ${bound} ${limit}`
}

/** Objects with more keys than this are known by their name. */
const PARTS_MAX = 12

function parts({ expected, inst }: RawIssue & { code: 'invalid_type' }): string {
  const keys = expected === 'object' ? knownKeys(inst) : []
  return keys.length === 0 || keys.length > PARTS_MAX ? '' : ` with ${keys.join(', ')}`
}

function remedy({ expected, input }: RawIssue & { code: 'invalid_type' }): string {
  if (input === null) return ''
  if (expected === 'array') return ': put it in brackets'
  return expected === 'string' && typeof input !== 'object' ? ': put it in quotes' : ''
}

/** A port is shorter, and a key of digits is longer. */
const SHOWN_BELOW = 100_000

/** Texts are not shown: they may be secrets. Nor are long numbers, which are keys that lack their quotes. */
function describe(value: unknown): string {
  if (value === null) return 'empty'
  if (Array.isArray(value)) return 'a list'
  if (typeof value === 'boolean') return String(value)
  if (typeof value === 'number') return Math.abs(value) < SHOWN_BELOW ? String(value) : 'a number'
  return typeof value === 'string' ? 'a text' : 'an object'
}
