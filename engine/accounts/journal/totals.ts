/** What records of the journal add up to: how much of each budget is spent in its latest period, and open calls. */

import { rollingMsOf } from '#engine/accounts/budget-id.ts'
import { partMs } from '#engine/accounts/periods.ts'
import type { JournalRecord } from './records.ts'

/** How long a budget is remembered behind its last change: one of a month that nobody has used for two. */
const FORGOTTEN_MS = 62 * 86_400_000

export interface Total {
  /** Begin of the period, in milliseconds since 1970. */
  start: number
  spent: bigint
  /** When it last changed. */
  at: number
  /** Of a rolling budget: begin of a part -> what was spent in it. */
  readonly parts: Map<number, bigint> | null
}

interface OpenCall {
  readonly at: number
  readonly parts: readonly { readonly id: string; readonly start: number; readonly taken: bigint }[]
}

/** As a checkpoint has them: amounts as text, since JSON has no such numbers. */
export interface TotalsText {
  readonly budgets: readonly (readonly [
    id: string,
    start: number,
    spent: string,
    at: number,
    parts: readonly (readonly [number, string])[] | null
  ])[]
  readonly open: readonly (readonly [
    name: string,
    call: number,
    at: number,
    parts: readonly (readonly [string, number, string])[]
  ])[]
}

export class Totals {
  readonly budgets = new Map<string, Total>()
  /** By the writer's name, then by the number of the call. */
  readonly #open = new Map<string, Map<number, OpenCall>>()

  /** Records of one segment of the writer `name`, in order; segments of one writer in theirs. */
  fold(name: string, records: readonly JournalRecord[]): void {
    const known = new Map<number, { readonly id: string; readonly start: number }>()
    const open = this.#open.get(name) ?? new Map<number, OpenCall>()
    this.#open.set(name, open)
    for (const record of records) {
      if (record.kind === 'budget') known.set(record.number, record)
      else if (record.kind === 'reserve') {
        const parts = record.parts.flatMap(({ number, taken }) => {
          const budget = known.get(number)
          return budget === undefined ? [] : [{ id: budget.id, start: budget.start, taken }]
        })
        open.set(record.call, { at: record.at, parts })
      } else {
        open.delete(record.call)
        for (const number of record.numbers) {
          const budget = known.get(number)
          if (budget !== undefined) this.add(budget.id, budget.start, record.at, record.cost)
        }
      }
    }
  }

  /** `name` writes no more: what its calls had set aside is spent. Returns how many there were. */
  end(name: string): number {
    const open = this.#open.get(name)
    this.#open.delete(name)
    for (const { at, parts } of open?.values() ?? []) {
      for (const { id, start, taken } of parts) this.add(id, start, at, taken)
    }
    return open?.size ?? 0
  }

  get writers(): readonly string[] {
    return [...this.#open.keys()]
  }

  /** What was spent in a period before the latest one counts no more. */
  add(id: string, start: number, at: number, amount: bigint): void {
    const total = this.budgets.get(id)
    if (total !== undefined && total.start > start) return
    const rollingMs = rollingMsOf(id)
    if (total === undefined || total.start < start) {
      const parts = rollingMs === null ? null : new Map([[partOf(rollingMs, at), amount]])
      this.budgets.set(id, { start, spent: amount, at, parts })
      return
    }
    total.spent += amount
    total.at = Math.max(total.at, at)
    if (rollingMs === null || total.parts === null) return
    const part = partOf(rollingMs, at)
    total.parts.set(part, (total.parts.get(part) ?? 0n) + amount)
  }

  /** Takes out of rolling budgets what is old enough, and forgets budgets that nobody has used for long. */
  age(now: number): void {
    for (const [id, total] of this.budgets) {
      const rollingMs = rollingMsOf(id)
      for (const [part, amount] of total.parts ?? []) {
        if (part + partMs(rollingMs!) + rollingMs! > now) continue
        total.parts!.delete(part)
        total.spent -= amount
      }
      // What may be spent once and for all is never forgotten.
      if (now - total.at > FORGOTTEN_MS && !id.endsWith(' Total')) this.budgets.delete(id)
    }
  }

  get text(): TotalsText {
    return {
      budgets: [...this.budgets].map(([id, { start, spent, at, parts }]) => {
        const texts = parts === null ? null : [...parts].map(([part, amount]) => [part, String(amount)] as const)
        return [id, start, String(spent), at, texts] as const
      }),
      open: [...this.#open].flatMap(([name, calls]) =>
        [...calls].map(([call, { at, parts }]) => {
          const texts = parts.map(({ id, start, taken }) => [id, start, String(taken)] as const)
          return [name, call, at, texts] as const
        })
      )
    }
  }

  static from({ budgets, open }: TotalsText): Totals {
    const totals = new Totals()
    for (const [id, start, spent, at, texts] of budgets) {
      const parts = texts === null ? null : new Map(texts.map(([part, amount]) => [part, BigInt(amount)]))
      totals.budgets.set(id, { start, spent: BigInt(spent), at, parts })
    }
    for (const [name, call, at, texts] of open) {
      const calls = totals.#open.get(name) ?? new Map<number, OpenCall>()
      totals.#open.set(name, calls)
      calls.set(call, { at, parts: texts.map(([id, start, taken]) => ({ id, start, taken: BigInt(taken) })) })
    }
    return totals
  }
}

/** The part in which `at` is. */
export function partOf(rollingMs: number, at: number): number {
  const unit = partMs(rollingMs)
  return Math.floor(at / unit) * unit
}
