/**
 * One owner for what is kept upstream for a caller of the stateless era: his sessions with a stateful server are in one
 * worker, and every other one sends his requests there. So a session is one, whichever worker a connection has come to.
 */
import type { RpcRequest } from '#backends/mcp/rpc.ts'
import type { LinkEvents, LinkOptions } from '#backends/mcp/target.ts'
import { HeaderBlock } from '#engine/http/headers.ts'
import type { Bus, Errand, Word } from './bus.ts'
import { failure, faultOf } from './events.ts'
import type { Turns } from './turns.ts'

/** Carries out a request for a target, here. Returns what gives it up. */
export type CarryOut = (options: LinkOptions, message: RpcRequest, events: LinkEvents, timeoutMs: number) => () => void

export class Errands {
  readonly #bus: Bus
  readonly #turns: Turns
  /** By backend and target, of the configuration in force. */
  readonly #targets = new Map<string, Map<string, CarryOut>>()

  constructor(bus: Bus, turns: Turns) {
    this.#bus = bus
    this.#turns = turns
    bus.listen((word) => this.#hear(word))
  }

  /** A configuration of `backend` is made: `targets` are all that it has. */
  serve(backend: string, targets: Map<string, CarryOut>): void {
    this.#targets.set(backend, targets)
  }

  /** Null: it is for this worker to do. */
  toOwner(sessionKey: string): string | null {
    const owner = this.#bus.ownerOf(sessionKey)
    return owner === this.#bus.self ? null : owner
  }

  send(to: string, errand: Errand, events: LinkEvents): () => void {
    const { id } = errand.message
    const word = (turn: string): Word => ({ kind: 'ask', to, from: this.#bus.self, turn, ...errand })
    const lost = (waiting: LinkEvents): void =>
      waiting.failed(failure('unreachable', 'the worker with the session is not there'))
    return this.#turns.send({ to, id, events, word, lost })
  }

  #hear(word: Word): void {
    if (word.kind !== 'ask') return
    const { backend, target, sessionKey, fields, message, timeoutMs } = word
    const carryOut = this.#targets.get(backend)?.get(target)
    const options = { sessionKey, upstreamSession: null, version: null, headers: headersOf(fields) }
    const start = (events: LinkEvents): (() => void) | null => carryOut?.(options, message, events, timeoutMs) ?? null
    const error = { code: -32603, message: `target ${target}: is not in the configuration` }
    this.#turns.host(word.turn, word.from, start, faultOf(message.id, error))
  }
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
