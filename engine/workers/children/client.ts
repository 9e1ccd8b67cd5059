/** A worker's side of the hub of child processes (hub.ts): its pending requests and streams. */
import type {
  ChildFailure,
  ChildLink,
  ChildNotice,
  ChildRequest,
  ChildRequestEvents,
  Children,
  ChildSpec
} from '#engine/contract/children.ts'
import { inTurn } from '#engine/socket/round.ts'
import type { ChildCommand, ChildEvent, WireEvent } from './messages.ts'
import { WireHost } from './wire.ts'

type Listener = Parameters<ChildLink['listen']>[0]

/** ChildOrder without what every order has. */
type Order = ChildCommand extends infer One ? (One extends ChildCommand ? Omit<One, 'kind' | 'link'> : never) : never

export class ChildrenOfWorker implements Children {
  readonly #post: (order: ChildCommand) => void
  readonly #links = new Map<number, LinkOfWorker>()
  #numbers = 0
  /** Wires that this worker has, by the hub's number. */
  readonly #wires = new Map<number, WireHost>()

  constructor(post: (order: ChildCommand) => void) {
    this.#post = post
  }

  open(key: string, config: ChildSpec, instance: string | null, party = ''): ChildLink {
    const { start, ...rest } = config
    const spec = { ...rest, isWire: start !== undefined }
    const link = ++this.#numbers
    const post = (order: Order) => this.#post({ ...order, kind: 'child', link } as ChildCommand)
    return new LinkOfWorker({
      instance,
      start: start ?? null,
      post,
      begin: (self) => {
        this.#links.set(link, self)
        post({ op: 'attach', key, spec, instance, party })
      },
      over: () => this.#links.delete(link)
    })
  }

  #wire({ link, wire, order }: ChildEvent & { event: 'wire' }): void {
    if (order.op !== 'open') {
      this.#wires.get(wire)?.obey(order)
      return
    }
    const tell = (event: WireEvent): void => this.#post({ kind: 'child', link, op: 'wire', wire, event })
    const start = this.#links.get(link)?.start ?? null
    // Its caller has left meanwhile.
    if (start === null) tell({ event: 'ended', why: 'nobody needs it any more' })
    else this.#wires.set(wire, new WireHost(start, tell, () => this.#wires.delete(wire)))
  }

  receive(report: ChildEvent): void {
    if (report.event === 'wire') {
      this.#wire(report)
      return
    }
    const { link } = report
    inTurn(() => this.#links.get(link)?.receive(report))
    // Also when no request waits for it: the hub counts what this worker has not taken.
    if (report.event === 'message' || report.event === 'answered')
      this.#post({ kind: 'child', link, op: 'took', instance: report.instance, chars: report.text.length })
  }
}

interface Wires {
  readonly instance: string | null
  readonly start: ChildSpec['start'] | null
  readonly post: (order: Order) => void
  /** Before the first order. */
  readonly begin: (self: LinkOfWorker) => void
  readonly over: () => void
}

class LinkOfWorker implements ChildLink {
  instance: string | null
  readonly #wires: Wires
  #numbers = 0
  #hasBegun = false
  #isOver = false
  readonly #calls = new Map<number, ChildRequestEvents>()
  readonly #sends = new Map<number, (failure: ChildFailure | null) => void>()
  readonly #listeners = new Set<Listener>()
  #isReleased = false

  constructor(wires: Wires) {
    this.instance = wires.instance
    this.#wires = wires
  }

  /** Makes what stands for a process; null: it is one. */
  get start(): NonNullable<ChildSpec['start']> | null {
    return this.#wires.start ?? null
  }

  request(request: ChildRequest, events: ChildRequestEvents): () => void {
    const call = ++this.#numbers
    this.#calls.set(call, events)
    this.#order({ op: 'call', call, request })
    return () => {
      if (this.#calls.delete(call)) this.#order({ op: 'giveUp', call })
      this.#mayLeave()
    }
  }

  send(notice: ChildNotice): Promise<ChildFailure | null> {
    return new Promise((resolve) => {
      const send = ++this.#numbers
      this.#sends.set(send, resolve)
      this.#order({ op: 'send', send, notice })
    })
  }

  listen(events: Listener): () => void {
    this.#listeners.add(events)
    if (this.#listeners.size === 1) this.#order({ op: 'listen', isOn: true })
    return () => {
      if (this.#listeners.delete(events) && this.#listeners.size === 0) this.#order({ op: 'listen', isOn: false })
      this.#mayLeave()
    }
  }

  close(): void {
    this.#leave('close')
  }

  /** What waits for an answer gets it, and who listens hears on: others may need the place of this link by then. */
  release(): void {
    this.#isReleased = true
    this.#mayLeave()
  }

  #mayLeave(): void {
    const isUsed = this.#calls.size + this.#sends.size + this.#listeners.size > 0
    if (this.#isReleased && !isUsed) this.#leave('release')
  }

  receive(report: ChildEvent): void {
    if (report.event === 'sent') {
      this.#sends.get(report.send)?.(report.failure)
      this.#sends.delete(report.send)
    } else if (report.event === 'over') {
      const listeners = [...this.#listeners]
      this.#listeners.clear()
      for (const { ended } of listeners) ended(report.failure)
    } else if (report.event === 'message' && report.call === null) {
      // Several read the same stream: one of them is enough.
      this.#listeners.values().next().value?.message(report.text)
    } else this.#ofCall(report as ChildEvent & { call: number })
    this.#mayLeave()
  }

  #ofCall(report: ChildEvent & { call: number }): void {
    const events = this.#calls.get(report.call)
    if (report.event === 'message') {
      events?.message(report.text)
      return
    }
    this.#calls.delete(report.call)
    if (report.event === 'answered') {
      this.instance = report.instance
      events?.answered(report.text)
    } else if (report.event === 'failed') events?.failed(report.failure)
  }

  #leave(op: 'close' | 'release'): void {
    if (this.#isOver) return
    // What has not begun has a process nevertheless, if the link means one.
    if (this.#hasBegun || op === 'close') this.#order({ op })
    this.#isOver = true
    this.#wires.over()
    const failure: ChildFailure = { kind: 'broken', message: 'the conversation has been ended' }
    for (const resolve of this.#sends.values()) resolve(failure)
    this.#sends.clear()
    const calls = [...this.#calls.values()]
    this.#calls.clear()
    const listeners = [...this.#listeners]
    this.#listeners.clear()
    for (const { failed } of calls) failed(failure)
    for (const { ended } of listeners) ended(failure)
  }

  #order(order: Order): void {
    if (this.#isOver) return
    if (!this.#hasBegun) {
      this.#hasBegun = true
      this.#wires.begin(this)
    }
    this.#wires.post(order)
  }
}
