/** Keys by the admin API: made, looked at, changed, rotated, removed. A value is shown once, when it is made. */
import { randomBytes } from 'node:crypto'
import type { AccountsSpec, KeySpec } from '#engine/contract/accounts.ts'
import { secret } from '#engine/kit/secret.ts'
import { duration } from '#engine/schema/duration.ts'
import { type Path, pathText } from '#engine/schema/placed.ts'
import type { z } from '#engine/schema/schema.ts'
import { wordHint } from '#engine/schema/suggest.ts'
import type { KeyStorage, StoredKey, StoredValue } from './key-store.ts'
import { keyDigest, keySpecOf, madeKeySchema } from './schema.ts'

/** So that scanners of repositories can tell what it is. */
const PREFIX = 'sk-weir-'
const SECRET_BYTES = 32
const GRACE_DEFAULT_MS = 24 * 3_600_000
const GRACE_MAX_MS = 90 * 86_400_000
const KEYS_MAX = 10_000

export type ApiErrorCode = 'NOT_FOUND' | 'INVALID' | 'CONFLICT' | 'NO_STATE' | 'FULL'

/** What is wrong with a call of the API. */
export class ApiError extends Error {
  readonly code: ApiErrorCode
  readonly field: string | undefined

  constructor(code: ApiErrorCode, message: string, field?: string) {
    super(message)
    this.code = code
    this.field = field
  }
}

export interface KeyApiParts {
  /** Null: config.state names none. */
  readonly store: () => KeyStorage | null
  /** Of the configuration in force. */
  readonly configured: () => AccountsSpec
  /** Keys are others than before. */
  readonly changed: () => void
  /** A line for each change, without secrets. */
  readonly audit: (message: string) => void
  readonly now: () => number
}

type Json = Readonly<Record<string, unknown>>

export class KeyApi {
  readonly #parts: KeyApiParts

  constructor(parts: KeyApiParts) {
    this.#parts = parts
  }

  /** Those of the store as accounts; what the configuration has wins. */
  get specs(): readonly KeySpec[] {
    const configured = this.#names
    const stored = [...(this.#parts.store()?.keys.values() ?? [])]
    return stored.flatMap((key) => (configured.has(key.name) ? [] : (specOf(key) ?? [])))
  }

  list(): readonly Json[] {
    const ofConfiguration = this.#parts.configured().keys.map(shownSpec)
    const stored = [...(this.#parts.store()?.keys.values() ?? [])].map(shownKey)
    return [...ofConfiguration, ...stored]
  }

  get(name: string): Json {
    const spec = this.#parts.configured().keys.find((key) => key.name === name)
    if (spec !== undefined) return shownSpec(spec)
    return shownKey(this.#stored(name))
  }

  /** With its value, which nobody can ask for again. */
  async create(input: unknown): Promise<Json> {
    const store = this.#store()
    if (store.keys.size >= KEYS_MAX) throw new ApiError('FULL', `there are ${KEYS_MAX} keys; remove some`)
    const { name, ...fields } = this.#validated(input)
    if (store.keys.has(name) || this.#names.has(name)) throw new ApiError('CONFLICT', `there is a key ${name}`, 'name')
    const [value, made] = freshValue()
    const at = new Date(this.#parts.now()).toISOString()
    const key = { name, fields: inputFields(input, fields), values: [made], createdAt: at, changedAt: at }
    await this.#set(key, 'created')
    return { ...shownKey(key), key: value }
  }

  /** Fields that are there replace what was; null takes one away. */
  async change(name: string, patch: unknown): Promise<Json> {
    const before = this.#stored(name)
    if (typeof patch !== 'object' || patch === null || Array.isArray(patch) || 'name' in patch)
      throw new ApiError('INVALID', 'the body must be an object with the fields that change, without name')
    const merged = Object.entries({ ...before.fields, ...patch }).filter(([, value]) => value !== null)
    const fields = Object.fromEntries(merged)
    this.#validated({ ...fields, name })
    const key = { ...before, fields, changedAt: new Date(this.#parts.now()).toISOString() }
    await this.#set(key, `changed: ${Object.keys(patch).join(', ')}`)
    return shownKey(key)
  }

  /** A new value; the one before it is good for the grace period. */
  async rotate(name: string, input: unknown): Promise<Json> {
    const before = this.#stored(name)
    const graceMs = graceOf(input)
    const now = this.#parts.now()
    const [value, made] = freshValue()
    const values = before.values.flatMap(({ hash, validUntil }): StoredValue[] => {
      const until = Math.min(validUntil ?? Number.POSITIVE_INFINITY, now + graceMs)
      return until <= now ? [] : [{ hash, validUntil: until }]
    })
    // Of those before, the last one: a key has two values at most.
    const key = { ...before, values: [made, ...values.slice(0, 1)], changedAt: new Date(now).toISOString() }
    await this.#set(key, `rotated: the value before is good for ${graceMs / 1_000}s`)
    return { ...shownKey(key), key: value }
  }

  async remove(name: string): Promise<void> {
    this.#stored(name)
    if (!(await this.#store().remove(name))) throw changedMeanwhile(name)
    this.#parts.audit(`key ${name} removed by the admin API`)
    this.#parts.changed()
  }

  get #names(): ReadonlySet<string> {
    return new Set(this.#parts.configured().keys.map(({ name }) => name))
  }

  #store(): KeyStorage {
    const store = this.#parts.store()
    if (store === null)
      throw new ApiError(
        'NO_STATE',
        'keys of the API must outlive the process: config.state.path or config.state.url says where they are kept'
      )
    return store
  }

  #stored(name: string): StoredKey {
    const key = this.#parts.store()?.keys.get(name)
    if (key !== undefined) return key
    if (this.#names.has(name))
      throw new ApiError('CONFLICT', `the key ${name} is of the configuration: change it there`)
    throw new ApiError('NOT_FOUND', `there is no key ${name}`)
  }

  #validated(input: unknown) {
    const result = madeKeySchema().safeParse(input)
    if (!result.success) throw invalid(result.error.issues[0]!)
    const { teams, organisations } = this.#parts.configured()
    const { team, organisation } = result.data
    if (team !== undefined && !teams.some(({ name }) => name === team))
      throw new ApiError('INVALID', `there is no team ${team} in the configuration`, 'team')
    if (organisation !== undefined && !organisations.some(({ name }) => name === organisation))
      throw new ApiError('INVALID', `there is no organisation ${organisation} in the configuration`, 'organisation')
    return result.data
  }

  async #set(key: StoredKey, what: string): Promise<void> {
    if (!(await this.#store().set(key))) throw changedMeanwhile(key.name)
    this.#parts.audit(`key ${key.name} ${what} (by the admin API)`)
    this.#parts.changed()
  }
}

/** The first mistake in the fields of a key, with what is allowed there. */
function invalid(issue: z.core.$ZodIssue): ApiError {
  const unknown = issue.code === 'unrecognized_keys' ? issue.keys[0]! : null
  const field = pathText([...(issue.path as Path), ...(unknown === null ? [] : [unknown])])
  return new ApiError('INVALID', textOf(issue, unknown), field === '' ? undefined : field)
}

function textOf(issue: z.core.$ZodIssue, unknown: string | null): string {
  if (issue.code === 'invalid_value') return `must be one of ${issue.values.join(', ')}`
  if (unknown === null) return issue.message
  // What lies deeper is a budget or a limit, whose fields the page lists.
  const known = issue.path.length === 0 ? Object.keys(madeKeySchema().shape) : []
  const hint = wordHint(unknown, known)
  return hint === undefined ? 'is not a known field' : `is no field of a key; ${hint}`
}

const changedMeanwhile = (name: string): ApiError =>
  new ApiError('CONFLICT', `another replica has changed the key ${name} meanwhile: look at it and try again`, 'name')

/** As they came, since what they became (milliseconds, nanos) cannot be shown. */
function inputFields(input: unknown, fields: object): Json {
  const sent = input as Json
  return Object.fromEntries(Object.keys(fields).flatMap((key) => (key in sent ? [[key, sent[key]]] : [])))
}

function freshValue(): [string, StoredValue] {
  const value = `${PREFIX}${randomBytes(SECRET_BYTES).toString('base64url')}`
  return [value, { hash: keyDigest(value), validUntil: null }]
}

function graceOf(input: unknown): number {
  const { gracePeriod, ...others } = (input ?? {}) as Json
  const [other] = Object.keys(others)
  if (other !== undefined) throw new ApiError('INVALID', 'is no field of a rotation', other)
  if (gracePeriod === undefined) return GRACE_DEFAULT_MS
  const result = duration().safeParse(gracePeriod)
  if (result.success && result.data <= GRACE_MAX_MS) return result.data
  throw new ApiError('INVALID', 'must be a duration such as "24h", at most 2160h', 'gracePeriod')
}

/** Undefined: this version cannot read it. */
function specOf({ name, fields, values }: StoredKey): KeySpec | undefined {
  const result = madeKeySchema().safeParse({ ...fields, name })
  if (!result.success) return undefined
  const spec = keySpecOf(name, secret(''), result.data)
  return { ...spec, values: values.map(({ hash, validUntil }) => ({ hash: secret(hash), validUntil })) }
}

const shownKey = ({ name, fields, values, createdAt, changedAt }: StoredKey): Json => ({
  name,
  source: 'api',
  ...fields,
  createdAt,
  changedAt,
  ...(values.length < 2 ? {} : { previousValidUntil: new Date(values[1]!.validUntil!).toISOString() })
})

/** What the configuration says is shown by its own words there: here is who it is. */
const shownSpec = ({ name, owner, team, organisation, tags, models, expiresAt, isRevoked }: KeySpec): Json => ({
  name,
  source: 'configuration',
  ...(owner === null ? {} : { owner }),
  ...(team === null ? {} : { team }),
  ...(organisation === null ? {} : { organisation }),
  ...(tags.length === 0 ? {} : { tags }),
  ...(models === null ? {} : { models }),
  ...(expiresAt === null ? {} : { expires: new Date(expiresAt).toISOString() }),
  revoked: isRevoked
})
