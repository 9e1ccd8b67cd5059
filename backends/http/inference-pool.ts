/**
 * Model servers of which an endpoint picker chooses one: a service that the policy extProc asks, and that knows how
 * full their caches and queues are (Gateway API Inference Extension, proposal 004). What it picks outside of the pool
 * is not dialled, and what a client says of endpoints is not read.
 */
import type { InferencePoolBackend, ListedPoolBackend } from '#backends/http/config/snapshot.ts'
import { EXT_PROC } from '#engine/cel/exchange.ts'
import type { BackendContext, BackendKind, CompiledBackend } from '#engine/contract/backend.ts'
import { pickedEndpoints } from '#engine/contract/endpoint-picker.ts'
import type { BackendType, Exchange } from '#engine/contract/exchange.ts'
import type { RetryPlan } from '#engine/contract/filter.ts'
import { inferencePoolConfig, listedPoolConfig } from './config/inference-pool.ts'
import { configuredMembers, listedMembers, type Member, type Members } from './pool-members.ts'

/** Of what a picker names, beside the first. */
const FURTHER_MAX = 3

interface Pool {
  readonly type: BackendType
  readonly current: () => Members
  /** Without a pick any of them gets the request. */
  readonly isOpen: boolean
}

// --- build time ---

function compilePool({ type, current, isOpen }: Pool, { name, fail, hostRewrite }: BackendContext): CompiledBackend {
  let turn = 0

  // --- request time ---

  const picked = (ex: Exchange): readonly Member[] => {
    const members = current()
    return pickedEndpoints(EXT_PROC.get(ex)).flatMap((label) => members.get(label) ?? [])
  }

  /** Where nobody picks. */
  function inTurn(): Member | null {
    const all = [...current().values()]
    const usable = all.filter(({ endpoint }) => endpoint.usable)
    const among = usable.length > 0 ? usable : all
    return among[turn++ % among.length] ?? null
  }

  function memberFor(ex: Exchange): Member | null {
    const picks = ex.slots === null ? [] : picked(ex)
    if (picks.length === 0) return isOpen ? inTurn() : null
    // In the order of the picker: each further attempt goes to the next one.
    return picks[Math.min(ex.retry?.count ?? 0, picks.length - 1)]!
  }

  return {
    isUsable: () => {
      for (const { endpoint } of current().values()) if (endpoint.usable) return true
      return false
    },
    retry: nextOf((ex) => (ex.slots === null ? 0 : picked(ex).length)),
    serve(ex) {
      ex.backend = name
      ex.backendType = type
      const member = memberFor(ex)
      if (member === null) {
        ex.errorDetail = 'no endpoint of the pool was picked'
        fail(ex, 'NO_ENDPOINT')
        return
      }
      const { isHostname, hostHeader } = member.endpoint
      if (hostRewrite === 'auto' || (hostRewrite === 'default' && isHostname)) ex.upstreamHost ??= hostHeader
      member.send(ex, member.endpoint)
    }
  }
}

/** Servers that cannot be reached are followed by the next one that was picked. */
function nextOf(pickCount: (ex: Exchange) => number): RetryPlan {
  return {
    attempts: FURTHER_MAX,
    codes: new Set(),
    backoffMs: 0,
    precondition: null,
    condition: null,
    budget: { percent: 100, minPerSecond: 100 },
    mayFollow: (ex) => (ex.retry?.count ?? 0) + 1 < pickCount(ex)
  }
}

export const inferencePoolBackend: BackendKind = {
  kind: 'inferencePool',
  protocol: 'http',
  config: inferencePoolConfig,
  compile(backend: InferencePoolBackend, context) {
    const members = configuredMembers(backend.endpoints, backend, context)
    const pool = { type: inferencePoolBackend, current: () => members, isOpen: backend.isOpen }
    const compiled = compilePool(pool, context)
    return members.size === 1 ? { ...compiled, retry: null } : compiled
  }
}

/** A pool whose members come and go while the configuration stays. */
export const listedPoolBackend: BackendKind = {
  kind: 'listedPool',
  protocol: 'http',
  config: listedPoolConfig,
  compile(backend: ListedPoolBackend, context) {
    const { current, background } = listedMembers(backend.list, backend, context)
    return { ...compilePool({ type: listedPoolBackend, current, isOpen: backend.isOpen }, context), background }
  }
}
