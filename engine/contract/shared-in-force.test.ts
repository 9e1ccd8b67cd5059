/** How long configurations share something. */
import { deepEqual, equal, notEqual } from 'node:assert/strict'
import { test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { SharedInForce } from './shared-in-force.ts'

class Account {
  abandoned = 0

  abandon(): void {
    this.abandoned++
  }
}

const make = () => new Account()

test('a hundred reloads: what the next configuration uses stays, the rest is given up and forgotten', () => {
  const shared = new SharedInForce<Account>()
  const common = shared.share('common', make)
  common.use.begin()
  let last = common
  let own: Account[] = []
  let end = (): void => {}
  for (let i = 0; i < 100; i++) {
    const [next, other] = [shared.share('common', make), shared.share(`${i}`, make)]
    equal(next.value, common.value)
    for (const { use } of [next, other]) use.begin()
    last.use.end()
    end()
    end = () => other.use.end()
    last = next
    own = [...own, other.value]
  }
  deepEqual([shared.size, common.value.abandoned], [2, 0])
  end()
  last.use.end()
  deepEqual([shared.size, common.value.abandoned], [0, 1])
  deepEqual(
    own.map(({ abandoned }) => abandoned),
    own.map(() => 1)
  )
  notEqual(shared.share('common', make).value, common.value)
})

test('two users in one configuration share it, and the last of them ends it', () => {
  const shared = new SharedInForce<Account>()
  const [one, other] = [shared.share('a', make), shared.share('a', make)]
  equal(one.value, other.value)
  one.use.begin()
  other.use.begin()
  one.use.end()
  deepEqual([shared.size, one.value.abandoned], [1, 0])
  other.use.end()
  deepEqual([shared.size, one.value.abandoned], [0, 1])
})

test('configurations that are never put in force leave nothing', async () => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const shared = new SharedInForce<Account>()
  for (let i = 0; i < 100; i++) shared.share(`${i}`, make)
  const { use } = shared.share('used', make)
  use.begin()
  // The garbage collector tells of what it has found in a turn of its own.
  for (let i = 0; i < 50 && shared.size > 1; i++) {
    await new Promise((resolve) => setImmediate(resolve))
    collect()
  }
  equal(shared.size, 1)
})
