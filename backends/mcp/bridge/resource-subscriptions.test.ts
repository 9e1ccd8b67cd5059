/** Several that follow one resource of a session with a server. */
import { deepEqual, equal } from 'node:assert/strict'
import { test } from 'node:test'
import { ResourceSubscriptions } from './resource-subscriptions.ts'

/** A server that is asked, and answers when the test says so. */
class FakeServer {
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
  const [following, server, outcomes] = [new ResourceSubscriptions(), new FakeServer(), [] as boolean[]]
  const follow = () => following.subscribe(URI, server.subscribe, (agreed) => void outcomes.push(agreed))
  const unfollow = () => following.unsubscribe(URI, server.unsubscribe)
  return { server, outcomes, follow, unfollow }
}

test("a second follower gets the server's answer to the first, and not before it", () => {
  const { server, outcomes, follow } = rig()
  follow()
  follow()
  deepEqual(outcomes, [])
  server.answer(false)
  deepEqual(outcomes, [false, false])
  // Nobody is counted: the next one asks anew.
  follow()
  server.answer(true)
  deepEqual(
    [outcomes, server.methods],
    [
      [false, false, true],
      ['subscribe', 'subscribe']
    ]
  )
})

test('one subscription serves all, until the last has left', () => {
  const { server, outcomes, follow, unfollow } = rig()
  follow()
  server.answer(true)
  follow()
  deepEqual(outcomes, [true, true])
  unfollow()
  deepEqual(server.methods, ['subscribe'])
  unfollow()
  deepEqual(server.methods, ['subscribe', 'unsubscribe'])
})

test('a follower that leaves early is unsubscribed after the answer, unless another one stays', () => {
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

test('a follower that comes during the unsubscription is subscribed after it', () => {
  const { server, outcomes, follow, unfollow } = rig()
  follow()
  server.answer(true)
  unfollow()
  follow()
  deepEqual([outcomes, server.methods], [[true], ['subscribe', 'unsubscribe']])
  server.answer(true)
  server.answer(true)
  deepEqual(
    [outcomes, server.methods],
    [
      [true, true],
      ['subscribe', 'unsubscribe', 'subscribe']
    ]
  )
})
