/** What is done with large requests about what is kept, in another thread (offload/job.ts). Plain data in and out. */
import { type ProviderSpec, resolveProvider } from '#backends/llm/plan/request-plan.ts'
import { parseAhead } from '#backends/llm/request/json-body.ts'
import { jsonBytes } from '#engine/kit/shared-bytes.ts'
import { storedPathOf } from './apis.ts'
import { openChat } from './open-chat.ts'
import { factsOf, StoredRequest, type WrittenStored, writeStored } from './request.ts'
import type { StoreAccess, StoredFacts } from './stores.ts'

/** The ids in a chat are opened. */
export interface OpenTask {
  readonly kind: 'open'
  readonly access: StoreAccess
}

export interface OpenedIds {
  readonly kind: 'open'
  /** Null: those of the client will do. */
  readonly bytes: Uint8Array | null
  /** Of the account; null: none. */
  readonly tag: string | null
}

/** Throws FormatError. */
export function openIds(bytes: Buffer, { access }: OpenTask): OpenedIds {
  parseAhead(bytes)
  const { body, store } = openChat(bytes, access)
  return { kind: 'open', bytes: body === null ? null : jsonBytes(body), tag: store?.tag ?? null }
}

/** A call about what is kept is read, and written for a provider. */
export interface StoredTask {
  readonly kind: 'stored'
  readonly path: string
  readonly query: string
  readonly contentType: string
  /** It has the version of Anthropic's API. */
  readonly isAnthropic: boolean
  readonly access: StoreAccess
  readonly isClosed: boolean
  /** Null: nothing is written yet. */
  readonly spec: ProviderSpec | null
}

export interface StoredReading {
  readonly kind: 'stored'
  readonly facts: StoredFacts
  /** Null: nothing was to be written. */
  readonly written: WrittenStored | null
}

/** Throws FormatError. */
export function readStored(bytes: Buffer, task: StoredTask): StoredReading {
  const { path, query, contentType, isAnthropic, access, isClosed, spec } = task
  const at = storedPathOf(path, isAnthropic)!
  const request = new StoredRequest(at, { bytes, contentType, isPiece: false, query }, access)
  const written = spec === null ? null : writeStored(request, resolveProvider(spec), isClosed)
  return { kind: 'stored', facts: factsOf(request), written }
}
