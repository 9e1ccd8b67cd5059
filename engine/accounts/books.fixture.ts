/** A thread that makes calls against one budget, for tests: what it was let spend. */
import { parentPort, workerData } from 'node:worker_threads'
import { xorshift32 } from '#engine/kit/random.ts'
import { Books, type BooksMemory } from './books.ts'

export interface SpendingWork {
  readonly memory: BooksMemory
  readonly worker: number
  readonly place: number
  readonly seed: number
  readonly calls: number
  /** Calls at a time. */
  readonly open: number
  /** What a call may cost at most. */
  readonly bound: number
}

const { memory, worker, place, seed, calls, open, bound } = workerData as SpendingWork
const port = parentPort!

port.on('message', () => {
  const books = new Books(memory)
  const random = xorshift32(seed)
  const amount = () => BigInt(Math.floor(random() * bound) + 1)
  let spent = 0n
  let largest = 0n
  let admitted = 0
  const running: { readonly row: number; readonly taken: bigint; readonly limit: bigint; readonly cost: bigint }[] = []
  const settle = (): void => {
    const [call] = running.splice(Math.floor(random() * running.length), 1)
    books.settle(call!.row, call!.taken, call!.limit, call!.cost, worker)
  }
  for (let i = 0; i < calls; i++) {
    const limit = amount()
    const row = books.rowOf(place)
    const taken = books.reserve(row, limit, worker)
    if (taken >= 0n) {
      // It costs what it may at most, or less.
      const cost = random() < 0.5 ? limit : BigInt(Math.floor(random() * Number(limit)))
      running.push({ row, taken, limit, cost })
      spent += cost
      admitted++
      if (cost > largest) largest = cost
    }
    if (running.length >= open || (running.length > 0 && random() < 0.5)) settle()
  }
  while (running.length > 0) settle()
  port.postMessage({ spent, largest, admitted })
  port.close()
})
port.postMessage('ready')
