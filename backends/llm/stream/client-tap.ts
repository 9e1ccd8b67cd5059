/** The taps that a streamed answer passes on its way to the client: native or translating, then list and capture. */
import type { FormatName } from '#backends/llm/conversation.ts'
import { Losses, type ProviderFormat } from '#backends/llm/formats/format.ts'
import { FORMATS } from '#backends/llm/formats/index.ts'
import { answerContextOf, type ChatRequest } from '#backends/llm/request/chat-request.ts'
import { ChatSealTap } from '#backends/llm/stored/seal-tap.ts'
import { clientCallsWriter } from '#backends/llm/translate/client-tools.ts'
import { droppedElement } from '#backends/llm/translate/dropped-fields.ts'
import { CaptureTap } from '#backends/llm/usage/capture-tap.ts'
import { BODY_STREAM, type Exchange } from '#engine/contract/exchange.ts'
import type { Offload } from '#engine/contract/policy.ts'
import { SseReader } from '#engine/http/sse.ts'
import type { CostTap } from './cost-tap.ts'
import { type Framing, isSse } from './framing.ts'
import { ListTap, wantsList } from './list-tap.ts'
import { nativeTap } from './native-tap.ts'
import { ReframingTap } from './reframing-tap.ts'
import { TranslatingTap } from './translating-tap.ts'

/** `framing`: makes readers of the bytes that the tap will get. */
export function clientTap(
  chat: ChatRequest,
  format: FormatName,
  framing: () => Framing,
  giveUp: () => void,
  /** Where long events are read; null: on this thread. */
  offload: Offload | null
): CostTap {
  const isNative = format === chat.client
  const hidesUsage = isNative && format === 'completions' && !chat.wantsUsage
  const from: ProviderFormat = FORMATS[format]
  const losses = new Losses()
  const { client, clientTools, count } = chat
  const writer = () =>
    clientCallsWriter(FORMATS[client].streamWriter(answerContextOf(chat), losses), clientTools, client)
  const reads = framing()
  const isReframed = isNative && !(reads instanceof SseReader)
  const native = isNative ? nativeTap({ format, reader: from.streamReader(count), writer, hidesUsage, offload }) : null
  const { seal } = chat
  const sealed = native === null || seal === null ? native : new ChatSealTap(native, seal)
  const heard =
    sealed ??
    new TranslatingTap({
      ...{ from, framing: reads, writer: writer(), losses, isNative, count, giveUp },
      // A list's last element bears them.
      ...(client === 'gemini' && !wantsList(chat) ? { writeLost: droppedElement } : {})
    })
  const inner = isReframed ? new ReframingTap({ inner: heard, framing: reads, writer, giveUp }) : heard
  const tap = wantsList(chat) ? new ListTap({ inner, losses, giveUp }) : inner
  return chat.capture === null ? tap : new CaptureTap(tap, chat.capture, format, framing())
}

export const streamType = (chat: ChatRequest) => (wantsList(chat) ? 'application/json' : 'text/event-stream')

/** Makes the response a stream of unknown length. */
export function asStream(ex: Exchange, chat: ChatRequest, format: FormatName): void {
  const isOwn = format === chat.client && !wantsList(chat) && isSse(ex.response!.get('content-type') ?? '')
  if (!isOwn) ex.response!.set('Content-Type', streamType(chat))
  asUnknownLength(ex)
}

/** As asStream, of server-sent events that are written here. */
export function asEvents(ex: Exchange): void {
  ex.response!.set('Content-Type', 'text/event-stream')
  asUnknownLength(ex)
}

function asUnknownLength(ex: Exchange): void {
  ex.response!.remove('content-length')
  ex.responseBody = BODY_STREAM
  ex.responseLength = 0
}
