/**
 * What a worker asks of the server that keeps the books of several replicas: operations, in the order of their numbers.
 * The same JSON goes to Redis (redis/script.ts) and to PostgreSQL (postgres/functions.ts), and model.fixture.ts says in
 * TypeScript what both have to do. Amounts are nanos as decimal text, since numbers of Lua lose digits; times are
 * milliseconds since 1970 by the server's clock.
 *
 * A writer is a worker thread: it has a name that nobody had before, and numbers its operations from 1 on. The server
 * remembers the last number of each writer and leaves out what is not above it. So what may not have arrived is sent
 * again and counts once, and what arrives late behind that counts never.
 */
import type { OwnedObjects } from '#engine/contract/object-owners.ts'

/** A budget and its period as the writer sees them. */
export type Part = readonly [
  /** engine/accounts/budget-id.ts */
  id: string,
  limit: string,
  start: number,
  end: number,
  /** Milliseconds of a rolling budget, and of one of its parts; 0: it is of the calendar. */
  rolling: number,
  unit: number
]

/** A bucket that holds `capacity` tokens at first, and gets `amount` every `unit` milliseconds. */
export type Bucket = readonly [id: string, capacity: number, amount: number, unit: number, take: number]

/** Counts requests: in buckets, and as under way. All of them or none. */
export type Begin = readonly ['begin', n: number, accounts: readonly (readonly [string, number])[], readonly Bucket[]]
/** Sets aside in all budgets or in none. `short` parts: a call that does not fit gets what is left, one at a time. */
export type Reserve = readonly ['reserve', n: number, bound: string, parts: readonly Part[]]
/** Requests are under way no more. */
export type End = readonly ['end', n: number, accounts: readonly string[]]
/** What a call has cost, by the number of its reservation; where the server has none, in `parts`. */
export type Settle = readonly ['settle', n: number, call: number, cost: string, parts: readonly Part[]]
/** What was settled is more or less by so much. */
export type Correct = readonly ['correct', n: number, difference: string, parts: readonly Part[]]
/** Takes tokens whether they are there or not. */
export type Charge = readonly ['charge', n: number, buckets: readonly Bucket[]]

/** What has happened already: it is sent until the server has it. */
export type Fact = End | Settle | Correct | Charge
export type Operation = Begin | Reserve | Fact

export type BeginAnswer =
  /** Per bucket: tokens left, milliseconds until more come. */
  | readonly [1, left: readonly number[], waitMs: readonly number[]]
  /** By the account or the bucket at `index`. */
  | readonly [0, by: 'account' | 'bucket', index: number, waitMs: number]

export type ReserveAnswer =
  | readonly [1, taken: readonly string[]]
  /** By the part at `index`. */
  | readonly [0, index: number, spent: string, end: number]
  /** The period of a part is not the one that the server's clock shows. */
  | readonly [2]

/** Null: what needs no answer, or was left out. */
export type Answer = BeginAnswer | ReserveAnswer | null

export interface Applied {
  readonly now: number
  /** The writer was not known as living: what it had under way is not counted any more. */
  readonly fresh: boolean
  readonly answers: readonly Answer[]
}

export interface BudgetState {
  readonly used: bigint
  readonly spent: bigint
  readonly end: number
}

/** One connection. Methods reject when it is lost; then it is of no more use. */
export interface Connection {
  /** For the log: product, version, how it writes to its disk. */
  readonly about: string
  /** What in its settings takes something from what docs/keys.md promises. */
  readonly warnings: readonly string[]
  /** How many batches may be on their way at a time. */
  readonly batchesMax: number
  /** The last number that the server has of the writer. */
  last(writer: string): Promise<number>
  /** `behind`: the number of the last operation that was sent before; rejects where the server does not have it. */
  apply(writer: string, behind: number, operations: readonly Operation[]): Promise<Applied>
  /**
   * Ends writers that have not been heard of for `deadMs`: what they had set aside is spent, what they had under way is
   * over. How many calls that were.
   */
  reap(deadMs: number): Promise<number>
  /** In the order of `ids`; null: nothing is spent or set aside. */
  budgets(ids: readonly string[]): Promise<readonly (BudgetState | null)[]>
  /** Changes with every key. */
  keysVersion(): Promise<string>
  /** Name -> what `changeKey` was last told. */
  keys(): Promise<ReadonlyMap<string, string>>
  /** False: it is not `before` any more. Null: there is none. */
  changeKey(name: string, before: string | null, after: string | null): Promise<boolean>
  /** Whose the objects of providers are. Absent: this server keeps none. */
  readonly objects?: ObjectTable
  close(): Promise<void>
}

/** `now`: milliseconds since 1970. Methods reject when the connection is lost, or has had no answer in time. */
export interface ObjectTable {
  note(holder: string, objects: readonly string[], now: number): Promise<void>
  forget(holder: string, object: string): Promise<void>
  owned(holder: string, objects: readonly string[], now: number): Promise<OwnedObjects>
}

export const KEPT_MS = 62 * 86_400_000
