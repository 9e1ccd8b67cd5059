/** Random histories of several writers, for the model and for real servers: what holds behind every step. */
import { equal, ok } from 'node:assert/strict'
import fc from 'fast-check'
import type { Operation, Part, ReserveAnswer } from './operations.ts'

/** One step of a history. Writers and budgets by number; `bound` and `cost` in nanos. */
export type Step =
  | { readonly kind: 'reserve'; readonly writer: number; readonly budgets: readonly number[]; readonly bound: number }
  /** Of the writer's open calls the one with this number, modulo how many there are. */
  | { readonly kind: 'settle'; readonly writer: number; readonly which: number; readonly cost: number }
  /** The last operation of the writer arrives a second time. */
  | { readonly kind: 'again'; readonly writer: number }
  /** All writers that live are taken for dead. */
  | { readonly kind: 'reap' }

export const LIMITS = [1_000, 700, 5_000] as const
const WRITERS = 3
const BOUND_MAX = 900

const writer = fc.nat(WRITERS - 1)
export const histories = fc.array(
  fc.oneof(
    {
      weight: 5,
      arbitrary: fc.record({
        kind: fc.constant('reserve' as const),
        writer,
        budgets: fc.subarray([0, 1, 2], { minLength: 1 }),
        bound: fc.integer({ min: 0, max: BOUND_MAX })
      })
    },
    {
      weight: 5,
      arbitrary: fc.record({
        kind: fc.constant('settle' as const),
        writer,
        which: fc.nat(20),
        cost: fc.integer({ min: 0, max: BOUND_MAX })
      })
    },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('again' as const), writer }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('reap' as const) }) }
  ),
  { maxLength: 60 }
)

interface OpenCall {
  readonly number: number
  readonly parts: readonly Part[]
  readonly taken: readonly bigint[]
  readonly bound: bigint
  /** What it counts as, since its writer was taken for dead. */
  isDead: boolean
}

export interface BookServer {
  apply(writer: string, behind: number, operations: readonly Operation[]): Promise<{ answers: readonly unknown[] }>
  reap(deadMs: number): Promise<unknown>
  budgets(ids: readonly string[]): Promise<readonly ({ readonly used: bigint; readonly spent: bigint } | null)[]>
}

/** Runs `steps`; throws where the books are not what the history says. `name`: nobody used it before. */
export async function run(server: BookServer, steps: readonly Step[], name: string): Promise<void> {
  const ids = LIMITS.map((_, i) => `key/${name}-${i} Total`)
  const parts = ids.map((id, i): Part => [id, String(LIMITS[i]), 0, 8.64e15, 0, 0])
  const writers = Array.from({ length: WRITERS }, (_, i) => ({
    name: `${name}-${i}`,
    number: 0,
    open: [] as OpenCall[],
    last: null as Operation | null
  }))
  const spent = LIMITS.map(() => 0n)
  // Calls that are settled after their writer was taken for dead overdraw by themselves.
  const isQuiet = !steps.some(({ kind }) => kind === 'reap')
  for (const step of steps) {
    if (step.kind === 'reap') {
      await server.reap(-1)
      for (const { open } of writers) {
        for (const call of open.filter(({ isDead }) => !isDead)) {
          call.isDead = true
          for (const [i, part] of call.parts.entries()) spent[ids.indexOf(part[0])]! += call.taken[i]!
        }
      }
    } else {
      const one = writers[step.writer]!
      if (step.kind === 'again') {
        if (one.last !== null) equal((await server.apply(one.name, 0, [one.last])).answers[0] ?? null, null)
      } else if (step.kind === 'reserve') {
        const wanted = step.budgets.map((i) => parts[i]!)
        one.last = ['reserve', ++one.number, String(step.bound), wanted]
        const { answers } = await server.apply(one.name, one.number - 1, [one.last])
        const answer = answers[0] as ReserveAnswer
        if (answer[0] === 1) {
          const taken = answer[1].map(BigInt)
          ok(taken.every((amount) => amount <= BigInt(step.bound)))
          one.open.push({ number: one.number, parts: wanted, taken, bound: BigInt(step.bound), isDead: false })
        }
      } else if (one.open.length > 0) {
        const [call] = one.open.splice(step.which % one.open.length, 1) as [OpenCall]
        // No call costs more than was asked for: that is what the promise is for.
        const cost = BigInt(step.cost) < call.bound ? BigInt(step.cost) : call.bound
        one.last = ['settle', ++one.number, call.number, String(cost), call.parts]
        await server.apply(one.name, one.number - 1, [one.last])
        for (const [i, part] of call.parts.entries())
          spent[ids.indexOf(part[0])]! += call.isDead ? cost - call.taken[i]! : cost
      }
    }
    const states = await server.budgets(ids)
    for (const [i, state] of states.entries()) {
      const open = writers.flatMap(({ open: calls }) => calls.filter(({ isDead }) => !isDead))
      const held = open.reduce((sum, call) => {
        const at = call.parts.findIndex(([id]) => id === ids[i])
        return at < 0 ? sum : sum + call.taken[at]!
      }, 0n)
      equal(state?.spent ?? 0n, spent[i])
      equal(state?.used ?? 0n, spent[i]! + held)
      // One call at a time may cost more than was left, and no more than its bound.
      if (isQuiet) ok((state?.used ?? 0n) < BigInt(LIMITS[i]! + BOUND_MAX))
    }
  }
}
