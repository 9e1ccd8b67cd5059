/**
 * The `keys`, `teams` and `organisations` of a configuration: schemas, what is wrong with them together, the
 * Snapshot.
 */
import { keysSchema, organisationsSchema, teamsSchema } from '#engine/accounts/schema.ts'
import type { AccountSpec, AccountsSpec, KeySpec, TeamSpec } from '#engine/contract/accounts.ts'
import { nearestWord } from '#engine/kit/nearest.ts'
import { reveal } from '#engine/kit/secret.ts'
import { entriesOf, type Placed, type Raw, text } from '#engine/schema/placed.ts'
import { deferred } from '#engine/schema/schema.ts'
import type { ConfigTree, Finding } from './tree.ts'

export const accountKeys = {
  keys: deferred(keysSchema)
    .optional()
    .describe(
      'Keys of clients, with what each may use and spend. They are asked for on the port of llm, and by virtualKeys.'
    ),
  teams: deferred(teamsSchema)
    .optional()
    .describe('Teams of keys, with what all their keys together may use and spend.'),
  organisations: deferred(organisationsSchema).optional().describe('Organisations of teams and keys, likewise.')
}

interface AccountsInput {
  readonly keys?: readonly KeySpec[] | undefined
  readonly teams?: readonly TeamSpec[] | undefined
  readonly organisations?: readonly AccountSpec[] | undefined
}

/** Undefined: the configuration has none. */
export function accountsOf({ keys, teams, organisations }: AccountsInput): AccountsSpec | undefined {
  if (keys === undefined && teams === undefined && organisations === undefined) return undefined
  return { keys: keys ?? [], teams: teams ?? [], organisations: organisations ?? [] }
}

const LISTS = ['keys', 'teams', 'organisations'] as const

/** What takes two of them to see. */
export function checkAccounts({ top: { raw }, words }: ConfigTree): Finding[] {
  const findings: Finding[] = []
  const named = new Map<string, Set<string>>()
  for (const kind of LISTS) {
    const places = new Map<string, Placed>()
    named.set(kind, new Set())
    for (const place of entriesOf(raw[kind], [kind])) {
      const name = text(place.raw.name)
      if (name === undefined) continue
      const other = places.get(name)
      if (other === undefined) places.set(name, place)
      else {
        const message = `there is already one called ${name} in ${kind} (${words.placeOf(other.path)})`
        findings.push({ path: [...place.path, 'name'], message, at: 'value' })
      }
      named.get(kind)!.add(name)
    }
  }
  for (const kind of ['keys', 'teams'] as const) {
    for (const place of entriesOf(raw[kind], [kind])) {
      findings.push(...unknown(place, 'organisation', named.get('organisations')!))
      if (kind === 'keys') findings.push(...unknown(place, 'team', named.get('teams')!))
    }
  }
  return findings
}

function unknown({ raw, path }: Placed, field: 'team' | 'organisation', known: ReadonlySet<string>): Finding[] {
  const name = text(raw[field])
  if (name === undefined || known.has(name)) return []
  const near = nearestWord(name, [...known])
  const message = `there is no ${field} "${name}" in ${field}s${near === null ? '' : `: did you mean "${near}"?`}`
  return [{ path: [...path, field], message, at: 'value' }]
}

/** Of validated keys: two that clients could not tell apart. */
export function checkValues({ keys = [] }: AccountsInput): Finding[] {
  const first = new Map<string, string>()
  return keys.flatMap(({ name, values }, i): Finding[] => {
    const [{ hash } = { hash: null }] = values
    if (hash === null) return []
    const other = first.get(reveal(hash))
    if (other === undefined) {
      first.set(reveal(hash), name)
      return []
    }
    return [{ path: ['keys', i], message: `is the same key as ${other}`, at: 'value' }]
  })
}

/** Money that is forgotten at every start is probably not meant. */
export function accountWarnings({ top: { raw } }: ConfigTree): Finding[] {
  const { state } = (raw.config ?? {}) as Raw
  if (state !== undefined) return []
  const kind = LISTS.find((one) => entriesOf(raw[one], [one]).some((place) => place.raw.budgets !== undefined))
  if (kind === undefined) return []
  const message = 'what is spent of budgets is forgotten when the process ends: config.state says where it is kept'
  return [{ path: [kind], message, at: 'key' }]
}

/** All of them, as they are written. */
export function writtenAccounts({ top: { raw } }: ConfigTree): Placed[] {
  return LISTS.flatMap((kind) => entriesOf(raw[kind], [kind]))
}

/** Whether clients may have a key: the file has some, or the API can make them. */
export function mayHaveKeys({ top: { raw } }: ConfigTree): boolean {
  const { state } = (raw.config ?? {}) as Raw
  return state !== undefined || entriesOf(raw.keys, ['keys']).length > 0
}
