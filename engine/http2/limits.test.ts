import { equal } from 'node:assert/strict'
import { test } from 'node:test'
import { Allowance } from './allowance.ts'
import { FLOW_CONTROL_ERROR, NO_ERROR, PROTOCOL_ERROR } from './protocol.ts'
import { ReceiveWindow } from './receive-window.ts'
import { PeerSettings } from './settings.ts'

test('an allowance is used up, and comes back with time and with work', () => {
  const allowance = new Allowance(10, 5, 0)
  const spend = (now: number) => {
    let count = 0
    while (allowance.spend(now)) count++
    return count
  }
  equal(spend(0), 10)
  equal(spend(0), 0)
  allowance.earn(3)
  equal(spend(0), 3)
  equal(spend(60_000), 10, 'never more than it holds')
})

test('a window is given back by halves', () => {
  const window = new ReceiveWindow(100)
  equal(window.receive(51), true)
  equal(window.release(48), 0)
  equal(window.release(2), 50)
  equal(window.receive(99), true)
  equal(window.receive(1), false)
})

test('the rest of a shared window is always granted again', () => {
  const window = new ReceiveWindow(100)
  equal(window.receive(70), true)
  equal(window.free, 30)
  for (let i = 0; i < 100; i++) {
    equal(window.receive(10), true)
    window.release(10)
    equal(window.free, 30)
  }
})

test('a window that was announced too large shrinks', () => {
  const window = new ReceiveWindow(100, 150)
  window.withhold(50)
  equal(window.receive(100), true)
  equal(window.release(99), 0)
  equal(window.release(1), 50)
  equal(window.receive(101), false)
})

test('settings of a peer', () => {
  const take = (settings: PeerSettings, ...pairs: number[]) => {
    const bytes = Buffer.alloc(pairs.length * 3)
    for (let i = 0; i < pairs.length; i += 2) {
      bytes.writeUInt16BE(pairs[i]!, i * 3)
      bytes.writeUInt32BE(pairs[i + 1]!, i * 3 + 2)
    }
    return settings.take(bytes, 0, bytes.length)
  }
  const settings = new PeerSettings()
  equal(take(settings, 1, 0, 2, 0, 3, 7, 4, 10, 5, 20_000, 6, 30_000, 8, 1, 99, 1), NO_ERROR)
  const { tableBytes, streamsMax, windowBytes, frameBytes, listBytes, hasConnectProtocol } = settings
  equal(
    [tableBytes, streamsMax, windowBytes, frameBytes, listBytes, hasConnectProtocol].join(),
    '0,7,10,20000,30000,true'
  )
  for (const [id, value, code] of [
    [2, 2, PROTOCOL_ERROR],
    [4, 2 ** 31, FLOW_CONTROL_ERROR],
    [5, 16_383, PROTOCOL_ERROR],
    [5, 2 ** 24, PROTOCOL_ERROR],
    [8, 2, PROTOCOL_ERROR]
  ] as const) {
    equal(take(new PeerSettings(), id, value), code, `${id}: ${value}`)
  }
  equal(take(settings, 8, 0), PROTOCOL_ERROR, 'what was on stays on')
})
