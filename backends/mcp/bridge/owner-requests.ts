/**
 * One owner for what is kept upstream for a caller of the stateless era: his sessions with a stateful server are in one
 * worker, and every other one sends his requests there. So a session is one, whichever worker a connection has come to.
 */
import type { RpcRequest } from '#backends/mcp/protocol/json-rpc.ts'
import type { LinkEvents, LinkOptions } from '#backends/mcp/targets/target.ts'
import type { Bus, Errand, TurnName, Word } from '#backends/mcp/workers/bus.ts'
import type { Turns } from '#backends/mcp/workers/remote-requests.ts'
import { HeaderBlock } from '#engine/http/headers.ts'
import { monotonicClock } from '#engine/kit/monotonic.ts'
import { failure, faultOf } from './link-events.ts'

const monotonic = monotonicClock()

/** Carries out a request for a target, here. Returns what gives it up. */
export type CarryOut = (options: LinkOptions, message: RpcRequest, events: LinkEvents, timeoutMs: number) => () => void

export class Errands {
  readonly #bus: Bus
  readonly #turns: Turns
  /** By backend and target, of the configuration in force. */
  readonly #targets = new Map<string, ReadonlyMap<string, CarryOut>>()

  constructor(bus: Bus, turns: Turns) {
    this.#bus = bus
    this.#turns = turns
    bus.listen((word) => this.#hear(word))
  }

  /** A configuration of `backend` is in force: `targets` are all that it has. Returns what ends that. */
  serve(backend: string, targets: ReadonlyMap<string, CarryOut>): () => void {
    this.#targets.set(backend, targets)
    return () => {
      // Another one may have taken its place.
      if (this.#targets.get(backend) === targets) this.#targets.delete(backend)
    }
  }

  /** Null: it is for this worker to do. */
  toOwner(sessionKey: string): string | null {
    const owner = this.#bus.ownerOf(sessionKey)
    return owner === this.#bus.self ? null : owner
  }

  send(to: string, asked: Omit<Errand, 'sentAt'>, events: LinkEvents): () => void {
    const { message, timeoutMs: waitMs } = asked
    const errand = { ...asked, sentAt: monotonic() }
    const word = (name: TurnName): Word => ({ kind: 'ask', to, ...name, ...errand })
    const lost = (waiting: LinkEvents): void => waiting.failed(NOT_TAKEN)
    return this.#turns.send({ to, id: message.id, events, waitMs, word, lost })
  }

  #hear(word: Word): void {
    if (word.kind !== 'ask') return
    const { backend, target, sessionKey, party, fields, message } = word
    const timeoutMs = leftMs(word)
    const carryOut = this.#targets.get(backend)?.get(target)
    const options = { sessionKey, upstreamSession: null, version: null, headers: headersOf(fields), party }
    const start = (events: LinkEvents): (() => void) | null => carryOut?.(options, message, events, timeoutMs) ?? null
    const error = { code: -32603, message: `target ${target}: is not in the configuration` }
    this.#turns.host(word, start, faultOf(message.id, error))
  }
}

/** Nobody has begun with it, and nobody will. */
export const NOT_TAKEN = failure(
  'unreachable',
  'the worker with the session is busy or not there: the request was not carried out, and may be sent again'
)

/** Of the time that the caller gives, where it gives one: at least one millisecond. */
function leftMs({ timeoutMs, sentAt }: Errand): number {
  return timeoutMs === 0 ? 0 : Math.max(1, Math.ceil(timeoutMs - (monotonic() - sentAt)))
}

/** The other way round. */
export function headersOf(fields: readonly string[]): HeaderBlock {
  const headers = new HeaderBlock()
  for (let i = 0; i + 1 < fields.length; i += 2) headers.append(fields[i]!, fields[i + 1]!)
  return headers
}

/** Flat, name and value by turns: what goes from thread to thread. */
export function fieldsOf(headers: HeaderBlock): string[] {
  const fields: string[] = []
  headers.forEach((name, value) => void fields.push(name, value))
  return fields
}
