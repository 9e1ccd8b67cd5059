/**
 * Model servers of which an endpoint picker chooses one: a service that the policy extProc asks, and that knows how
 * full their caches and queues are (Gateway API Inference Extension, proposal 004). What it picks outside of the pool
 * is not dialled, and what a client says of endpoints is not read.
 */
import type { InferencePoolBackend } from '#backends/http/config/snapshot.ts'
import { showInChecks } from '#backends/shared/auth/check-credentials.ts'
import { EXT_PROC } from '#engine/cel/exchange.ts'
import type { BackendContext, BackendKind, CompiledBackend } from '#engine/contract/backend.ts'
import { configuredEndpoint } from '#engine/contract/backend-transport/endpoint.ts'
import type { Endpoint } from '#engine/contract/endpoint.ts'
import { pickedEndpoints } from '#engine/contract/endpoint-picker.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import type { RetryPlan } from '#engine/contract/filter.ts'
import { type SendToEndpoint, senderFor } from './authenticated.ts'
import { inferencePoolConfig } from './config/inference-pool.ts'
import { proxyProtocol, spokenHttp } from './spoken.ts'

/** Of what a picker names, beside the first. */
const FURTHER_MAX = 3

interface Member {
  readonly endpoint: Endpoint
  readonly send: SendToEndpoint
}

// --- build time ---

function compile(backend: InferencePoolBackend, context: BackendContext): CompiledBackend {
  const { name, fail, hostRewrite } = context
  const { transport, auth, isOpen } = backend
  const spoken = { http: spokenHttp(backend.http), ...proxyProtocol(transport) }
  const hasTls = (transport?.tls ?? null) !== null
  const members = new Map<string, Member>()
  for (const { host, port } of backend.endpoints) {
    const endpoint = configuredEndpoint({ host, port, unixPath: null, hasTls: false, transport }, context, spoken)
    showInChecks(endpoint, { host, hasTls, auth, transport }, context)
    members.set(`${host}:${port}`, { endpoint, send: senderFor(auth, { host, hasTls }, context) })
  }
  const all = [...members.values()]
  let turn = 0

  // --- request time ---

  const picked = (ex: Exchange): readonly Member[] =>
    pickedEndpoints(EXT_PROC.get(ex)).flatMap((label) => members.get(label) ?? [])

  /** Where nobody picks. */
  function inTurn(): Member {
    const usable = all.filter(({ endpoint }) => endpoint.usable)
    const among = usable.length > 0 ? usable : all
    return among[turn++ % among.length]!
  }

  function memberFor(ex: Exchange): Member | null {
    const picks = ex.slots === null ? [] : picked(ex)
    if (picks.length === 0) return isOpen ? inTurn() : null
    // In the order of the picker: each further attempt goes to the next one.
    return picks[Math.min(ex.retry?.count ?? 0, picks.length - 1)]!
  }

  return {
    isUsable: () => all.some(({ endpoint }) => endpoint.usable),
    retry: all.length === 1 ? null : nextOf((ex) => (ex.slots === null ? 0 : picked(ex).length)),
    serve(ex) {
      ex.backend = name
      ex.backendType = inferencePoolBackend
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
  compile
}
