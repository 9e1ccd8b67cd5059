/** One case: a policy, a request, and what the servers do; and what all of them have seen of it. */
import { setTimeout as after } from 'node:timers/promises'
import { type ClientRequest, REQUEST, send } from './client.ts'
import type { EnvoyPart } from './envoy.ts'
import {
  joinPieces,
  type Plain,
  recordCheck,
  recordClient,
  recordLimit,
  recordProcessed,
  recordRequest
} from './record.ts'
import type { Behaviour, Ports, Servers } from './servers.ts'
import type { ListenerTls } from './tls.ts'

/** A policy, as each of the two has it. */
export interface Setup {
  readonly envoy: EnvoyPart
  /** Policies of the route, and fields at the top of the file. */
  readonly weir: (ports: Ports) => { readonly policies: object; readonly file?: object }
  /** Absent: clear text. */
  readonly tls?: ListenerTls
}

export interface Case {
  /** No two have the same. */
  readonly name: string
  readonly setup: Setup
  readonly request: ClientRequest
  readonly behaviour: Partial<Behaviour>
  /** The gateway refuses the request in its own words: of the answer, the status is compared. */
  readonly isOwnWords: boolean
  /** What has to have come when the client has its answer; the run waits for it. */
  readonly until: ((servers: Servers) => boolean) | null
}

type CaseFields = Partial<Omit<Case, 'request' | 'behaviour' | 'name' | 'setup'>> &
  Partial<Behaviour> & { readonly request?: Partial<ClientRequest> }

/** Cases of one setup; each name has the group in front. */
export function group(name: string, setup: Setup, cases: Readonly<Record<string, CaseFields>>): Case[] {
  return Object.entries(cases).map(([own, { request, isOwnWords = false, until = null, ...behaviour }]) => ({
    name: `${name}: ${own}`,
    setup,
    request: { ...REQUEST, ...request },
    behaviour,
    isOwnWords,
    until
  }))
}

export interface Observed {
  /** What the services were told, in order. */
  readonly service: Plain
  readonly backend: Plain
  readonly client: Plain
}

const SETTLE_MS_MAX = 5_000
const LOOK_MS = 5
const ARRIVAL_MS = 20

export async function observe(one: Case, port: number, servers: Servers): Promise<Observed> {
  servers.behave(one.behaviour)
  const client = recordClient(await send(port, one.request, servers.firstRequest()), one.isOwnWords)
  const late = AbortSignal.timeout(SETTLE_MS_MAX)
  while (one.until !== null && !one.until(servers) && !late.aborted) await after(LOOK_MS)
  if (servers.processed.length > 0) {
    await Promise.race([servers.processorIsDone(), after(SETTLE_MS_MAX)])
    // Of a stream that was reset, messages may still be on their way to the service's own code.
    await after(ARRIVAL_MS)
  }
  const service = [
    ...servers.checks.map(recordCheck),
    ...servers.httpChecks.map(recordRequest),
    ...servers.limits.map(recordLimit),
    ...joinPieces(servers.processed).map(recordProcessed)
  ]
  return { service, backend: servers.backend.map(recordRequest), client }
}
