/** Listeners of one Gateway that cannot be told apart (Gateway API: distinct listeners). */
import type { Fault } from '#engine/kubernetes/translation/parts.ts'
import type { ListenerState } from './listeners.ts'
import { endsTls, Overlaps } from './overlaps.ts'
import { Ports } from './ports.ts'

/**
 * `groups`: the Gateway's own listeners, then those of its ListenerSets in the order of precedence. In a group no
 * listener wins a conflict; between groups the earlier one does.
 */
export function withConflicts(groups: readonly (readonly ListenerState[])[]): ListenerState[] {
  const winners = new Ports()
  const all: ListenerState[] = []
  for (const group of groups) {
    const left = group.map((listener) => judged(listener, winners))
    const standing = new Ports()
    for (const one of left) if (isDistinct(one)) standing.add(one)
    const own = left.map((one) => (isDistinct(one) ? judged(one, standing) : one))
    for (const one of own) if (isDistinct(one)) winners.add(one)
    all.push(...own)
  }
  const overlaps = new Overlaps(all)
  return all.map((listener) => withOverlap(listener, overlaps))
}

const isDistinct = ({ faults }: ListenerState): boolean => !faults.some(({ type }) => type === 'Conflicted')

/** Of several that it conflicts with, the first: a second one says nothing more. */
function judged(listener: ListenerState, others: Ports): ListenerState {
  const other = others.conflictOf(listener)
  return other === null ? listener : { ...listener, faults: [...listener.faults, ...conflictFaults(listener, other)] }
}

function conflictFaults(listener: ListenerState, other: ListenerState): Fault[] {
  const isOfHost = listener.protocol === other.protocol && listener.protocol !== 'TCP'
  const reason = isOfHost ? 'HostnameConflict' : 'ProtocolConflict'
  // The name of a listener of another namespace is not for everybody to read.
  const isNear = other.owner.metadata.namespace === listener.owner.metadata.namespace
  const who = isNear ? `listener ${other.name} of ${other.owner.kind} ${other.owner.metadata.name}` : 'another listener'
  const what = isOfHost ? `host "${listener.hostname}"` : `protocol ${other.protocol}`
  const message = `${who} has port ${listener.port} with ${what}`
  return ['Conflicted', 'Accepted', 'Programmed'].map((type) => ({ type, reason, message, place: listener.place }))
}

/** Clients that use one connection for two hosts may come with the certificate of another listener. */
function withOverlap(listener: ListenerState, overlaps: Overlaps): ListenerState {
  if (!endsTls(listener) || !overlaps.hasAnother(listener)) return listener
  const message = `host "${listener.hostname}" overlaps that of another listener of port ${listener.port}`
  const fault = { type: 'OverlappingTLSConfig', reason: 'OverlappingHostnames', message, place: listener.place }
  return { ...listener, faults: [...listener.faults, fault] }
}
