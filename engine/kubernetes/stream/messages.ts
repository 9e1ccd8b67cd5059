/** What a controller and its data planes say to each other. */

import type { SnapshotDelta } from '#engine/ir/snapshot-delta.ts'
import type { ServiceEndpoint } from '#engine/kubernetes/endpoints/index.ts'
import type { SnapshotDraft } from '#engine/source/translate.ts'
import { RecordError } from './records.ts'

export const STREAM_PATH = '/weir.dev/v1alpha1/snapshots'
export const GATEWAY_HEADER = 'weir-gateway'
export const POD_HEADER = 'weir-pod'
/** Longer reasons are cut. */
export const REASON_CHARS_MAX = 4_096
const TEXT_CHARS_MAX = 64
/** A reason is shown on terminals, in statuses: no escape sequences, nothing that turns the direction of text. */
const UNPRINTABLE = /(?!\n)[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu

/** First thing that a data plane says: what it holds, of which run of which controller; zeros: nothing. */
export interface Hello {
  readonly kind: 'hello'
  readonly epoch: string
  readonly snapshot: number
  readonly endpoints: number
}

/** `reason` null: it is in force. */
export interface Answer {
  readonly kind: 'answer'
  readonly epoch: string
  readonly version: number
  readonly reason: string | null
}

export type ToController = Hello | Answer

interface Versioned {
  /** Versions are counted anew in each. */
  readonly epoch: string
  readonly version: number
  /** The version that the receiver has to hold; 0: none. */
  readonly base: number
}

export interface SnapshotRecord extends Versioned {
  readonly kind: 'snapshot'
  /** Version of the program that made it: another one may read it otherwise. */
  readonly program: string
  readonly delta: SnapshotDelta<SnapshotDraft>
}

export interface EndpointsRecord extends Versioned {
  readonly kind: 'endpoints'
  /** Null: gone. */
  readonly changes: Readonly<Record<string, readonly ServiceEndpoint[] | null>>
}

export type ToDataPlane = SnapshotRecord | EndpointsRecord

/** Throws a RecordError when `value` is none. */
export function readToController(value: unknown): ToController {
  const { kind, epoch, ...rest } = objectOf(value)
  if (kind === 'hello') {
    const { snapshot, endpoints } = rest
    return { kind, epoch: textOf(epoch), snapshot: versionOf(snapshot), endpoints: versionOf(endpoints) }
  }
  if (kind !== 'answer') throw new RecordError('a record of an unknown kind')
  const { version, reason } = rest
  if (reason !== null && typeof reason !== 'string') throw new RecordError('a reason that is no text')
  return {
    kind,
    epoch: textOf(epoch),
    version: versionOf(version),
    reason: reason?.slice(0, REASON_CHARS_MAX).replace(UNPRINTABLE, '?') ?? null
  }
}

/** Throws a RecordError when `value` is none. Of a Snapshot only the outline is looked at: workers check the rest. */
export function readToDataPlane(value: unknown): ToDataPlane {
  const { kind, epoch, version, base, program, delta, changes } = objectOf(value)
  const common = { epoch: textOf(epoch), version: versionOf(version), base: versionOf(base) }
  if (kind === 'endpoints') {
    return { kind, ...common, changes: Object.fromEntries(Object.entries(objectOf(changes)).map(readChange)) }
  }
  if (kind !== 'snapshot') throw new RecordError('a record of an unknown kind')
  return { kind, ...common, program: textOf(program), delta: deltaOf(delta) }
}

function readChange([name, list]: [string, unknown]): [string, readonly ServiceEndpoint[] | null] {
  return [name, list === null ? null : listOf(list).map(endpointOf)]
}

function endpointOf(value: unknown): ServiceEndpoint {
  const { host, port, weight, forZones, identity } = objectOf(value)
  const isPort = Number.isInteger(port) && (port as number) > 0 && (port as number) < 65_536
  if (typeof host !== 'string' || host === '' || !isPort || !Number.isInteger(weight) || (weight as number) < 1) {
    throw new RecordError('an endpoint without a host, a port or a weight')
  }
  const hints = forZones === undefined ? {} : { forZones: listOf(forZones).map(String) }
  const workload = identity === undefined ? {} : { identity: identityOf(identity) }
  return { host, port: port as number, unixPath: null, weight: weight as number, ...hints, ...workload }
}

/** It becomes a part of a URI (Destination.identity). */
function identityOf(value: unknown): string {
  if (typeof value !== 'string' || !/^ns\/[^/]+\/sa\/[^/]+$/.test(value))
    throw new RecordError('an identity of no workload')
  return value
}

function deltaOf(value: unknown): SnapshotDelta<SnapshotDraft> {
  const delta = objectOf(value)
  for (const name of ['gateway', 'backends', 'frontend', 'process']) objectOf(delta[name])
  for (const bind of listOf(delta.binds)) {
    for (const listener of listOf(objectOf(bind).listeners)) listOf(objectOf(listener).routes).forEach(checkRoute)
  }
  listOf(delta.goneBackends)
  return value as SnapshotDelta<SnapshotDraft>
}

function checkRoute(route: unknown): void {
  if (!Array.isArray(route)) objectOf(route)
  else if (route.length !== 2 || !route.every((number) => Number.isInteger(number) && number >= 0)) {
    throw new RecordError('a run of routes that is none')
  }
}

function objectOf(value: unknown): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new RecordError('a value where an object belongs')
  }
  return value as Record<string, unknown>
}

function listOf(value: unknown): readonly unknown[] {
  if (!Array.isArray(value)) throw new RecordError('a value where a list belongs')
  return value
}

function textOf(value: unknown): string {
  if (typeof value !== 'string' || value.length > TEXT_CHARS_MAX) throw new RecordError('a value where a text belongs')
  return value
}

function versionOf(value: unknown): number {
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 0) {
    throw new RecordError('a version that is no whole number')
  }
  return value
}
