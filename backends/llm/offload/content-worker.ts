/** What expressions read of a large request or answer, in the thread that runs them (other end: content-job.ts). */

import type { ChatRequest } from '#backends/llm/request/chat-request.ts'
import { NO_CLIENT_TOOLS } from '#backends/llm/translate/client-tools.ts'
import { AnswerCapture } from '#backends/llm/usage/answer-capture.ts'
import type { ModelContent } from '#engine/contract/model-use.ts'
import { bufferOf } from '#engine/kit/shared-bytes.ts'
import type { ContentArgument, SmallData } from './content-job.ts'
import { bodies } from './job.ts'
import { type LargeData, LargeRequest } from './large-request.ts'

export function contentInPool({ large, small, whole, streamed }: ContentArgument): ModelContent {
  const noted = new AnswerCapture(large === null ? chatOf(small!) : largeOf(large), false)
  if (whole !== null) noted.setWhole(whole.format, bufferOf(whole.bytes))
  return {
    request: () => noted.request(),
    prompt: () => noted.prompt(),
    completion: () => noted.completion() ?? streamed?.texts,
    toolCalls: () => noted.toolCalls() ?? streamed?.calls,
    params: () => noted.params(),
    serviceTier: () => noted.serviceTier(),
    elsewhere: () => null
  }
}

function largeOf({ id, bytes, client, path, query, model, isStreamed, edit }: LargeData): ChatRequest {
  const body = bodies.take({ id, bytes })!
  const plan = { format: edit?.providerFormat ?? client, model }
  const unknown = { wantsUsage: false, count: 1, isEdited: false, clientTools: NO_CLIENT_TOOLS, settings: undefined }
  const facts = { model, isStreamed, plan, ...unknown }
  return new LargeRequest({ client, bytes: body, path, query }, facts, edit?.edits ?? null)
}

function chatOf(data: SmallData): ChatRequest {
  const unasked = { bytes: Buffer.alloc(0), wantsUsage: false, count: 1, query: '', isEdited: false }
  return {
    ...data,
    ...unasked,
    unprompted: null,
    conversation: null,
    clientTools: NO_CLIENT_TOOLS,
    capture: null,
    seal: null
  }
}
