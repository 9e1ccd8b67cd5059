/** Several that follow one resource of a session with a server. */
import { deepEqual, equal } from 'node:assert/strict'
import { test } from 'node:test'
import { ResourceSubscriptions } from './resource-subscriptions.ts'

/** A server that is asked, and answers when the test says so. */
class Asked {
  readonly methods: string[] = []
  #done: ((agreed: boolean) => void) | null = null
  readonly subscribe = (done: (agreed: boolean) => void): void => this.#ask('subscribe', done)
  readonly unsubscribe = (done: (agreed: boolean) => void): void => this.#ask('unsubscribe', done)

  #ask(method: string, done: (agreed: boolean) => void): void {
    equal(this.#done, null, 'one question at a time')
    this.methods.push(method)
    this.#done = done
  }

  answer(agreed: boolean): void {
    const done = this.#done!
    this.#done = null
    done(agreed)
  }
}

const URI = 'note://all'

function rig() {
  const [following, server, told] = [new ResourceSubscriptions(), new Asked(), [] as boolean[]]
  const follow = () => following.subscribe(URI, server.subscribe, (agreed) => void told.push(agreed))
  const unfollow = () => following.unsubscribe(URI, server.unsubscribe)
  return { server, told, follow, unfollow }
}

test('a second follower is told what the server says to the first, and not before', () => {
  const { server, told, follow } = rig()
  follow()
  follow()
  deepEqual(told, [])
  server.answer(false)
  deepEqual(told, [false, false])
  // Nobody is counted: the next one asks anew.
  follow()
  server.answer(true)
  deepEqual(
    [told, server.methods],
    [
      [false, false, true],
      ['subscribe', 'subscribe']
    ]
  )
})

test('one subscription serves all, until the last has left', () => {
  const { server, told, follow, unfollow } = rig()
  follow()
  server.answer(true)
  follow()
  deepEqual(told, [true, true])
  unfollow()
  deepEqual(server.methods, ['subscribe'])
  unfollow()
  deepEqual(server.methods, ['subscribe', 'unsubscribe'])
})

test('who leaves before the answer is left behind it, unless another one stays', () => {
  const { server, follow, unfollow } = rig()
  follow()
  unfollow()
  deepEqual(server.methods, ['subscribe'])
  server.answer(true)
  deepEqual(server.methods, ['subscribe', 'unsubscribe'])
  server.answer(true)
  follow()
  follow()
  unfollow()
  server.answer(true)
  deepEqual(server.methods, ['subscribe', 'unsubscribe', 'subscribe'])
})

test('who comes while the last one leaves is subscribed behind that', () => {
  const { server, told, follow, unfollow } = rig()
  follow()
  server.answer(true)
  unfollow()
  follow()
  deepEqual([told, server.methods], [[true], ['subscribe', 'unsubscribe']])
  server.answer(true)
  server.answer(true)
  deepEqual(
    [told, server.methods],
    [
      [true, true],
      ['subscribe', 'unsubscribe', 'subscribe']
    ]
  )
})
