/** Listeners of one Gateway that cannot be told apart (Gateway API: distinct listeners). */
import type { Fault } from '#engine/kubernetes/translation/parts.ts'
import { overlap } from './hostnames.ts'
import { isServed, type ListenerState, type Protocol } from './listeners.ts'

/** What is behind the first byte of a connection. Two of these cannot share a port. */
const FAMILIES: Readonly<Record<Protocol, string>> = { HTTP: 'clear text', HTTPS: 'TLS', TLS: 'TLS', TCP: 'any bytes' }

/**
 * `groups`: the Gateway's own listeners, then those of its ListenerSets in the order of precedence. In a group no
 * listener wins a conflict; between groups the earlier one does.
 */
export function withConflicts(groups: readonly (readonly ListenerState[])[]): ListenerState[] {
  const winners: ListenerState[] = []
  const all: ListenerState[] = []
  for (const group of groups) {
    const left = group.map((listener) => judged(listener, winners))
    const standing = left.filter(isDistinct)
    const own = left.map((one) => (isDistinct(one) ? judged(one, standing) : one))
    winners.push(...own.filter(isDistinct))
    all.push(...own)
  }
  return all.map((listener) => withOverlap(listener, all))
}

const isDistinct = ({ faults }: ListenerState): boolean => !faults.some(({ type }) => type === 'Conflicted')

function judged(listener: ListenerState, others: readonly ListenerState[]): ListenerState {
  const faults = others.flatMap((other) => (other === listener ? [] : conflictFaults(listener, other)))
  return faults.length === 0 ? listener : { ...listener, faults: [...listener.faults, ...faults.slice(0, FAULTS_EACH)] }
}

/** Of one conflict: Conflicted, Accepted, Programmed. A second one says nothing more. */
const FAULTS_EACH = 3

function conflictFaults(listener: ListenerState, other: ListenerState): Fault[] {
  const reason = conflictOf(listener, other)
  if (reason === null) return []
  // The name of a listener of another namespace is not for everybody to read.
  const isNear = other.owner.metadata.namespace === listener.owner.metadata.namespace
  const who = isNear ? `listener ${other.name} of ${other.owner.kind} ${other.owner.metadata.name}` : 'another listener'
  const what = reason === 'HostnameConflict' ? `host "${listener.hostname}"` : `protocol ${other.protocol}`
  const message = `${who} has port ${listener.port} with ${what}`
  return ['Conflicted', 'Accepted', 'Programmed'].map((type) => ({ type, reason, message, place: listener.place }))
}

function conflictOf(a: ListenerState, b: ListenerState): 'HostnameConflict' | 'ProtocolConflict' | null {
  if (a.port !== b.port || a.protocol === null || b.protocol === null) return null
  if (FAMILIES[a.protocol] !== FAMILIES[b.protocol] || a.protocol === 'TCP') return 'ProtocolConflict'
  if (a.hostname !== b.hostname) return null
  return a.protocol === b.protocol ? 'HostnameConflict' : 'ProtocolConflict'
}

/** Clients that use one connection for two hosts may come with the certificate of another listener. */
function withOverlap(listener: ListenerState, all: readonly ListenerState[]): ListenerState {
  const ends = (one: ListenerState) => one.certificates !== null && isServed(one)
  if (!ends(listener)) return listener
  const other = all.find(
    (one) => one !== listener && ends(one) && one.port === listener.port && overlap(one.hostname, listener.hostname)
  )
  if (other === undefined) return listener
  const message = `host "${listener.hostname}" overlaps that of another listener of port ${listener.port}`
  const fault = { type: 'OverlappingTLSConfig', reason: 'OverlappingHostnames', message, place: listener.place }
  return { ...listener, faults: [...listener.faults, fault] }
}
