/**
 * Gathers items that are written already into Export requests, and sends those one after the other. A collector that is
 * slow or away costs no more than the bytes of the queue: what comes when it is full is dropped, and counted.
 */
import type { BatchSettings, ExportOutcome, OtlpTransport } from '#engine/contract/otlp.ts'
import type { Time } from '#engine/contract/time.ts'
import { varintBytes } from '#engine/kit/protobuf-writer.ts'
import { type Envelope, ITEM } from './envelope.ts'

/** Pauses between attempts: the first, and the longest, which also bounds what a collector may ask for. */
const BACKOFF_MS = 1_000
const BACKOFF_MS_MAX = 30_000
const RETRY_AFTER_MS_MAX = 300_000
/** What is older is dropped. */
const AGE_MS_MAX = 300_000
/** At the end of the process each request is sent once more. All together may take so long: a worker has 2 s to end. */
const LAST_MS = 1_500
/** Messages about a collector in a log: the first, and then so often. */
const LOG_INTERVAL_MS = 60_000
const SMALL_BYTES = 16 * 1024

export type DropReason = 'queue_full' | 'too_large' | 'refused' | 'rejected' | 'expired' | 'shutdown'

/** Counts spans, log records and data points. */
export interface ExportObserver {
  exported(items: number): void
  dropped(items: number, reason: DropReason): void
  retried(): void
}

export interface ExporterOptions {
  readonly envelope: Envelope
  readonly transport: OtlpTransport
  readonly batch: BatchSettings
  readonly time: Time
  readonly observer: ExportObserver
  readonly log: (level: 'info' | 'warn' | 'error', message: string) => void
  /** Has the exporter in it as long as that has something to send. */
  readonly active: Set<Exporter>
}

interface Request {
  readonly message: Buffer
  /** The buffer that `message` is the whole of; null: it is a copy. */
  readonly whole: Buffer | null
  readonly items: number
  readonly madeAt: number
  attempts: number
}

export class Exporter {
  readonly #options: ExporterOptions
  /** The batch that is being filled; null: none is. */
  #buffer: Buffer | null = null
  #at = 0
  #items = 0
  /** A buffer of full size whose request is done. */
  #spare: Buffer | null = null
  #stopTimer: (() => void) | null = null
  /** The batch has waited long enough, and leaves when the collector has answered. */
  #isDue = false
  readonly #queue: Request[] = []
  #queueBytes = 0
  #call: { cancel(): void } | null = null
  #stopPause: (() => void) | null = null
  /** Set while the process ends. */
  #onEmpty: (() => void) | null = null
  #loggedAt = Number.NEGATIVE_INFINITY
  #hasLoggedRejected = false

  constructor(options: ExporterOptions) {
    this.#options = options
  }

  /** Copies `item`. `count`: what it counts for; a metric counts for its data points. */
  add(item: Uint8Array, count = 1): void {
    const { envelope, batch } = this.#options
    const bytes = 1 + varintBytes(item.length) + item.length
    if (envelope.roomBytes + bytes > batch.batchBytesMax) {
      this.#options.observer.dropped(count, 'too_large')
      return
    }
    if (this.#buffer !== null && this.#at + bytes > batch.batchBytesMax) this.#cut()
    const buffer = this.#room(bytes)
    let at = this.#at
    buffer[at++] = ITEM
    for (let rest = item.length; ; rest >>>= 7) {
      buffer[at++] = rest > 127 ? (rest & 127) | 128 : rest
      if (rest <= 127) break
    }
    buffer.set(item, at)
    this.#at = at + item.length
    this.#items += count
  }

  /** Sends what has been gathered as soon as the collector takes it. */
  flush(): void {
    if (this.#buffer !== null) this.#cut()
  }

  /** Resolves when all is sent, or dropped because that would take too long. */
  close(): Promise<void> {
    this.flush()
    if (this.#isIdle) return Promise.resolve()
    return new Promise((resolve) => {
      const stop = this.#options.time.after(LAST_MS, () => {
        this.#call?.cancel()
        this.#call = null
        this.#dropAll('shutdown')
        resolve()
      })
      this.#onEmpty = () => {
        stop()
        resolve()
      }
      if (this.#stopPause !== null) this.#resume()
    })
  }

  #rest(): void {
    if (this.#buffer === null && this.#isIdle) this.#options.active.delete(this)
  }

  get #isIdle(): boolean {
    return this.#queue.length === 0 && this.#call === null
  }

  /** The buffer of the batch with room for `bytes` more. */
  #room(bytes: number): Buffer {
    const { envelope, batch } = this.#options
    if (this.#buffer === null) {
      this.#options.active.add(this)
      this.#buffer = this.#spare ?? Buffer.allocUnsafeSlow(Math.min(SMALL_BYTES, batch.batchBytesMax))
      this.#spare = null
      this.#at = envelope.roomBytes
      this.#isDue = false
      this.#stopTimer = this.#options.time.after(batch.delayMs, () => this.#onDelay())
    }
    const wanted = this.#at + bytes
    const buffer = this.#buffer
    if (wanted <= buffer.length) return buffer
    let size = buffer.length * 2
    while (size < wanted) size *= 2
    const larger = Buffer.allocUnsafeSlow(Math.min(size, batch.batchBytesMax))
    larger.set(buffer.subarray(0, this.#at))
    this.#buffer = larger
    return larger
  }

  #onDelay(): void {
    this.#stopTimer = null
    // Behind a slow collector one large request is better than many small ones.
    if (this.#isIdle) this.#cut()
    else this.#isDue = true
  }

  /** Ends the batch: it becomes a request. */
  #cut(): void {
    const { envelope, batch, observer, time } = this.#options
    const buffer = this.#buffer!
    const items = this.#items
    this.#stopTimer?.()
    this.#stopTimer = null
    this.#buffer = null
    this.#items = 0
    const closed = envelope.close(buffer, this.#at)
    if (this.#queueBytes + closed.length > batch.queueBytesMax) {
      observer.dropped(items, 'queue_full')
      this.#keep(buffer)
      this.#rest()
      return
    }
    // A queue of small requests in large buffers would take many times its bytes.
    const isSmall = closed.length * 2 < buffer.length
    const message = isSmall ? Buffer.from(closed) : closed
    if (isSmall) this.#keep(buffer)
    this.#queue.push({ message, whole: isSmall ? null : buffer, items, madeAt: time.now(), attempts: 0 })
    this.#queueBytes += message.length
    this.#send()
  }

  #keep(buffer: Buffer): void {
    if (this.#spare === null || this.#spare.length < buffer.length) this.#spare = buffer
  }

  #send(): void {
    if (this.#call !== null || this.#stopPause !== null) return
    const request = this.#queue[0]
    if (request === undefined) return
    const { transport, batch } = this.#options
    request.attempts++
    this.#call = transport.send(request.message, batch.exportTimeoutMs, (outcome) => {
      this.#call = null
      // After close() it may have been given up.
      if (this.#queue[0] === request) this.#done(request, outcome)
    })
  }

  #done(request: Request, outcome: ExportOutcome): void {
    if (outcome.kind === 'again' && this.#mayRepeat(request)) {
      this.#pause(request, outcome)
      return
    }
    this.#queue.shift()
    this.#queueBytes -= request.message.length
    this.#count(request, outcome)
    if (outcome.kind === 'taken' && request.whole !== null) this.#keep(request.whole)
    if (this.#isDue && this.#buffer !== null && this.#queue.length === 0) this.#cut()
    else this.#send()
    if (this.#isIdle) this.#onEmpty?.()
    this.#rest()
  }

  #mayRepeat({ madeAt }: Request): boolean {
    return this.#onEmpty === null && this.#options.time.now() - madeAt < AGE_MS_MAX
  }

  #count(request: Request, outcome: ExportOutcome): void {
    const { observer, transport, log } = this.#options
    const { items } = request
    if (outcome.kind === 'taken') {
      const rejected = Math.min(outcome.rejected, items)
      observer.exported(items - rejected)
      if (rejected > 0) observer.dropped(rejected, 'rejected')
      if ((rejected > 0 || outcome.message !== '') && !this.#hasLoggedRejected) {
        this.#hasLoggedRejected = true
        log('warn', `${transport.name} did not take ${rejected} of ${items} items: ${outcome.message}`)
      }
      return
    }
    observer.dropped(items, outcome.kind === 'refused' ? 'refused' : this.#onEmpty === null ? 'expired' : 'shutdown')
    this.#tell(`${items} items for ${transport.name} are lost: ${outcome.message}`)
  }

  #pause({ attempts }: Request, { afterMs, message }: ExportOutcome & { kind: 'again' }): void {
    const { time, observer, transport } = this.#options
    observer.retried()
    this.#tell(`${transport.name} takes nothing now: ${message}`)
    const bound = Math.min(BACKOFF_MS * 2 ** Math.min(attempts - 1, 16), BACKOFF_MS_MAX)
    // Half of it at random: workers that failed together do not come back together.
    const backoffMs = (bound * (1 + time.random())) / 2
    const waitMs = afterMs === null ? backoffMs : Math.min(Math.max(afterMs, 0), RETRY_AFTER_MS_MAX)
    this.#stopPause = time.after(waitMs, () => this.#resume())
  }

  #resume(): void {
    this.#stopPause?.()
    this.#stopPause = null
    this.#send()
  }

  #dropAll(reason: DropReason): void {
    for (const { items } of this.#queue.splice(0)) this.#options.observer.dropped(items, reason)
    this.#queueBytes = 0
  }

  #tell(message: string): void {
    const now = this.#options.time.now()
    if (now - this.#loggedAt < LOG_INTERVAL_MS) return
    this.#loggedAt = now
    this.#options.log('warn', message)
  }
}
