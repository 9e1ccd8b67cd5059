/** Who conflicts with whom, against a comparison of each with each; and what it costs, in reads of listeners. */
import { deepEqual, ok } from 'node:assert/strict'
import { test } from 'node:test'
import type { Fault } from '#engine/kubernetes/translation/parts.ts'
import { withConflicts } from './conflicts.ts'
import { covers } from './hostnames.ts'
import { isServed, type ListenerState, type Protocol } from './listeners.ts'

const OWNER = { apiVersion: 'v1', kind: 'ListenerSet', metadata: { name: 'set', namespace: 'demo' } }

function listener(name: string, port: number, protocol: Protocol | null, hostname: string): ListenerState {
  const ends = protocol === 'HTTPS' || protocol === 'TLS'
  return {
    ...{ owner: OWNER, name, fullName: name, hostname: protocol === 'TCP' ? '*' : hostname, port, protocol },
    place: { key: 'ListenerSet/demo/set', path: [name] },
    ...{ kinds: [], namespaces: undefined, certificates: ends ? [] : null, clientValidation: null, faults: [] }
  }
}

const FAMILIES = { HTTP: 0, HTTPS: 1, TLS: 1, TCP: 2 }

/** Gateway API, distinct listeners: of each pair. */
function reasonOf(a: ListenerState, b: ListenerState): string | null {
  if (a === b || a.port !== b.port || a.protocol === null || b.protocol === null) return null
  if (FAMILIES[a.protocol] !== FAMILIES[b.protocol] || a.protocol === 'TCP') return 'ProtocolConflict'
  if (a.hostname !== b.hostname) return null
  return a.protocol === b.protocol ? 'HostnameConflict' : 'ProtocolConflict'
}

/** Names of listeners, with why they conflict and with whom. */
function expected(groups: readonly (readonly ListenerState[])[]): string[] {
  const winners: ListenerState[] = []
  const texts: string[] = []
  for (const group of groups) {
    const first = (one: ListenerState, others: readonly ListenerState[]) =>
      others.find((other) => reasonOf(one, other) !== null)
    const standing = group.filter((one) => first(one, winners) === undefined)
    const lost = group.map((one) => [one, first(one, winners) ?? first(one, standing)] as const)
    for (const [one, other] of lost) {
      if (other === undefined) winners.push(one)
      else texts.push(`${one.name} ${reasonOf(one, other)} listener ${other.name} of`)
    }
  }
  const served = winners.filter(({ protocol }) => protocol === 'HTTPS' || protocol === 'TLS')
  const overlap = (a: ListenerState, b: ListenerState) =>
    a !== b && a.port === b.port && (covers(a.hostname, b.hostname) || covers(b.hostname, a.hostname))
  for (const one of served) if (served.some((other) => overlap(one, other))) texts.push(`${one.name} overlaps`)
  return texts.sort()
}

const textOf = ({ name }: ListenerState, { type, reason, message }: Fault): string[] => {
  if (type === 'OverlappingTLSConfig') return [`${name} overlaps`]
  return type === 'Conflicted' ? [`${name} ${reason} ${message.split(' ').slice(0, 3).join(' ')}`] : []
}

const found = (groups: readonly (readonly ListenerState[])[]): string[] =>
  withConflicts(groups)
    .flatMap((one) => one.faults.flatMap((fault) => textOf(one, fault)))
    .sort()

test('listeners conflict and overlap as a comparison of each with each says', () => {
  const hosts = ['*', 'example', 'a.example', '*.example', '*.a.example', 'b.a.example', 'other', '*.other']
  const protocols = ['HTTP', 'HTTP', 'HTTPS', 'HTTPS', 'HTTPS', 'TLS', 'TCP', null] as const
  let seed = 7
  const next = (count: number) => {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648
    return Math.floor((seed / 2_147_483_648) * count)
  }
  let faults = 0
  for (let round = 0; round < 300; round++) {
    let count = 0
    const one = () => listener(`l${count++}`, 80 + next(4), protocols[next(8)]!, hosts[next(8)]!)
    const groups = Array.from({ length: 1 + next(4) }, () => Array.from({ length: next(6) }, one))
    const texts = expected(groups)
    deepEqual(found(groups), texts)
    faults += texts.length
  }
  ok(faults > 300, String(faults))
})

test('4,096 listeners of 64 sets are read a few times each', () => {
  let reads = 0
  const counted = (one: ListenerState): ListenerState =>
    new Proxy(one, {
      get: (held, key) => {
        if (key === 'hostname') reads++
        return Reflect.get(held, key)
      }
    })
  const groups = Array.from({ length: 64 }, (_, s) =>
    Array.from({ length: 64 }, (_, i) => counted(listener(`l${i}`, 8000 + (i % 2), 'HTTPS', `h${s}-${i}.example`)))
  )
  ok(withConflicts(groups).every(isServed))
  ok(reads < 20 * 4_096, String(reads))
})
