/**
 * Keys of clients, and the teams and organisations that they belong to: who they are, what they may use, and what they
 * may spend (docs/design/045-keys-and-money.md). Plain data first, as a Snapshot has it; then what policies and
 * backends
 * ask of it. Implemented by engine/accounts.
 */
import type { Secret } from '#engine/kit/secret.ts'
import type { ErrorCode } from './errors.ts'
import type { Exchange } from './exchange.ts'
import type { Claims } from './identity.ts'
import { Slot } from './slot.ts'

// --- as a configuration has it ---

export const PERIODS = ['Hour', 'Day', 'Week', 'Month', 'Total'] as const
export type CalendarPeriod = (typeof PERIODS)[number]

/** Money that may be spent in a period. */
export interface BudgetSpec {
  /** Nanos of the currency, whole. */
  readonly amount: number
  /** By the calendar of `timeZone`; Total: for ever. A number: the milliseconds before now, at any time. */
  readonly period: CalendarPeriod | number
  /** IANA name. */
  readonly timeZone: string
  /** Milliseconds since 1970: periods of the calendar begin at this time of day, weekday, day of the month. */
  readonly startsAt: number | null
}

export interface RateSpec {
  readonly kind: 'requests' | 'tokens'
  readonly amount: number
  readonly burst: number
  readonly unitMs: number
}

/** What one account may use. Every level has the same, and all of them must let a call pass. */
export interface AccountSpec {
  readonly name: string
  readonly budgets: readonly BudgetSpec[]
  readonly limits: readonly RateSpec[]
  /** Requests at a time; null: any number. */
  readonly concurrency: number | null
  /** Names of models as clients have them, with stars; null: all. */
  readonly models: readonly string[] | null
}

export interface TeamSpec extends AccountSpec {
  readonly organisation: string | null
}

/** One value by which clients show a key. */
export interface KeyValue {
  /** SHA-256 of its bytes, in lower-case hexadecimal digits. Not a password: keys are long and random. */
  readonly hash: Secret
  /** Milliseconds since 1970 from which on it is not valid any more; null: it is. */
  readonly validUntil: number | null
}

export interface KeySpec extends AccountSpec {
  /** Two while a rotated one is still valid. */
  readonly values: readonly KeyValue[]
  readonly owner: string | null
  readonly team: string | null
  readonly organisation: string | null
  readonly tags: readonly string[]
  readonly metadata: Claims
  /** Milliseconds since 1970; null: never. */
  readonly expiresAt: number | null
  readonly isRevoked: boolean
}

/** What a loss of power may take of the journal: nothing, the last second, or what the system had not written yet. */
export type Fsync = 'always' | 'everysec' | 'no'

/** Where the process keeps what must outlive it. */
export interface StateSpec {
  /** A folder; null: there is none. */
  readonly path: string | null
  readonly fsync: Fsync
  /** What several replicas share; null: budgets, limits and keys are those of this process. */
  readonly server: StateServerSpec | null
}

/** Redis, Valkey or PostgreSQL. */
export interface StateServerSpec {
  readonly kind: 'redis' | 'postgres'
  readonly host: string
  readonly port: number
  /** Of Redis a number. */
  readonly database: string
  readonly username: string | null
  readonly password: Secret | null
  readonly isTls: boolean
  /** A file of authorities, PEM, read at each connection; null: those that Node.js knows. */
  readonly root: string | null
  /** What replicas that share have in common: keys of Redis begin with it, tables of PostgreSQL are in it. */
  readonly prefix: string
  /** Calls pass when it is away. */
  readonly isOpen: boolean
  readonly timeoutMs: number
}

export interface AccountsSpec {
  readonly keys: readonly KeySpec[]
  readonly teams: readonly TeamSpec[]
  readonly organisations: readonly AccountSpec[]
}

// --- as exchanges use it ---

/** Why a call may not go on. */
export interface AccountRefusal {
  readonly code: ErrorCode
  /** For the client. */
  readonly message: string
  /** Of Retry-After; null: waiting does not help. */
  readonly retryAfterS: number | null
}

/** What clients of models wait for a Retry-After at most; they try again by themselves when it says more. */
const RETRY_AFTER_MAX_S = 60

/**
 * Header fields of a refusal, flat. Money does not come back by asking again: OpenAI's and Anthropic's clients are
 * told.
 */
export function refusalFields({ code, retryAfterS }: AccountRefusal): readonly string[] | null {
  const fields = retryAfterS === null ? [] : ['Retry-After', String(retryAfterS)]
  const isFinal = code === 'BUDGET_EXCEEDED' && (retryAfterS ?? Number.POSITIVE_INFINITY) > RETRY_AFTER_MAX_S
  if (isFinal) fields.push('x-should-retry', 'false')
  return fields.length === 0 ? null : fields
}

/** The tightest of the limits of one kind, for the client. */
export interface AccountQuota {
  readonly kind: RateSpec['kind']
  readonly capacity: number
  readonly left: number
  readonly resetS: number
}

/** A key that a client has shown, while its exchange lasts. */
export interface KeyUse {
  /** False: the key or one of its owners may not use it. `model`: by the client's name; '': it names none. */
  mayUse(model: string): boolean
  /** The model of the exchange has been looked at: what it is called from now on is not the client's name for it. */
  isModelChecked: boolean
  /** Some level says which models it may use. */
  readonly isRestricted: boolean
  /** Those of them that are no patterns, and that all levels allow. */
  readonly modelNames: readonly string[]
  /** Some level has a budget: calls are to be reserved. */
  readonly hasBudget: boolean
  /**
   * Before an attempt is sent: sets aside what it costs at most, in every budget. `picos`: null where that is not
   * known.
   * A promise where the books are kept elsewhere.
   */
  reserve(picos: number | null): AccountRefusal | null | Promise<AccountRefusal | null>
  /** What the attempt has cost. Asked again, it corrects what was said before; asked without a reservation, it adds. */
  settle(picos: number): void
  /** What is set aside; null: nothing is. */
  readonly reserved: number | null
}

/** Set by the policy that has found the key. */
export const KEY_USE = new Slot<KeyUse>()

export interface CallOptions {
  /** Calls whose price is not known, of keys with a budget, are let pass; nothing is set aside for them. */
  readonly allowsUnknownPrice: boolean
  /** Gets what clients are told, also of a refusal. */
  readonly quotas: AccountQuota[]
}

/** A key of the configuration, or one that was made by the API. */
export interface Key {
  readonly name: string
  /** What expressions read as `apiKey`. */
  readonly claims: Claims
  /** It is valid wherever keys are asked for; otherwise where the policy stands that has it. */
  readonly isGlobal: boolean
  /** KEY_EXPIRED, KEY_REVOKED; null: it may be used now. */
  readonly refusal: (nowMs: number) => ErrorCode | null
  /**
   * Counts a request, and sets KEY_USE of `ex`; what it holds is given back when the exchange is over. A promise where
   * limits are kept elsewhere.
   */
  readonly begin: (ex: Exchange, as: CallOptions) => AccountRefusal | null | Promise<AccountRefusal | null>
}

export interface Accounts {
  /** `shown`: by a client, as latin1. Undefined: it is no key that is known. How long it takes tells of no key. */
  find(shown: string): Key | undefined
  /** How many keys there are. */
  readonly size: number
  /** False: keys are kept elsewhere and have not come yet, so one that is not known may be one. */
  readonly isComplete: boolean
}

/** For configurations that are checked and never run. */
export const NO_ACCOUNTS: Accounts = { find: () => undefined, size: 0, isComplete: true }

/** Hears how the server of config.state.url does, as a worker sees it. */
export interface StateWatch {
  /** It is reached, or is away. */
  connected(isUp: boolean): void
  /** It has answered a batch of operations after so many seconds. */
  answered(seconds: number): void
  /** A batch has had no answer: it broke off, or none that can be used came. */
  failed(): void
  /** It was away, and a call that has to be counted there was let pass (failureMode open), or refused. */
  uncounted(outcome: 'passed' | 'refused'): void
}
