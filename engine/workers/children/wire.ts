/**
 * What stands for a process and needs a worker (a stream of a server in the network): the hub in the main thread has
 * the conversation, as it has those with processes, and one worker has the wire. So every worker reaches the one owner.
 */
import type { ChannelEvents, ChildChannel, ChildFailure, Delivery } from '#engine/contract/children.ts'
import type { WireCommand, WireEvent } from './messages.ts'

/** The hub's end. */
export class RemoteWire implements ChildChannel {
  readonly pid = 0
  readonly #order: (order: WireCommand) => void
  readonly #events: ChannelEvents
  readonly #gone = Promise.withResolvers<void>()
  /** Written, and not taken yet. */
  readonly #writes = new Map<number, { readonly delivery: Delivery; readonly chars: number }>()
  #numbers = 0
  #isOver = false
  queuedBytes = 0

  /** `order`: to the worker. */
  constructor(order: (order: WireCommand) => void, events: ChannelEvents) {
    this.#order = order
    this.#events = events
    order({ op: 'open' })
  }

  get gone(): Promise<void> {
    return this.#gone.promise
  }

  write(line: string, delivery: Delivery): void {
    if (this.#isOver) return
    const write = ++this.#numbers
    this.#writes.set(write, { delivery, chars: line.length })
    this.queuedBytes += line.length
    this.#order({ op: 'write', write, line, isFirst: delivery.isFirst, extra: delivery.extra })
  }

  pause(): void {
    this.#order({ op: 'pause' })
  }

  resume(): void {
    this.#order({ op: 'resume' })
  }

  /** The worker is not awaited, since it may be gone. */
  end(): void {
    this.#order({ op: 'end' })
    this.over('was closed')
  }

  kill(): void {
    this.#order({ op: 'kill' })
    this.over('it takes no messages')
  }

  onEvent(event: WireEvent): void {
    if (event.event === 'taken') this.#taken(event.write, event.failure)
    else if (this.#isOver) return
    else if (event.event === 'line') this.#events.line(event.text)
    else if (event.event === 'log') this.#events.log(event.text)
    else if (event.event === 'tooLong') this.#events.tooLong()
    else this.over(event.why)
  }

  #taken(write: number, failure: ChildFailure | null): void {
    const written = this.#writes.get(write)
    if (written === undefined) return
    this.#writes.delete(write)
    this.queuedBytes -= written.chars
    if (failure !== null) written.delivery.lost(failure)
    this.#events.drained()
  }

  /** Also when its worker is gone. */
  over(why: string): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#writes.clear()
    this.queuedBytes = 0
    this.#events.ended(why)
    this.#gone.resolve()
  }
}

/** The worker's end: carries out what the hub wants. */
export class WireHost {
  readonly #channel: ChildChannel
  readonly #tell: (event: WireEvent) => void

  /** `tell`: to the hub. `over`: the wire is gone. */
  constructor(start: (events: ChannelEvents) => ChildChannel, tell: (event: WireEvent) => void, over: () => void) {
    this.#tell = tell
    this.#channel = start({
      line: (text) => tell({ event: 'line', text }),
      tooLong: () => tell({ event: 'tooLong' }),
      log: (text) => tell({ event: 'log', text }),
      // The hub counts what has been taken.
      drained: () => undefined,
      ended(why) {
        tell({ event: 'ended', why })
        over()
      }
    })
  }

  obey(order: Exclude<WireCommand, { readonly op: 'open' }>): void {
    if (order.op !== 'write') {
      this.#channel[order.op]()
      return
    }
    const { write, line, isFirst, extra } = order
    this.#channel.write(line, {
      isFirst,
      extra,
      taken: () => this.#tell({ event: 'taken', write, failure: null }),
      lost: (failure) => this.#tell({ event: 'taken', write, failure })
    })
  }
}
