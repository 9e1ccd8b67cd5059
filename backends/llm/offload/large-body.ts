/**
 * Large bodies: they are read and written in the offload pool, because that would hold the event loop for longer than
 * 5 ms (docs/design/030-large-bodies.md), and this thread knows of them only what it is told.
 */

import type { Conversation, FormatName, JsonObject } from '#backends/llm/conversation.ts'
import { applyEdits } from '#backends/llm/edits/apply-edits.ts'
import { type ChatRequest, readChat } from '#backends/llm/request/request.ts'
import { type ClientTools, NO_CLIENT_TOOLS } from '#backends/llm/translate/client-tools.ts'
import type { AnswerCapture } from '#backends/llm/usage/usage-record.ts'
import type { Offload } from '#engine/contract/policy.ts'
import type { AiEdits } from '#engine/ir/snapshot.ts'
import { allocShared } from '#engine/kit/shared-bytes.ts'
import type {
  AnswerJob,
  EventJob,
  EventReading,
  EvictedBody,
  ModelJob,
  OperationAnswerJob,
  OperationJob,
  RefusedRequest,
  RequestedModel,
  RequestFacts,
  RequestJob,
  TranslatedAnswer,
  WrittenOperation,
  WrittenRequest
} from './job.ts'
import { LARGE_JOB } from './job-names.ts'

/** Bytes: a conversion takes up to 40 ns for each, reading up to 30 ns; a hop takes 90 us. */
export const LARGE_BYTES = 128 * 1024

interface Edit {
  readonly edits: AiEdits
  readonly providerFormat: FormatName
}

/** A large request for the thread that looks into it. */
export interface LargeData {
  /** As of Given (job.ts). */
  readonly id: number
  readonly client: FormatName
  readonly bytes: Uint8Array
  readonly path: string
  readonly query: string
  readonly model: string
  readonly isStreamed: boolean
  readonly edit: Edit | null
}

/** A request that has not been read here. */
export class LargeRequest implements ChatRequest {
  readonly client: FormatName
  bytes: Buffer
  readonly path: string
  readonly query: string
  readonly model: string
  readonly isStreamed: boolean
  readonly wantsUsage: boolean
  readonly count: number
  readonly isEdited: boolean
  conversation: Conversation | null = null
  clientTools: ClientTools
  capture: AnswerCapture | null = null
  readonly #edit: Edit | null
  #body: JsonObject | null = null

  /** `facts` null: nothing is known yet. */
  constructor(
    { client, bytes, path, query }: Pick<LargeRequest, 'client' | 'bytes' | 'path' | 'query'>,
    facts: RequestFacts | null = null,
    edits: AiEdits | null = null
  ) {
    this.client = client
    this.bytes = bytes
    this.path = path
    this.query = query
    this.model = facts?.model ?? ''
    this.isStreamed = facts?.isStreamed ?? false
    this.wantsUsage = facts?.wantsUsage ?? false
    this.count = facts?.count ?? 1
    this.isEdited = facts?.isEdited ?? false
    this.clientTools = facts?.clientTools ?? NO_CLIENT_TOOLS
    this.#edit = edits === null || facts === null ? null : { edits, providerFormat: facts.plan.format }
  }

  /** Plain data that makes another like it. */
  get data(): LargeData {
    const { client, bytes, path, query, model, isStreamed } = this
    return { id: idOf(bytes), client, bytes, path, query, model, isStreamed, edit: this.#edit }
  }

  /** Read when somebody asks, and that takes its time: expressions over `llm` do in another thread (content-job.ts). */
  get body(): JsonObject {
    if (this.#body === null) {
      const chat = readChat(this.client, this.bytes, this.path, this.query)
      this.#body = this.#edit === null ? chat.body : applyEdits(chat, this.#edit.edits, this.#edit.providerFormat).body
    }
    return this.#body
  }

  set body(body: JsonObject) {
    this.#body = body
  }
}

/** Throws FormatError. A large body is not read. */
export function chatFor(client: FormatName, bytes: Buffer, path: string, query: string): ChatRequest {
  if (bytes.length <= LARGE_BYTES) return readChat(client, bytes, path, query)
  return new LargeRequest({ client, bytes, path, query })
}

type OfRequest<Job> = Omit<Job, 'id' | 'bytes'>

/** The model that `bytes` ask for, "" when they name none. Rejects when too much waits. */
export function readModelInPool(offload: Offload, bytes: Buffer): Promise<RequestedModel | RefusedRequest> {
  return ask<RequestedModel>(offload, bytes, { kind: 'model' } satisfies OfRequest<ModelJob>)
}

/** What one provider is sent for `bytes`. Rejects when too much waits. */
export function writeRequestInPool(
  offload: Offload,
  bytes: Buffer,
  job: Omit<OfRequest<RequestJob>, 'kind'>
): Promise<WrittenRequest | RefusedRequest> {
  return ask<WrittenRequest>(offload, bytes, { kind: 'request', ...job } satisfies OfRequest<RequestJob>)
}

/** As requestFor, of what is no chat. Rejects when too much waits. */
export function writeOperationInPool(
  offload: Offload,
  bytes: Buffer,
  job: Omit<OfRequest<OperationJob>, 'kind'>
): Promise<WrittenOperation | RefusedRequest> {
  return ask<WrittenOperation>(offload, bytes, { kind: 'operation', ...job } satisfies OfRequest<OperationJob>)
}

/** What the client gets of an answer. Rejects when too much waits. */
export async function translateAnswerInPool(offload: Offload, job: Omit<AnswerJob, 'kind'>): Promise<TranslatedAnswer> {
  return (await offload.run(LARGE_JOB, { kind: 'answer', ...job } satisfies AnswerJob)) as TranslatedAnswer
}

/** As answerFor, of what is no chat. Rejects when too much waits. */
export async function translateOperationInPool(
  offload: Offload,
  job: Omit<OperationAnswerJob, 'kind'>
): Promise<TranslatedAnswer> {
  return (await offload.run(LARGE_JOB, {
    kind: 'operationAnswer',
    ...job
  } satisfies OperationAnswerJob)) as TranslatedAnswer
}

/** What a long event of a stream says of its answer's cost. Rejects when too much waits. */
export async function readEventInPool(offload: Offload, format: FormatName, event: Buffer): Promise<EventReading> {
  const bytes = allocShared(event.length)
  event.copy(bytes)
  return (await offload.run(LARGE_JOB, { kind: 'event', format, bytes } satisfies EventJob)) as EventReading
}

/** Bodies that the pool has been told of. */
const knownIds = new WeakMap<Buffer, number>()
let lastId = 0

/** The number that `bytes` have in the pool. */
function idOf(bytes: Buffer): number {
  const id = knownIds.get(bytes) ?? ++lastId
  knownIds.set(bytes, id)
  return id
}

async function ask<T extends RequestedModel | WrittenRequest | WrittenOperation>(
  offload: Offload,
  bytes: Buffer,
  job: OfRequest<ModelJob> | OfRequest<RequestJob> | OfRequest<OperationJob>
): Promise<T | RefusedRequest> {
  const known = knownIds.get(bytes)
  if (known !== undefined) {
    const made = (await offload.run(LARGE_JOB, { ...job, id: known, bytes: null })) as T | RefusedRequest | EvictedBody
    if (made.kind !== 'evicted') return made
  }
  const id = idOf(bytes)
  return (await offload.run(LARGE_JOB, { ...job, id, bytes })) as T | RefusedRequest
}
