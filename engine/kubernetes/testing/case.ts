/**
 * Objects that an API server takes or refuses (docs/specification.md): tables, judged by the schemas in `npm test`, and
 * by a real API server in `npm run conformance -- kubernetes`.
 */
import { API_VERSION } from '#engine/kubernetes/resources/names.ts'

export type Kind = 'GatewayBackend' | 'GatewayPolicy' | 'GatewayParameters'

export interface Accepted {
  readonly kind: Kind
  readonly name: string
  readonly spec: object
  /** What the API server adds: "path: value in JSON", in the order of the paths. */
  readonly filled: readonly string[]
}

export interface Refused {
  readonly kind: Kind
  readonly name: string
  readonly spec: object
  /** The field that is wrong, as both name it. */
  readonly at: string
  /** A part of the API server's message. */
  readonly says: string
}

export interface Table {
  readonly accepted: readonly Accepted[]
  readonly refused: readonly Refused[]
}

/** Rows: name, spec, and what the API server fills in. */
export const accepts = (kind: Kind, rows: readonly (readonly [string, object, (readonly string[])?])[]): Accepted[] =>
  rows.map(([name, spec, filled = []]) => ({ kind, name, spec, filled }))

/** Rows: name, spec, field below spec ('' is spec itself), part of the message. */
export const refuses = (kind: Kind, rows: readonly (readonly [string, object, string, string])[]): Refused[] =>
  rows.map(([name, spec, at, says]) => ({ kind, name, spec, at: at === '' ? 'spec' : `spec.${at}`, says }))

export function objectOf({ kind, spec }: Accepted | Refused, name: string) {
  return { apiVersion: API_VERSION, kind, metadata: { name, namespace: 'default' }, spec }
}

export const GATEWAY = { group: 'gateway.networking.k8s.io', kind: 'Gateway', name: 'edge' }

export const SERVICE = { group: '', kind: 'Service', name: 'checks', port: 9000 }

/** Specs of a GatewayPolicy with one part, for the Gateway. */
export const frontend = (part: object) => ({ targetRefs: [GATEWAY], frontend: part })
export const traffic = (part: object) => ({ targetRefs: [GATEWAY], traffic: part })
export const backend = (part: object) => ({ targetRefs: [GATEWAY], backend: part })

/** More than is allowed of what has at most `max`. */
export const times = <T>(count: number, item: (i: number) => T): T[] => Array.from({ length: count }, (_, i) => item(i))

/** A map of so many entries. */
export const entries = <T>(count: number, value: T) => Object.fromEntries(times(count, (i) => [`k${i}`, value]))

export const chars = (count: number): string => 'a'.repeat(count)
