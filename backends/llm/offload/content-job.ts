/**
 * Large requests and answers on their way to the thread in which expressions look into them: bytes that threads share,
 * read there.
 */
import type { FormatName } from '#backends/llm/conversation.ts'
import type { ChatRequest } from '#backends/llm/request/chat-request.ts'
import type { ContentJob } from '#engine/contract/model-use.ts'
import { CONTENT_JOB } from './job-names.ts'
import { type LargeData, LargeRequest } from './large-request.ts'
import { LARGE_BYTES } from './threshold.ts'

/** What there is of an answer. */
export interface ContentData {
  readonly whole: { readonly bytes: Uint8Array; readonly format: FormatName } | null
  /** The content of a stream, as far as it was recorded; null: none. */
  readonly streamed: { readonly texts: readonly string[]; readonly calls: readonly object[] } | null
}

/** A request that has been read where it came. */
export type SmallData = Pick<ChatRequest, 'client' | 'body' | 'model' | 'isStreamed'>

export interface ContentArgument extends ContentData {
  readonly large: LargeData | null
  /** Null: it is large. */
  readonly small: SmallData | null
}

/** How another thread gets what `chat` asks, and the answer; null: both are small, or have been read here. */
export function contentJob(chat: ChatRequest, answer: Uint8Array | null, dataOf: () => ContentData): ContentJob | null {
  // What has been let go is not asked for.
  const isLarge = chat instanceof LargeRequest && chat.bytes.length > 0
  if (!isLarge && (answer === null || answer.length <= LARGE_BYTES)) return null
  if (isLarge) return jobOf({ ...dataOf(), large: chat.data, small: null })
  const { client, body, model, isStreamed } = chat
  return jobOf({ ...dataOf(), large: null, small: { client, body, model, isStreamed } })
}

const jobOf = (argument: ContentArgument): ContentJob => ({ job: CONTENT_JOB, argument })
