/**
 * Policies of backends about connections (docs/specification.md#backend-connections): for all kinds of backends, at
 * every level. Field by field the most precise level holds: gateway, listener, route, backend, its reference; then a
 * provider or an MCP target of it.
 */

import {
  type BackendPolicies,
  mergedFields,
  type PlacedPolicy,
  type PolicySets,
  plainOnly,
  type Report,
  type ServingBind
} from '#engine/contract/backend-config.ts'
import type { BackendTransport } from '#engine/contract/backend-transport/transport.ts'
import { FieldError, type Sources } from '#engine/contract/policy.ts'
import { objectOf } from '#engine/schema/placed.ts'
import { onlyInFiles } from '#engine/schema/spelling.ts'
import { backendTcp, type FileTcp, tcpOf } from './tcp.ts'
import { backendTls, type FileTls, readTls, verifyOf } from './tls.ts'

const TLS = backendTls()
const TCP = backendTcp()

const NO_NAME =
  'needs hostname or subjectAltNames here: what is behind a unix socket has no name that a certificate could have'

/** TLS and TCP to backends. */
export const transportPolicies = {
  keys: { tls: 'tls', backendTLS: 'tls', tcp: 'tcp' },
  schemas: {
    tls: TLS.optional().describe('TLS to backends.'),
    backendTLS: onlyInFiles(TLS.optional()).describe('Another name of tls.'),
    tcp: TCP.optional().describe('TCP connections to backends.')
  },
  actsOnAll: true,
  // Not in the clear, and not trusting more than the system does.
  closed: { tls: () => ({}) },
  words: {
    repeated: (first) => `says again what ${first} says: keep one of them`,
    misplaced: () => '',
    unreached: () => 'is for backends, and there is none below'
  },
  checkValue({ field, value, path }, sources, report) {
    const parsed = field === 'tls' ? TLS.safeParse(value) : null
    // The schema has reported its mistakes.
    if (parsed?.success !== true) return
    try {
      readTls(parsed.data, sources)
    } catch (error) {
      const inside = error instanceof FieldError ? error.path : []
      report([...path, ...inside], (error as Error).message, 'value')
    }
  },
  check({ raw, isPlain }, policies, bind, report) {
    if (bind !== null && isPlain) checkClientPort(policies, bind, report)
    const tls = policies.findLast(({ field }) => field === 'tls')
    if (tls === undefined || typeof raw.host !== 'string' || !raw.host.startsWith('unix:')) return
    const { hostname, sni, subjectAltNames, verifySubjectAltNames, ...rest } = objectOf(tls.value)
    const isNamed = (hostname ?? sni ?? subjectAltNames ?? verifySubjectAltNames) !== undefined
    if (!isNamed && verifyOf(rest) === 'full') report(tls.path, NO_NAME)
  },
  warnings({ field, value, path }) {
    if (field !== 'tls' || verifyOf(objectOf(value)) !== 'none') return []
    return [{ path, message: 'verifies nothing: whoever answers can read and change what is sent' }]
  }
} satisfies BackendPolicies

/** PROXY headers to backends, a part of the policy tcp. */
export const proxyHeaderPolicies: BackendPolicies = {
  keys: { tcp: 'tcp' },
  schemas: {},
  inside: 'proxyProtocol',
  words: {
    misplaced: (plain) => `${plainOnly(plain)}, and this one is none`,
    unreached: (plain) => `${plainOnly(plain)}, and there is none below`
  }
}

function checkClientPort(policies: readonly PlacedPolicy[], { path, transport }: ServingBind, report: Report): void {
  const tcp = policies.findLast(({ field }) => field === 'tcp')
  if (transport.knowsClientPort || objectOf(tcp?.value).proxyProtocol === undefined) return
  const lack = `transport ${transport.name} does not know the port of a client, which PROXY headers to backends tell`
  report([...path, 'transport'], `${lack}: use transport auto or node`, 'value')
}

interface FileTransport {
  readonly tls?: FileTls | undefined
  readonly tcp?: FileTcp | undefined
}

/** Reads what policies refer to, each policy once: what says the same is the same object. */
export class Transports {
  readonly #sources: Sources
  readonly #tls = new Map<FileTls, BackendTransport['tls']>()
  readonly #all = new Map<FileTls | undefined, Map<FileTcp | undefined, BackendTransport>>()

  constructor(sources: Sources) {
    this.#sources = sources
  }

  /** Undefined: `levels` say nothing. Throws a FieldError. */
  of(...levels: readonly PolicySets[]): BackendTransport | undefined {
    const { tls, tcp } = mergedFields(transportPolicies, levels) as FileTransport
    if (tls === undefined && tcp === undefined) return undefined
    const sameTls = this.#all.get(tls) ?? new Map<FileTcp | undefined, BackendTransport>()
    this.#all.set(tls, sameTls)
    const known = sameTls.get(tcp)
    if (known !== undefined) return known
    const made = { tls: tls === undefined ? null : this.#read(tls), tcp: tcp === undefined ? null : tcpOf(tcp) }
    sameTls.set(tcp, made)
    return made
  }

  #read(file: FileTls): BackendTransport['tls'] {
    const made = this.#tls.get(file) ?? readTls(file, this.#sources)
    this.#tls.set(file, made)
    return made
  }
}
