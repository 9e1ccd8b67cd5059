/**
 * What a session of the Realtime API costs: read from the events that the provider sends, which pass as they are. What
 * clients send costs nothing by itself and is not read. Source: OpenAI, API reference "Realtime", server event
 * `response.done`, `response.usage`; frames: RFC 6455.
 */
import { type Json, type JsonObject, NO_USAGE, type Usage } from '#backends/llm/conversation.ts'
import { objectIn } from '#backends/llm/formats/completions/usage.ts'
import { isObject } from '#backends/llm/formats/fields.ts'
import { inputKinds } from '#backends/llm/usage/input-kinds.ts'
import { boundedUsage, mapUsage } from '#backends/llm/usage/token-counts.ts'
import { recordUsage } from '#backends/llm/usage/usage-record.ts'
import { charge } from '#engine/contract/buckets.ts'
import type { Exchange, ResponseTap } from '#engine/contract/exchange.ts'
import { FrameDecoder, type FrameHandler } from '#engine/http/websocket.ts'

/** Longer messages are not read: an event with a whole answer is text and, at most, ids of audio. */
const MESSAGE_BYTES_MAX = 1024 * 1024

const DONE = '"response.done"'
const NONE = Buffer.alloc(0)

/** Texts of messages that say how a response has ended. Keeps one message at most, and none that came in one piece. */
export class DoneEvents implements FrameHandler {
  readonly #found: (event: Json) => void
  /** The message under way, with room to grow: pieces may be single bytes. */
  #held: Buffer = NONE
  #bytes = 0

  constructor(found: (event: Json) => void) {
    this.#found = found
  }

  onMessage(isText: boolean, chunk: Buffer, start: number, end: number, first: boolean, last: boolean): void {
    if (first) this.#forget()
    if (!isText) return
    if (first && last) {
      if (end - start <= MESSAGE_BYTES_MAX) this.#read(chunk.subarray(start, end))
      return
    }
    const bytes = this.#bytes + end - start
    if (bytes <= MESSAGE_BYTES_MAX) this.#hold(chunk, start, end)
    else this.#held = NONE
    this.#bytes = bytes
    if (!last) return
    if (bytes <= MESSAGE_BYTES_MAX) this.#read(this.#held.subarray(0, bytes))
    this.#forget()
  }

  #hold(chunk: Buffer, start: number, end: number): void {
    const bytes = this.#bytes + end - start
    if (bytes > this.#held.length) {
      const roomier = Buffer.allocUnsafe(Math.max(bytes, 2 * this.#held.length, 1024))
      this.#held.copy(roomier, 0, 0, this.#bytes)
      this.#held = roomier
    }
    chunk.copy(this.#held, this.#bytes, start, end)
  }

  onPing(): void {}

  onClose(): void {
    this.#forget()
  }

  #forget(): void {
    this.#held = NONE
    this.#bytes = 0
  }

  #read(message: Buffer): void {
    // Most are pieces of audio, and long: only what may be worth it is parsed.
    if (!message.includes(DONE)) return
    try {
      this.#found(JSON.parse(message.toString()) as Json)
    } catch {
      // It goes to a client that may understand it.
      this.#forget()
    }
  }
}

/** Of an event `response.done`; null: it is another, or says nothing of what it cost. */
export function usageOf(event: Json): Usage | null {
  if (!isObject(event) || event.type !== 'response.done' || !isObject(event.response)) return null
  const { usage } = event.response
  if (!isObject(usage)) return null
  const input = objectIn(usage, 'input_token_details')
  const output = objectIn(usage, 'output_token_details')
  const cached = isObject(input.cached_tokens_details) ? input.cached_tokens_details : null
  const [all, cacheRead] = [count(usage, 'input_tokens'), count(input, 'cached_tokens')]
  return {
    ...NO_USAGE,
    input: all,
    cacheRead,
    ...inputKinds({
      ...{ input: all, cacheRead, written: 0 },
      audio: count(input, 'audio_tokens'),
      image: count(input, 'image_tokens'),
      cachedAudio: cached === null ? null : count(cached, 'audio_tokens'),
      cachedImage: cached === null ? null : count(cached, 'image_tokens')
    }),
    output: count(usage, 'output_tokens'),
    outputAudio: count(output, 'audio_tokens'),
    outputImage: count(output, 'image_tokens')
  }
}

function count(value: JsonObject, key: string): number {
  const tokens = value[key]
  return typeof tokens === 'number' && Number.isSafeInteger(tokens) && tokens > 0 ? tokens : 0
}

const sum = (a: Usage, b: Usage): Usage => mapUsage(a, (tokens, kind) => tokens + (b[kind] ?? 0))

/** Counts the responses of a session: limits are charged with each as it ends, logs and metrics get the sum. */
export class RealtimeTap implements ResponseTap {
  readonly #decoder: FrameDecoder

  constructor(ex: Exchange) {
    let total: Usage | null = null
    const found = (event: Json): void => {
      const reported = usageOf(event)
      if (reported === null) return
      const usage = boundedUsage(reported)
      total = total === null ? usage : sum(total, usage)
      recordUsage(ex, { usage: total, model: null })
      charge(ex, usage.input + usage.output)
    }
    this.#decoder = new FrameDecoder(new DoneEvents(found))
  }

  /** Unreadable frames (masked, compressed) end the reading, and go on like others. */
  body(_ex: Exchange, chunk: Buffer, start: number, end: number): Buffer {
    this.#decoder.execute(chunk, start, end)
    return chunk
  }

  end(): null {
    return null
  }

  fault(): null {
    return null
  }
}
