/** A process that keeps batches of 100 records until it is killed; it tells how many it has kept. */
import { row } from './rows.fixture.ts'
import { SpendStore } from './store.ts'

const store = await SpendStore.open({ path: process.argv[2]!, recordsMaxAgeMs: 1e9, sumsMaxAgeMs: 1e9, bytesMax: 1e9 })
let kept = 0
const turn = (): void => {
  store.append(Array.from({ length: 100 }, () => row()))
  process.send!(++kept, () => setImmediate(turn))
}
turn()
