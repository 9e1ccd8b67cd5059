/** Policies in the words of both. */
import type { Setup } from './case.ts'
import { httpFilter } from './envoy.ts'
import type { Ports } from './servers.ts'

/** Ends before a case is options up, and is long for what answers at once. */
export const SHORT = '0.4s'
const LONG = '5s'

type Service = keyof Ports

const CLUSTERS: Readonly<Record<string, string>> = { dead: 'dead' }
const host = (ports: Ports, service: Service): string => `127.0.0.1:${ports[service]}`

interface Both {
  /** Fields of Envoy's filter beyond those of the service. */
  readonly envoy?: object
  /** Fields of Weir's policy likewise. */
  readonly weir?: object
  readonly timeout?: string
  readonly service?: Service
}

export function grpcCheck({ envoy, weir, timeout = LONG, service = 'check' }: Both = {}): Setup {
  const grpc = { envoy_grpc: { cluster_name: CLUSTERS[service] ?? service }, timeout }
  const fields = { transport_api_version: 'V3', grpc_service: grpc, ...envoy }
  return {
    envoy: { filters: [httpFilter('ext_authz', 'ExtAuthz', fields)] },
    weir: (ports) => ({ policies: { extAuth: { host: host(ports, service), grpc: {}, timeout, ...weir } } })
  }
}

export interface HttpBoth extends Both {
  /** Of Envoy's http_service. */
  readonly http?: object
  /** Of Weir's http. */
  readonly check?: object
}

export function httpCheck({ envoy, weir, timeout = LONG, service = 'httpCheck', http, check }: HttpBoth = {}): Setup {
  const server = { uri: 'http://service.test', cluster: service === 'dead' ? 'httpDead' : service, timeout }
  const fields = { transport_api_version: 'V3', http_service: { server_uri: server, ...http }, ...envoy }
  return {
    envoy: { filters: [httpFilter('ext_authz', 'ExtAuthz', fields)] },
    weir: (ports) => ({ policies: { extAuth: { host: host(ports, service), http: { ...check }, timeout, ...weir } } })
  }
}

export interface LimitBoth extends Both {
  /** Lists of actions, each of a descriptor. */
  readonly actions: readonly (readonly object[])[]
  /** The same as CEL, by name. */
  readonly descriptors: readonly Readonly<Record<string, string>>[]
}

export function limits({ envoy, weir, timeout = LONG, service = 'limit', actions, descriptors }: LimitBoth): Setup {
  const fields = {
    domain: 'shop',
    timeout,
    disable_x_envoy_ratelimited_header: true,
    rate_limit_service: {
      transport_api_version: 'V3',
      grpc_service: { envoy_grpc: { cluster_name: service } }
    },
    ...envoy
  }
  const action = { rate_limits: actions.map((list) => ({ actions: list })) }
  const own = descriptors.map((entries) => ({
    entries: Object.entries(entries).map(([name, expression]) => ({ name, expression }))
  }))
  return {
    envoy: { filters: [httpFilter('ratelimit', 'RateLimit', fields)], action },
    weir: (ports) => {
      const global = { host: host(ports, service), domain: 'shop', descriptors: own, timeout, ...weir }
      return { policies: { rateLimit: { global } } }
    }
  }
}

export interface ProcessingBoth extends Both {
  /** In the words of Envoy, without what both have as default. */
  readonly mode?: Readonly<Record<string, string>>
  /** As many bytes of a body are kept whole. */
  readonly bodyBytesMax?: number
}

const camel = (key: string): string => key.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase())

export function processing(options: ProcessingBoth = {}): Setup {
  const { envoy, weir, timeout = LONG, service = 'process', mode = {}, bodyBytesMax } = options
  const fields = {
    grpc_service: { envoy_grpc: { cluster_name: service }, timeout: LONG },
    message_timeout: timeout,
    processing_mode: mode,
    ...envoy
  }
  const own = Object.fromEntries(Object.entries(mode).map(([key, value]) => [camel(key), value]))
  const manager = bodyBytesMax === undefined ? {} : { per_connection_buffer_limit_bytes: bodyBytesMax }
  return {
    envoy: { filters: [httpFilter('ext_proc', 'ExternalProcessor', fields)], listener: manager },
    weir: (ports) => ({
      policies: {
        extProc: { host: host(ports, service), messageTimeout: timeout, processingMode: own, ...weir }
      },
      ...(bodyBytesMax === undefined ? {} : { file: { frontendPolicies: { http: { maxBufferSize: bodyBytesMax } } } })
    })
  }
}
