/** A process that writes calls down until it is killed; it tells how many it has answered. */
import { JournalWriter } from './writer.ts'

const journal = new JournalWriter({ folder: process.argv[2]!, name: `boot${process.pid}-0-1`, fsync: 'no' }, () => {})
const parts = [{ row: 1, taken: 3n, budget: { id: 'key/alice Month UTC -' }, start: 5 }]
let answered = 0

const turn = (): void => {
  for (let i = 0; i < 20; i++) {
    const call = journal.reserve(Date.now(), parts)
    journal.settle(call, Date.now(), 1n, parts)
    answered++
  }
  process.send!({ answered }, () => setImmediate(turn))
}
turn()
