/**
 * The era of a server: probed with `server/discover` and cached for a while (2026-07-28, basic/versioning and
 * basic/transports, Backward Compatibility).
 */

import { randomBytes } from 'node:crypto'
import { capabilityBits } from '#backends/mcp/protocol/capabilities.ts'
import { isObject, type RpcErrorResponse, type RpcResponse } from '#backends/mcp/protocol/json-rpc.ts'
import { type Era, STATELESS } from '#backends/mcp/protocol/revisions.ts'
import { HEADER_MISMATCH, MISSING_CLIENT_CAPABILITY, UNSUPPORTED_VERSION } from '#backends/mcp/protocol/stateless.ts'
import {
  failure,
  type LinkFailure,
  type LinkOptions,
  type Target,
  type TargetTraits
} from '#backends/mcp/targets/target.ts'
import { discoverFor, readDiscoverResult } from './stateful-client.ts'

/** How long an era is cached; milliseconds. Servers are upgraded, and sometimes rolled back. */
const ERA_TTL_MS = 300_000
/** A process that does not answer discovery for so long is stateful; milliseconds. */
const SILENCE_MS = 3_000

/** `capabilities`: of a stateless server, as capability bits. */
type OnEra = (era: Era | LinkFailure, capabilities?: number) => void

/** From a response to `server/discover`. A failure: the server cannot be used. */
export function eraByAnswer(response: RpcResponse): Era | LinkFailure {
  if ('result' in response) return readDiscoverResult(response.result, '') === null ? 'stateful' : 'stateless'
  return eraByError(response.error)
}

function eraByError({ code, data }: RpcErrorResponse['error']): Era | LinkFailure {
  if (code === HEADER_MISMATCH || code === MISSING_CLIENT_CAPABILITY) return 'stateless'
  if (code !== UNSUPPORTED_VERSION) return 'stateful'
  const supported = isObject(data) && Array.isArray(data.supported) ? data.supported : []
  if (supported.includes(STATELESS)) return 'stateless'
  // A server of both eras may have a newer revision than the gateway, and an old one that both speak.
  const isOld = supported.some((version) => typeof version === 'string' && version < STATELESS)
  return isOld ? 'stateful' : failure('refused', 'the server speaks no revision that the gateway speaks')
}

/** Where no JSON-RPC response came. */
export function eraByFailure(why: LinkFailure, isProcess: boolean): Era | LinkFailure {
  // A stateful process may ignore what precedes `initialize`, or end.
  if (isProcess) return why.kind === 'timeout' || why.kind === 'broken' ? 'stateful' : why
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
  readonly then: OnEra
}

export class EraCache {
  #era: Era | null = null
  #until = 0
  /** Capability bits of a stateless server; null: not known. */
  capabilities: number | null = null
  #waiting: Waiter[] | null = null

  constructor({ era }: TargetTraits) {
    if (era !== null) this.#remember(era, Number.POSITIVE_INFINITY)
  }

  get known(): Era | null {
    return this.#until > performance.now() ? this.#era : null
  }

  forget(): void {
    if (this.#until !== Number.POSITIVE_INFINITY) this.#until = 0
  }

  #remember(era: Era, until = performance.now() + ERA_TTL_MS): void {
    this.#era = era
    this.#until = until
  }

  /** Probes the server, once for all that wait. Returns what gives the waiting up. */
  probe(raw: Target, options: LinkOptions, timeoutMs: number, then: OnEra): () => void {
    const waiter = { raw, options, timeoutMs, then }
    if (this.#waiting === null) {
      this.#waiting = [waiter]
      this.#probeFirst()
    } else this.#waiting.push(waiter)
    return () => {
      const at = this.#waiting?.indexOf(waiter) ?? -1
      // The probe of the first one goes on for the others.
      if (at > 0) this.#waiting?.splice(at, 1)
    }
  }

  /** Probes on behalf of the first that waits. What fails for it (its credentials, perhaps) may work for others. */
  #probeFirst(): void {
    const first = this.#waiting?.[0]
    if (first === undefined) {
      this.#waiting = null
      return
    }
    const done: OnEra = (era, capabilities) => {
      const waiting = this.#waiting ?? []
      if (typeof era === 'string') {
        this.#waiting = null
        this.capabilities = capabilities ?? null
        this.#remember(era)
        for (const { then } of waiting) then(era)
        return
      }
      waiting.shift()
      first.then(era)
      this.#probeFirst()
    }
    probe(first.raw, first.options, first.timeoutMs, done)
  }
}

export function probe(raw: Target, options: LinkOptions, timeoutMs: number, then: OnEra): void {
  const { isProcess } = raw.traits
  // Of its own even where other workers probe the same server: the end of a probe ends its process.
  const sessionKey = `${options.sessionKey}.probe.${randomBytes(9).toString('base64url')}`
  const link = raw.open({ ...options, sessionKey, upstreamSession: null, version: STATELESS })
  const done: OnEra = (era, capabilities) => {
    // A process that was probed may not accept a handshake any more.
    if (isProcess) link.close()
    else link.release()
    then(era, capabilities)
  }
  const silence = timeoutMs > 0 ? Math.min(timeoutMs, SILENCE_MS) : SILENCE_MS
  const request = discoverFor({ clientInfo: { name: 'weir', version: '1' }, capabilities: {} }, 'weir-era')
  link.request(
    request,
    {
      message: () => undefined,
      answered: (response) => {
        const facts = 'result' in response ? readDiscoverResult(response.result, '') : null
        done(eraByAnswer(response), facts === null ? undefined : capabilityBits(facts.capabilities))
      },
      failed: (why) => done(eraByFailure(why, isProcess))
    },
    isProcess ? silence : timeoutMs
  )
}
