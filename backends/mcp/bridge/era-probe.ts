/**
 * Of which era a server is: asked with `server/discover`, and remembered for a while (2026-07-28, basic/versioning,
 * Backward Compatibility; basic/transports, the same).
 */

import { randomBytes } from 'node:crypto'
import { declaredBy } from '#backends/mcp/protocol/capabilities.ts'
import type { RpcFault, RpcResponse } from '#backends/mcp/protocol/json-rpc.ts'
import { type Era, STATELESS } from '#backends/mcp/protocol/revisions.ts'
import {
  HEADER_MISMATCH,
  isObject,
  MISSING_CLIENT_CAPABILITY,
  UNSUPPORTED_VERSION
} from '#backends/mcp/protocol/stateless.ts'
import type { LinkFailure, LinkOptions, Target } from '#backends/mcp/targets/target.ts'
import { failure } from './link-events.ts'
import { discoverFor, factsOf } from './stateful-client.ts'

/** How long an era is believed; milliseconds. Servers are upgraded, and sometimes set back. */
const REMEMBERED_MS = 300_000
/** A child that says nothing to discovery for so long is of the old era; milliseconds. */
const SILENCE_MS = 3_000

/** `declared`: of a stateless server, as declaredBy says it. */
type Learnt = (era: Era | LinkFailure, declared?: number) => void

/** What an answer to `server/discover` proves; a failure: nothing, and the server cannot be used. */
export function eraByAnswer(response: RpcResponse): Era | LinkFailure {
  if ('result' in response) return factsOf(response.result, '') === null ? 'stateful' : 'stateless'
  return eraByError(response.error)
}

function eraByError({ code, data }: RpcFault['error']): Era | LinkFailure {
  if (code === HEADER_MISMATCH || code === MISSING_CLIENT_CAPABILITY) return 'stateless'
  if (code !== UNSUPPORTED_VERSION) return 'stateful'
  const supported = isObject(data) && Array.isArray(data.supported) ? data.supported : []
  if (supported.includes(STATELESS)) return 'stateless'
  // A server of both eras may have a newer revision than the gateway, and an old one that both speak.
  const isOld = supported.some((version) => typeof version === 'string' && version < STATELESS)
  return isOld ? 'stateful' : failure('refused', 'the server speaks no revision that the gateway speaks')
}

/** Where no JSON-RPC answer came. */
export function eraByFailure(why: LinkFailure, kind: Target['kind']): Era | LinkFailure {
  // Servers of the old era may say nothing, or end, when something comes before `initialize`.
  if (kind === 'stdio') return why.kind === 'timeout' || why.kind === 'broken' ? 'stateful' : why
  const { status } = why
  if (why.kind !== 'refused' || status === null) return why
  const proves = status >= 400 && status < 500 && ![401, 403, 407, 408, 429].includes(status)
  return proves ? 'stateful' : why
}

interface Waiter {
  /** The target, as its own configuration has it. */
  readonly raw: Target
  readonly options: LinkOptions
  readonly timeoutMs: number
  readonly then: Learnt
}

export class Eras {
  #era: Era | null = null
  #until = 0
  /** What a stateless server has declared; null: it has not been asked. */
  declared: number | null = null
  #waiting: Waiter[] | null = null

  constructor(kind: Target['kind']) {
    // Neither APIs nor the old transport know anything of the new era.
    if (kind === 'openapi' || kind === 'sse') this.#remember('stateful', Number.POSITIVE_INFINITY)
  }

  get known(): Era | null {
    return this.#until > performance.now() ? this.#era : null
  }

  forget(): void {
    if (this.#until !== Number.POSITIVE_INFINITY) this.#until = 0
  }

  #remember(era: Era, until = performance.now() + REMEMBERED_MS): void {
    this.#era = era
    this.#until = until
  }

  /** Where it is not known: calls back later with the era, or with why it cannot be. Returns what gives it up. */
  learn(raw: Target, options: LinkOptions, timeoutMs: number, then: Learnt): () => void {
    const waiter = { raw, options, timeoutMs, then }
    if (this.#waiting === null) {
      this.#waiting = [waiter]
      this.#ask()
    } else this.#waiting.push(waiter)
    return () => {
      const at = this.#waiting?.indexOf(waiter) ?? -1
      // The first one's question goes on: others wait for its answer.
      if (at > 0) this.#waiting?.splice(at, 1)
    }
  }

  /** Asks for the first that waits. What fails for it (its own key, perhaps) need not fail for the others. */
  #ask(): void {
    const first = this.#waiting?.[0]
    if (first === undefined) {
      this.#waiting = null
      return
    }
    const done: Learnt = (era, declared) => {
      const waiting = this.#waiting ?? []
      if (typeof era === 'string') {
        this.#waiting = null
        this.declared = declared ?? null
        this.#remember(era)
        for (const { then } of waiting) then(era)
        return
      }
      waiting.shift()
      first.then(era)
      this.#ask()
    }
    probe(first.raw, first.options, first.timeoutMs, done)
  }
}

export function probe(raw: Target, options: LinkOptions, timeoutMs: number, then: Learnt): void {
  const isChild = raw.kind === 'stdio'
  // Of its own also where other workers ask the same: whoever is done ends the child.
  const sessionKey = `${options.sessionKey}.probe.${randomBytes(9).toString('base64url')}`
  const link = raw.open({ ...options, sessionKey, upstreamSession: null, version: STATELESS })
  const done: Learnt = (era, declared) => {
    // A child that has been asked before its handshake may not take one any more.
    if (isChild) link.close()
    else link.release()
    then(era, declared)
  }
  const silence = timeoutMs > 0 ? Math.min(timeoutMs, SILENCE_MS) : SILENCE_MS
  const question = discoverFor({ clientInfo: { name: 'weir', version: '1' }, capabilities: {} }, 'weir-era')
  link.request(
    question,
    {
      message: () => undefined,
      answered: (response) => {
        const facts = 'result' in response ? factsOf(response.result, '') : null
        done(eraByAnswer(response), facts === null ? undefined : declaredBy(facts.capabilities))
      },
      failed: (why) => done(eraByFailure(why, raw.kind))
    },
    isChild ? silence : timeoutMs
  )
}
