/** The offload pool, as this thread calls it. Each call rejects when too much waits. */
import type { FormatName } from '#backends/llm/conversation.ts'
import type { OpenedIds, StoredReading, StoredTask } from '#backends/llm/stored/jobs.ts'
import type { StoreAccess } from '#backends/llm/stored/stores.ts'
import type { Offload } from '#engine/contract/policy.ts'
import { allocShared } from '#engine/kit/shared-bytes.ts'
import type {
  AnswerJob,
  EventJob,
  EventReading,
  EvictedBody,
  ModelJob,
  OpenJob,
  OperationAnswerJob,
  OperationJob,
  RefusedRequest,
  RequestedModel,
  RequestJob,
  StoredJob,
  TranslatedAnswer,
  WrittenOperation,
  WrittenRequest
} from './job.ts'
import { LARGE_JOB } from './job-names.ts'
import { idOf, knownId } from './large-request.ts'

type OfRequest<Job> = Omit<Job, 'id' | 'bytes'>

/** The model that `bytes` ask for, "" when they name none. */
export function readModelInPool(
  offload: Offload,
  bytes: Buffer,
  contentType: string
): Promise<RequestedModel | RefusedRequest> {
  return ask<RequestedModel>(offload, bytes, { kind: 'model', contentType } satisfies OfRequest<ModelJob>)
}

/** Their ids of what providers keep, opened. */
export function openIdsInPool(
  offload: Offload,
  bytes: Buffer,
  access: StoreAccess
): Promise<OpenedIds | RefusedRequest> {
  return ask<OpenedIds>(offload, bytes, { kind: 'open', access } satisfies OfRequest<OpenJob>)
}

/** What a request about what is kept says, and, for a provider, what that is sent. */
export function readStoredInPool(
  offload: Offload,
  bytes: Buffer,
  job: StoredTask
): Promise<StoredReading | RefusedRequest> {
  return ask<StoredReading>(offload, bytes, job)
}

/** What one provider is sent for `bytes`. */
export function writeRequestInPool(
  offload: Offload,
  bytes: Buffer,
  job: Omit<OfRequest<RequestJob>, 'kind'>
): Promise<WrittenRequest | RefusedRequest> {
  return ask<WrittenRequest>(offload, bytes, { kind: 'request', ...job } satisfies OfRequest<RequestJob>)
}

/** As writeRequestInPool, of an operation other than chat. */
export function writeOperationInPool(
  offload: Offload,
  bytes: Buffer,
  job: Omit<OfRequest<OperationJob>, 'kind'>
): Promise<WrittenOperation | RefusedRequest> {
  return ask<WrittenOperation>(offload, bytes, { kind: 'operation', ...job } satisfies OfRequest<OperationJob>)
}

/** What the client gets of an answer. */
export async function translateAnswerInPool(offload: Offload, job: Omit<AnswerJob, 'kind'>): Promise<TranslatedAnswer> {
  return (await offload.run(LARGE_JOB, { kind: 'answer', ...job } satisfies AnswerJob)) as TranslatedAnswer
}

/** As translateAnswerInPool, of an operation other than chat. */
export async function translateOperationInPool(
  offload: Offload,
  job: Omit<OperationAnswerJob, 'kind'>
): Promise<TranslatedAnswer> {
  return (await offload.run(LARGE_JOB, {
    kind: 'operationAnswer',
    ...job
  } satisfies OperationAnswerJob)) as TranslatedAnswer
}

/** What a long event of a stream says of its answer's cost. */
export async function readEventInPool(offload: Offload, format: FormatName, event: Buffer): Promise<EventReading> {
  const bytes = allocShared(event.length)
  event.copy(bytes)
  return (await offload.run(LARGE_JOB, { kind: 'event', format, bytes } satisfies EventJob)) as EventReading
}

async function ask<T extends OpenedIds | StoredReading | RequestedModel | WrittenRequest | WrittenOperation>(
  offload: Offload,
  bytes: Buffer,
  job: OfRequest<ModelJob> | OfRequest<OpenJob> | OfRequest<StoredJob> | OfRequest<RequestJob> | OfRequest<OperationJob>
): Promise<T | RefusedRequest> {
  const known = knownId(bytes)
  if (known !== undefined) {
    const made = (await offload.run(LARGE_JOB, { ...job, id: known, bytes: null })) as T | RefusedRequest | EvictedBody
    if (made.kind !== 'evicted') return made
  }
  const id = idOf(bytes)
  return (await offload.run(LARGE_JOB, { ...job, id, bytes })) as T | RefusedRequest
}
