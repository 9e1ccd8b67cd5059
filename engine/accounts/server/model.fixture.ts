/**
 * What the servers do with operations, in TypeScript: the model that Redis and PostgreSQL are compared with, and a
 * server for tests that need none of them. Nothing happens between two lines of it, as in their scripts.
 */
import type {
  Answer,
  Applied,
  Begin,
  Bucket,
  BudgetState,
  Connection,
  Operation,
  Part,
  Reserve,
  Settle
} from './operations.ts'

const FOR_EVER = 8.64e15

interface Budget {
  start: number
  end: number
  used: bigint
  spent: bigint
  short: string
  readonly parts: Map<number, bigint>
}

interface Noted {
  readonly id: string
  readonly start: number
  readonly end: number
  readonly taken: bigint
  readonly unit: number
}

interface Writer {
  last: number
  heard: number
  isAlive: boolean
  readonly open: Map<number, readonly Noted[]>
  readonly dead: Map<number, readonly Noted[]>
  readonly underWay: Map<string, number>
}

export class ModelServer {
  /** Milliseconds since 1970 by the server's clock. */
  now: number
  readonly keys = new Map<string, string>()
  #version = 0
  readonly #budgets = new Map<string, Budget>()
  readonly #buckets = new Map<string, { level: number; at: number }>()
  readonly #writers = new Map<string, Writer>()
  readonly #connections = new Set<(error: Error) => void>()
  /** Nobody gets a connection. */
  isDown = false
  /** Of the next batches: they are applied, and their answers are lost with the connection. */
  lostAnswers = 0
  /** Batches so far. */
  batches = 0

  constructor(now: number) {
    this.now = now
  }

  /** As connectTo. */
  readonly connect = async (lost: (error: Error) => void): Promise<Connection> => {
    if (this.isDown) throw new Error('connect ECONNREFUSED')
    this.#connections.add(lost)
    return this.#connection(lost)
  }

  /** All connections break. */
  cut(): void {
    const all = [...this.#connections]
    this.#connections.clear()
    for (const lost of all) lost(new Error('read ECONNRESET'))
  }

  #connection(lost: (error: Error) => void): Connection {
    const isOpen = () => this.#connections.has(lost)
    const answer = async <T>(act: () => T): Promise<T> => {
      if (!isOpen()) throw new Error('the connection is closed')
      const made = act()
      // As over a network: later, and not when it has broken meanwhile.
      await new Promise((resolve) => setImmediate(resolve))
      if (!isOpen()) throw new Error('the connection is closed')
      return made
    }
    return {
      ...{ about: 'the model', warnings: [], batchesMax: 4 },
      last: (writer) => answer(() => this.#writers.get(writer)?.last ?? 0),
      apply: (writer, behind, operations) =>
        answer(() => {
          const applied = this.apply(writer, behind, operations)
          this.batches++
          if (this.lostAnswers > 0) {
            this.lostAnswers--
            this.cut()
          }
          return applied
        }),
      reap: (deadMs) => answer(() => this.reap(deadMs)),
      budgets: (ids) => answer(() => ids.map((id) => this.budget(id))),
      keysVersion: () => answer(() => String(this.#version)),
      keys: () => answer(() => new Map(this.keys)),
      changeKey: (name, before, after) => answer(() => this.#changeKey(name, before, after)),
      close: async () => void this.#connections.delete(lost)
    }
  }

  budget(id: string): BudgetState | null {
    const budget = this.#budgets.get(id)
    return budget === undefined ? null : { used: budget.used, spent: budget.spent, end: budget.end }
  }

  underWay(account: string): number {
    return [...this.#writers.values()].reduce((sum, { underWay }) => sum + (underWay.get(account) ?? 0), 0)
  }

  apply(name: string, behind: number, operations: readonly Operation[]): Applied {
    const fresh = this.#writers.get(name)?.isAlive !== true
    const writer = this.#writers.get(name) ?? {
      ...{ last: 0, heard: 0, isAlive: true },
      ...{ open: new Map(), dead: new Map(), underWay: new Map() }
    }
    if (writer.last < behind) throw new Error('an earlier batch of this writer is missing')
    this.#writers.set(name, writer)
    writer.heard = this.now
    writer.isAlive = true
    const answers = operations.map((operation): Answer => {
      if (operation[1] <= writer.last) return null
      writer.last = operation[1]
      return this.#act(name, writer, operation)
    })
    return { now: this.now, fresh, answers }
  }

  #act(name: string, writer: Writer, operation: Operation): Answer {
    const [kind] = operation
    if (kind === 'begin') return this.#begin(writer, operation)
    if (kind === 'reserve') return this.#reserve(name, writer, operation)
    if (kind === 'end') for (const account of operation[2]) this.#end(writer, account)
    else if (kind === 'settle') this.#settle(name, writer, operation)
    else if (kind === 'correct') this.#addAll(operation[3], BigInt(operation[2]))
    else for (const bucket of operation[2]) this.#take(bucket, -(2 ** 31))
    return null
  }

  reap(deadMs: number): number {
    let calls = 0
    for (const [name, writer] of this.#writers) {
      if (!writer.isAlive || writer.heard > this.now - deadMs) continue
      writer.isAlive = false
      writer.underWay.clear()
      for (const [number, notes] of writer.open) {
        calls++
        writer.dead.set(number, notes)
        for (const { id, start, end, taken, unit } of notes) {
          const budget = this.#former(id, start, end)
          if (budget === null) continue
          this.#add(budget, 0n, taken, unit)
          if (budget.short === `${name} ${number}`) budget.short = ''
        }
      }
      writer.open.clear()
    }
    return calls
  }

  // --- budgets ---

  #start(id: string, start: number, end: number): Budget {
    const budget = { start, end, used: 0n, spent: 0n, short: '', parts: new Map<number, bigint>() }
    this.#budgets.set(id, budget)
    return budget
  }

  #add(budget: Budget, used: bigint, spent: bigint, unit: number): void {
    budget.used += used
    budget.spent += spent
    if (unit === 0) return
    const part = Math.floor(this.now / unit) * unit
    budget.parts.set(part, (budget.parts.get(part) ?? 0n) + spent)
  }

  #current([id, , start, end, rolling, unit]: Part): Budget | null {
    const known = this.#budgets.get(id)
    if (rolling > 0) {
      if (known === undefined) return this.#start(id, 0, FOR_EVER)
      for (const [part, amount] of known.parts) {
        if (part + unit + rolling > this.now) continue
        known.parts.delete(part)
        this.#add(known, -amount, -amount, 0)
      }
      return known
    }
    if (known !== undefined && this.now < known.end) return known
    return this.now < start || this.now >= end ? null : this.#start(id, start, end)
  }

  #former(id: string, start: number, end: number): Budget | null {
    const known = this.#budgets.get(id)
    if (known === undefined || known.start < start) return this.now >= end ? null : this.#start(id, start, end)
    return known.start === start ? known : null
  }

  #reserve(name: string, writer: Writer, [, number, text, parts]: Reserve): Answer {
    const bound = BigInt(text)
    const found: { readonly budget: Budget; readonly note: Noted; readonly isShort: boolean }[] = []
    for (const [i, part] of parts.entries()) {
      const budget = this.#current(part)
      if (budget === null) return [2]
      const left = BigInt(part[1]) - budget.used
      const isShort = left < bound
      if (isShort && (left <= 0n || budget.short !== '')) return [0, i, String(budget.spent), budget.end]
      const { start, end } = budget
      found.push({ budget, note: { id: part[0], start, end, taken: isShort ? left : bound, unit: part[5] }, isShort })
    }
    for (const { budget, note, isShort } of found) {
      this.#add(budget, note.taken, 0n, 0)
      if (isShort) budget.short = `${name} ${number}`
    }
    writer.open.set(
      number,
      found.map(({ note }) => note)
    )
    return [1, found.map(({ note }) => String(note.taken))]
  }

  #settle(name: string, writer: Writer, [, , call, text, parts]: Settle): void {
    const cost = BigInt(text)
    const [open, dead] = [writer.open.get(call), writer.dead.get(call)]
    writer.open.delete(call)
    writer.dead.delete(call)
    for (const { id, start, end, taken, unit } of open ?? dead ?? []) {
      const budget = this.#former(id, start, end)
      if (budget === null) continue
      this.#add(budget, cost - taken, open === undefined ? cost - taken : cost, unit)
      if (budget.short === `${name} ${call}`) budget.short = ''
    }
    if (open === undefined && dead === undefined && cost !== 0n) this.#addAll(parts, cost)
  }

  #addAll(parts: readonly Part[], amount: bigint): void {
    for (const [id, , start, end, rolling, unit] of parts) {
      const budget = rolling > 0 ? this.#former(id, 0, FOR_EVER) : this.#former(id, start, end)
      if (budget !== null) this.#add(budget, amount, amount, unit)
    }
  }

  // --- limits ---

  #filled([id, capacity, amount, unit]: Bucket): { level: number; at: number } {
    const known = this.#buckets.get(id) ?? { level: capacity, at: this.now }
    const periods = Math.floor((this.now - known.at) / unit)
    if (periods <= 0) return known
    return { level: Math.min(capacity, known.level + periods * amount), at: known.at + periods * unit }
  }

  #take(bucket: Bucket, least: number): number {
    const { level, at } = this.#filled(bucket)
    const left = Math.max(level - bucket[4], least)
    this.#buckets.set(bucket[0], { level: left, at })
    return left
  }

  #wait(bucket: Bucket, need: number): number {
    const { level, at } = this.#filled(bucket)
    return Math.max(0, at + Math.max(1, Math.ceil((need - level) / bucket[2])) * bucket[3] - this.now)
  }

  #begin(writer: Writer, [, , accounts, buckets]: Begin): Answer {
    const full = accounts.findIndex(([account, max]) => this.underWay(account) >= max)
    if (full >= 0) return [0, 'account', full, 0]
    const empty = buckets.findIndex((bucket) => this.#filled(bucket).level < 1)
    if (empty >= 0) return [0, 'bucket', empty, this.#wait(buckets[empty]!, 1)]
    const waits = buckets.map((bucket) => this.#wait(bucket, 0))
    const left = buckets.map((bucket) => this.#take(bucket, -Infinity))
    for (const [account] of accounts) writer.underWay.set(account, (writer.underWay.get(account) ?? 0) + 1)
    return [1, left, waits]
  }

  #end({ underWay }: Writer, account: string): void {
    const count = underWay.get(account) ?? 0
    if (count > 0) underWay.set(account, count - 1)
  }

  #changeKey(name: string, before: string | null, after: string | null): boolean {
    if ((this.keys.get(name) ?? null) !== before) return false
    if (after === null) this.keys.delete(name)
    else this.keys.set(name, after)
    this.#version++
    return true
  }
}
