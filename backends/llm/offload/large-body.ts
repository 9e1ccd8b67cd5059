/**
 * Large bodies: they are read and written in the offload pool, because that would hold the event loop for longer than
 * 5 ms (docs/design/030-large-bodies.md), and this thread knows of them only what it is told.
 */

import type { Conversation, FormatName, JsonObject } from '#backends/llm/conversation.ts'
import { edited } from '#backends/llm/edits/edit.ts'
import { type ChatRequest, readChat } from '#backends/llm/request/request.ts'
import { type ClientTools, NO_CLIENT_TOOLS } from '#backends/llm/translate/client-tools.ts'
import type { Noted } from '#backends/llm/usage/usage-record.ts'
import type { Offload } from '#engine/contract/policy.ts'
import type { AiEdits } from '#engine/ir/snapshot.ts'
import { allocShared } from '#engine/kit/shared-bytes.ts'
import type {
  Answered,
  AnswerJob,
  Called,
  CallJob,
  EventHeard,
  EventJob,
  Facts,
  Forgotten,
  ModelJob,
  Named,
  Refused,
  RequestJob,
  TellJob,
  Written
} from './job.ts'
import { LARGE_JOB } from './job-names.ts'

/** Bytes: a conversion takes up to 40 ns for each, reading up to 30 ns; a hop takes 90 us. */
export const LARGE_BYTES = 128 * 1024

interface Edit {
  readonly edits: AiEdits
  readonly spoken: FormatName
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
  noted: Noted | null = null
  readonly #edit: Edit | null
  #body: JsonObject | null = null

  /** `facts` null: nothing is known yet. */
  constructor(
    { client, bytes, path, query }: Pick<LargeRequest, 'client' | 'bytes' | 'path' | 'query'>,
    facts: Facts | null = null,
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
    this.#edit = edits === null || facts === null ? null : { edits, spoken: facts.order.format }
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
      this.#body = this.#edit === null ? chat.body : edited(chat, this.#edit.edits, this.#edit.spoken).body
    }
    return this.#body
  }

  set body(body: JsonObject) {
    this.#body = body
  }
}

/** Throws FormatError. A large body is not read. */
export function chatIn(client: FormatName, bytes: Buffer, path: string, query: string): ChatRequest {
  if (bytes.length <= LARGE_BYTES) return readChat(client, bytes, path, query)
  return new LargeRequest({ client, bytes, path, query })
}

type OfRequest<Job> = Omit<Job, 'id' | 'bytes'>

/** The model that `bytes` ask for, "" when they name none. Rejects when too much waits. */
export function modelIn(offload: Offload, bytes: Buffer): Promise<Named | Refused> {
  return ask<Named>(offload, bytes, { kind: 'model' } satisfies OfRequest<ModelJob>)
}

/** What one provider is sent for `bytes`. Rejects when too much waits. */
export function requestFor(
  offload: Offload,
  bytes: Buffer,
  job: Omit<OfRequest<RequestJob>, 'kind'>
): Promise<Written | Refused> {
  return ask<Written>(offload, bytes, { kind: 'request', ...job } satisfies OfRequest<RequestJob>)
}

/** As requestFor, of what is no chat. Rejects when too much waits. */
export function callFor(
  offload: Offload,
  bytes: Buffer,
  job: Omit<OfRequest<CallJob>, 'kind'>
): Promise<Called | Refused> {
  return ask<Called>(offload, bytes, { kind: 'call', ...job } satisfies OfRequest<CallJob>)
}

/** What the client gets of an answer. Rejects when too much waits. */
export async function answerFor(offload: Offload, job: Omit<AnswerJob, 'kind'>): Promise<Answered> {
  return (await offload.run(LARGE_JOB, { kind: 'answer', ...job } satisfies AnswerJob)) as Answered
}

/** As answerFor, of what is no chat. Rejects when too much waits. */
export async function tellingFor(offload: Offload, job: Omit<TellJob, 'kind'>): Promise<Answered> {
  return (await offload.run(LARGE_JOB, { kind: 'tell', ...job } satisfies TellJob)) as Answered
}

/** What a long event of a stream says of its answer's cost. Rejects when too much waits. */
export async function heardIn(offload: Offload, format: FormatName, event: Buffer): Promise<EventHeard> {
  const bytes = allocShared(event.length)
  event.copy(bytes)
  return (await offload.run(LARGE_JOB, { kind: 'event', format, bytes } satisfies EventJob)) as EventHeard
}

/** Bodies that the pool has been told of. */
const told = new WeakMap<Buffer, number>()
let lastId = 0

/** The number that `bytes` have in the pool. */
function idOf(bytes: Buffer): number {
  const id = told.get(bytes) ?? ++lastId
  told.set(bytes, id)
  return id
}

async function ask<T extends Named | Written | Called>(
  offload: Offload,
  bytes: Buffer,
  job: OfRequest<ModelJob> | OfRequest<RequestJob> | OfRequest<CallJob>
): Promise<T | Refused> {
  const known = told.get(bytes)
  if (known !== undefined) {
    const made = (await offload.run(LARGE_JOB, { ...job, id: known, bytes: null })) as T | Refused | Forgotten
    if (made.kind !== 'forgotten') return made
  }
  const id = idOf(bytes)
  return (await offload.run(LARGE_JOB, { ...job, id, bytes })) as T | Refused
}
