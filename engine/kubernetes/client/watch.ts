/** One watch: a long answer, with one event of JSON on each line. */
import type { IncomingMessage } from 'node:http'
import type { KubernetesObject, ObjectKind } from '#engine/kubernetes/objects/object.ts'
import { ApiError, apiError } from './api-error.ts'
import { linesOf } from './lines.ts'
import { nameOf, type Transport } from './transport.ts'

export type WatchEvent =
  | { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'; readonly object: KubernetesObject }
  /** All that happened up to this version was sent. */
  | { readonly type: 'BOOKMARK'; readonly resourceVersion: string }
  /** An object that is not read: too long, or none. */
  | { readonly type: 'UNREADABLE'; readonly message: string }

export interface WatchOptions {
  readonly resourceVersion: string
  /** How long the API server keeps the watch; it ends by itself then. */
  readonly timeoutSeconds: number
  readonly onEvent: (event: WatchEvent) => void
  /** The API server has taken the watch. */
  readonly onOpen?: () => void
  readonly signal: AbortSignal
}

/** 'closed': go on from the version seen last. 'expired': the API server has forgotten it, list again. */
export type WatchEnd = 'closed' | 'expired'

/** Objects of etcd have 1.5 MiB at most; JSON escapes may make more of them. */
const LINE_BYTES_MAX = 16 * 2 ** 20
/** Above timeoutSeconds: a server that keeps a watch longer is hung or gone. */
const GRACE_MS = 30_000

export async function followWatch(
  transport: Transport,
  kind: ObjectKind,
  pathWith: (query: Readonly<Record<string, string>>) => string,
  { resourceVersion, timeoutSeconds, onEvent, onOpen, signal }: WatchOptions
): Promise<WatchEnd> {
  const query = { watch: 'true', allowWatchBookmarks: 'true', timeoutSeconds: `${timeoutSeconds}`, resourceVersion }
  const request = { method: 'GET', path: pathWith(query), signal } as const
  let response: IncomingMessage
  try {
    response = await transport.open(request, timeoutSeconds * 1000 + GRACE_MS)
  } catch (error) {
    if (error instanceof ApiError && error.isExpired) return 'expired'
    throw error
  }
  onOpen?.()
  try {
    for await (const line of linesOf(response, LINE_BYTES_MAX)) {
      const event = line === null ? TOO_LONG : readEvent(kind, line, request.path)
      if (event === 'expired') return event
      onEvent(event)
    }
  } catch (error) {
    if (error instanceof ApiError) throw error
    throw new Error(`${nameOf(request)}: ${(error as Error).message}`, { cause: error })
  } finally {
    response.destroy()
  }
  return 'closed'
}

const TOO_LONG: WatchEvent = { type: 'UNREADABLE', message: `an event of more than ${LINE_BYTES_MAX} bytes` }

interface WireEvent {
  readonly type?: unknown
  readonly object?: { readonly code?: unknown; readonly metadata?: Partial<KubernetesObject['metadata']> } | null
}

function readEvent(kind: ObjectKind, line: string, path: string): WatchEvent | 'expired' {
  const { type, object } = parsed(line)
  switch (type) {
    case 'ADDED':
    case 'MODIFIED':
    case 'DELETED': {
      const { name, namespace = '' } = object?.metadata ?? {}
      if (typeof name !== 'string' || (namespace === '') === kind.isNamespaced)
        return { type: 'UNREADABLE', message: `an object without a name: ${JSON.stringify(object?.metadata)}` }
      return { type, object: { ...(object as KubernetesObject), apiVersion: kind.apiVersion, kind: kind.kind } }
    }
    case 'BOOKMARK':
      return { type, resourceVersion: object?.metadata?.resourceVersion ?? '' }
    case 'ERROR':
      if (object?.code === 410) return 'expired'
      throw apiError(`GET ${path.split('?')[0]}`, Number(object?.code) || 500, object)
    default:
      return { type: 'UNREADABLE', message: `an event of an unknown type: ${String(type)}` }
  }
}

function parsed(line: string): WireEvent {
  let event: unknown
  try {
    event = JSON.parse(line)
  } catch (error) {
    throw new Error('an event of the watch is no JSON', { cause: error })
  }
  return typeof event === 'object' && event !== null ? event : {}
}
