/** What can be said about keys and budgets without a browser. */
import type { Answer, Input } from '#engine/ui/api/client.ts'

export type Key = Answer<'listKeys'>['keys'][number]
export type Budget = Answer<'listBudgets'>['budgets'][number]
type Body = NonNullable<Input<'createKey'>['body']>

export type KeyState = 'active' | 'rotating' | 'expired' | 'revoked'

/** rotating: the value before is still good. */
export function stateOf({ revoked, expires, previousValidUntil }: Key, now: number): KeyState {
  if (revoked === true) return 'revoked'
  if (expires !== undefined && Date.parse(expires) <= now) return 'expired'
  if (previousValidUntil !== undefined && Date.parse(previousValidUntil) > now) return 'rotating'
  return 'active'
}

/** 0..1 and above; calls under way count with what is set aside for them. */
export function shareOf({ amount, spent, reserved }: Budget): number {
  const whole = Number(amount)
  const used = Number(spent) + Number(reserved)
  if (whole > 0) return used / whole
  return used > 0 ? 1 : 0
}

/** "team/research" is of the kind team, and of research. */
export function accountOf({ account }: Budget): { readonly kind: string; readonly name: string } {
  const slash = account.indexOf('/')
  return { kind: account.slice(0, slash), name: account.slice(slash + 1) }
}

/** Budgets that a key spends from: its own, that of its team, that of its organisation. */
export function budgetsOf(key: Key, budgets: readonly Budget[]): readonly Budget[] {
  const accounts = new Set([`key/${key.name}`, `team/${key.team ?? ''}`, `organisation/${key.organisation ?? ''}`])
  return budgets.filter(({ account }) => accounts.has(account))
}

/** The one with the least room. */
export function tightest(budgets: readonly Budget[]): Budget | null {
  return budgets.reduce<Budget | null>(
    (most, one) => (most === null || shareOf(one) > shareOf(most) ? one : most),
    null
  )
}

/** Keys that have the text in a name, an owner, a team, a tag or a model. */
export function matching(keys: readonly Key[], text: string): readonly Key[] {
  const wanted = text.trim().toLowerCase()
  if (wanted === '') return keys
  return keys.filter(({ name, owner, team, organisation, tags = [], models = [] }) =>
    [name, owner, team, organisation, ...tags, ...models].some((word) => word?.toLowerCase().includes(wanted) === true)
  )
}

/** What is typed into the form. */
export interface Draft {
  readonly name: string
  readonly owner: string
  readonly team: string
  readonly models: string
  readonly tags: string
  /** A day: the key ends with it. */
  readonly expires: string
  readonly amount: string
  readonly period: string
}

export const EMPTY: Draft = {
  ...{ name: '', owner: '', team: '', models: '', tags: '', expires: '', amount: '', period: 'Month' }
}

export const PERIODS = ['Hour', 'Day', 'Week', 'Month', 'Total'] as const

/** What is wrong with a value the API says; what is empty is left out. */
export function bodyOf({ name, owner, team, models, tags, expires, amount, period }: Draft): Body {
  const body: Body = { name: name.trim() }
  if (owner.trim() !== '') body.owner = owner.trim()
  if (team.trim() !== '') body.team = team.trim()
  if (models.trim() !== '') body.models = listOf(models)
  if (tags.trim() !== '') body.tags = listOf(tags)
  if (expires !== '') body.expires = `${expires}T23:59:59Z`
  if (amount.trim() !== '')
    body.budgets = [{ amount: amount.trim(), period: PERIODS.find((one) => one === period) ?? 'Month' }]
  return body
}

const listOf = (text: string): string[] => text.split(/[\s,]+/).filter((word) => word !== '')
