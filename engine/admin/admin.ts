/** The three servers of the control plane: admin, stats, readiness. */

import type { EndpointReport } from '#engine/contract/endpoint.ts'
import type { AdminSpec } from '#engine/ir/process.ts'
import { parseJson } from '#engine/kit/json.ts'
import { EXPOSITION_CONTENT_TYPE } from '#engine/telemetry/metrics-table.ts'
import { type Address, parseAddress } from './address.ts'
import { Api } from './api/api.ts'
import { shownError } from './api/gateway.ts'
import type { Role } from './api/operation.ts'
import { type ApiParts, operationsOf } from './api/operations.ts'
import { EXPLAIN_BYTES_MAX } from './api/requests.ts'
import { type Audit, AuditLog } from './audit.ts'
import { refuse } from './guard.ts'
import { redact } from './redact.ts'
import { type Handler, jsonReply, type Listening, listen, type Reply, type Request } from './server.ts'
import type { AdminState } from './state.ts'
import { armTrace, STORY_PATH, showTrace } from './traces.ts'
import { UiFiles } from './ui-files.ts'
import { unexpander } from './unexpand.ts'
import { Gate } from './who.ts'

export interface AdminOptions extends Omit<ApiParts, 'session'> {
  /** Addresses: "host:port", "localhost:port", "unix:/path" or "off". */
  readonly adminAddr: string
  readonly statsAddr: string
  readonly readinessAddr: string
  /**
   * Lets a new process listen while this one drains. Two processes share the ports then, and a program
   * started twice by mistake is not told so; both must have set it.
   */
  readonly sharePorts?: boolean
  /** Where the browser application lies; absent: beside the program. */
  readonly uiFolder?: string
  /** Who may use the admin server. Absent: everybody on this machine. */
  readonly admin?: AdminSpec
  /** Takes a line for each change, and for callers who were refused. */
  readonly audit?: Audit
  /** The Prometheus text. */
  metrics(): string | Promise<string>
  /** Starts the drain; called after the caller has its answer. */
  quit(): void
}

export interface Admin {
  /** Where each server listens; empty lists for "off". */
  readonly addresses: {
    readonly admin: readonly string[]
    readonly stats: readonly string[]
    readonly readiness: readonly string[]
  }
  /** Resolves when no server listens any more; connections are cut. */
  close(): Promise<void>
}

/** Owner only: writers to this socket can stop the process. */
const ADMIN_SOCKET_MODE = 0o600
const PUBLIC_SOCKET_MODE = 0o666

/** Throws an Error that names the setting at fault and the remedy; nothing listens then. */
export async function startAdmin(options: AdminOptions): Promise<Admin> {
  const adminAddress = parseAddress(options.adminAddr, 'adminAddr')
  const gate = new Gate(options.admin, adminAddress)
  const api = new Api(operationsOf({ ...options, session: gate.session }))
  const bodyBytesMax = (path: string) => (path === '/explain' ? EXPLAIN_BYTES_MAX : api.bodyBytesMax(path))
  const plan = [
    ['adminAddr', adminAddress, ADMIN_SOCKET_MODE, adminHandler(options, adminAddress, api, gate)],
    ['statsAddr', parseAddress(options.statsAddr, 'statsAddr'), PUBLIC_SOCKET_MODE, statsHandler(options)],
    ['readinessAddr', parseAddress(options.readinessAddr, 'readinessAddr'), PUBLIC_SOCKET_MODE, readyHandler(options)]
  ] as const
  const sharePort = options.sharePorts ?? false
  const running: Listening[] = []
  const close = async () => {
    await Promise.all(running.map((server) => server.close()))
  }
  try {
    for (const [setting, address, socketMode, handler] of plan) {
      running.push(await listen(address, { setting, sharePort, socketMode, bodyBytesMax }, handler))
    }
  } catch (error) {
    await close()
    throw error
  }
  const [admin, stats, readiness] = running.map((server) => server.addresses)
  return { addresses: { admin: admin!, stats: stats!, readiness: readiness! }, close }
}

function adminHandler(options: AdminOptions, address: Address, api: Api, gate: Gate): Handler {
  const endpoints: Readonly<Record<string, Endpoint>> = {
    '/': { method: 'GET', reply: () => ({ status: 301, body: '', headers: { location: '/ui/' } }) },
    '/ui': { method: 'GET', reply: () => ({ status: 301, body: '', headers: { location: '/ui/' } }) },
    '/config_dump': { method: 'GET', reply: () => dump(options.state()) },
    '/endpoints': { method: 'GET', reply: async () => listEndpoints(await options.endpoints()) },
    '/healthz': { method: 'GET', reply: () => ({ status: 200, body: 'ok\n' }) },
    '/explain': { method: 'POST', reply: (request) => explain(options, request) },
    [STORY_PATH]: { method: 'GET', reply: (request) => showTrace(options.traces, request) },
    '/trace': { method: 'POST', reply: (request) => armTrace(options.traces, request) },
    '/logging': { method: 'POST', reply: (request) => changeLogging(options, request) },
    '/quitquitquit': {
      method: 'POST',
      reply: () => ({
        status: 200,
        body: 'shutdown now\n',
        headers: { connection: 'close' },
        after: () => options.quit()
      })
    }
  }
  const ui = new UiFiles(options.uiFolder)
  const audit = new AuditLog(options.audit)
  return async (request) => {
    const foreign = refuse(request, address, options.admin?.hosts ?? [])
    if (foreign !== null) return foreign
    // Probes of machines have no token, and it says nothing.
    if (request.path === '/healthz') return await dispatch(endpoints, request)
    const operation = api.operationOf(request)
    const role = operation?.role ?? roleOfEndpoint(request)
    const admitted = gate.admit(request, role)
    if (admitted.caller === null) {
      audit.refused(request, admitted.refused.status)
      return admitted.refused
    }
    const reply = (await api.answer(request)) ?? (await ui.answer(request)) ?? (await dispatch(endpoints, request))
    if (role === 'change' && request.method !== 'GET')
      audit.changed(request, admitted.caller, operation?.id, reply.status)
    return reply
  }
}

/** Of paths of other gateways. */
function roleOfEndpoint({ method, path }: Request): Role {
  if (method === 'GET' || method === 'HEAD') return 'see'
  return path === '/explain' || path === '/trace' ? 'test' : 'change'
}

function statsHandler(options: AdminOptions): Handler {
  const expose = async () => ({ status: 200, type: EXPOSITION_CONTENT_TYPE, body: await options.metrics() })
  const endpoint: Endpoint = { method: 'GET', reply: expose }
  return (request) => dispatch({ '/metrics': endpoint, '/stats/prometheus': endpoint }, request)
}

function readyHandler(options: AdminOptions): Handler {
  const endpoint: Endpoint = { method: 'GET', reply: () => readiness(options.state()) }
  return (request) => dispatch({ '/healthz/ready': endpoint }, request)
}

interface Endpoint {
  /** GET also answers HEAD. */
  readonly method: 'GET' | 'POST'
  readonly reply: (request: Request) => Reply | Promise<Reply>
}

function dispatch(endpoints: Readonly<Record<string, Endpoint>>, request: Request): Reply | Promise<Reply> {
  const path = request.path.startsWith(STORY_PATH) ? STORY_PATH : request.path
  const endpoint = Object.hasOwn(endpoints, path) ? endpoints[path] : undefined
  if (endpoint === undefined) return { status: 404, body: 'not found\n' }
  const method = request.method === 'HEAD' ? 'GET' : request.method
  if (method === endpoint.method) return endpoint.reply(request)
  const allow = endpoint.method === 'GET' ? 'GET, HEAD' : 'POST'
  return { status: 405, body: `use ${endpoint.method}\n`, headers: { allow } }
}

function listEndpoints(endpoints: readonly EndpointReport[]): Reply {
  return { status: 200, type: 'application/json', body: `${JSON.stringify({ endpoints }, null, 2)}\n` }
}

function dump(state: AdminState): Reply {
  const { snapshot, lastError } = state
  const body = {
    hash: snapshot?.hash ?? null,
    acceptedAt: snapshot?.acceptedAt ?? null,
    // Of the configuration: rises with every accepted one.
    version: snapshot?.version ?? null,
    program: { version: state.version, startedAt: state.startedAt },
    lastError: shownError(lastError),
    workers: state.workers,
    snapshot: redact(snapshot, unexpander(state.expanded))
  }
  return { status: 200, type: 'application/json', body: `${JSON.stringify(body, null, 2)}\n` }
}

function changeLogging(options: AdminOptions, request: Request): Reply {
  const level = request.query.get('level')
  if (level !== null) {
    try {
      options.setLogLevel(level)
    } catch (error) {
      return { status: 400, body: `${error instanceof Error ? error.message : 'malformed level'}\n` }
    }
  }
  return { status: 200, body: `log level: ${options.state().logLevel}\n` }
}

async function explain({ explain: answer }: AdminOptions, { body }: Request): Promise<Reply> {
  if (answer === undefined) return { status: 404, body: 'not found\n' }
  const input = parseJson((await body()).toString())
  if (typeof input !== 'object' || input === null || Array.isArray(input)) {
    return jsonReply(400, {
      error: 'the body must be a JSON object: {"method": "GET", "url": "http://host:8080/path"}'
    })
  }
  const answered = await answer(input as Record<string, unknown>)
  return 'error' in answered ? jsonReply(400, answered) : jsonReply(200, answered.found)
}

function readiness(state: AdminState): Reply {
  if (state.pending.length === 0) return { status: 200, body: 'ready' }
  return { status: 503, body: `not ready, pending: ${state.pending.join(', ')}` }
}
