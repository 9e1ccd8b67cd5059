import { existsSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { CHAIN } from '#engine/testing/chain.ts'
import { type Peer, routePath, type Setup } from './peer.ts'
import { versionOf } from './program.ts'

const SOURCE = fileURLToPath(import.meta.resolve('#engine/process/start.ts'))
/** What `npm run build` makes: preferred, because it is what is shipped. */
const BUNDLE = join(dirname(dirname(dirname(SOURCE))), 'dist', 'weir.mjs')

/** Weir with its default transport, and with uWebSockets.js towards clients. */
export const weir = peer('weir', { wires: new Set(['https', 'h2c', 'h2', 'grpc', 'tcp']) })
export const weirUws = peer('weir-uws', {
  transport: 'uws',
  wires: new Set(['https']),
  // What that library cannot change (docs/design/005-uws-transport.md).
  frontendPolicies: {
    http: { http1IdleTimeout: '12s', http1HeaderTimeout: '12s', http1MaxHeaders: 98 },
    tcp: { keepalives: { time: '0s' } },
    tls: { alpnProtocols: ['http/1.1'], handshakeTimeout: '12s' }
  }
})

interface Variant {
  readonly transport?: 'uws'
  readonly wires?: Peer['wires']
  readonly frontendPolicies?: object
}

function peer(name: string, variant: Variant): Peer {
  return {
    name,
    translates: true,
    logs: true,
    checks: true,
    ...(variant.wires === undefined ? {} : { wires: variant.wires }),
    find() {
      const entry = [BUNDLE, SOURCE].find((path) => existsSync(path))
      if (entry === undefined) return { missing: 'neither the bundle nor engine/process/start.ts is there' }
      return { program: process.execPath, args: ['--disable-warning=ExperimentalWarning', entry] }
    },
    version: (command) => versionOf(command, '--version'),
    configure(setup) {
      const path = join(setup.folder, 'weir.json')
      writeFileSync(path, JSON.stringify(configuration(setup, variant)))
      return ['-f', path]
    }
  }
}

/** Access log lines are of level info. The ports of admin, stats and readiness stay closed. */
function configuration(setup: Setup, variant: Variant): object {
  const { port, upstreamPort, threads, routes, hasChain, isLogged, model, checkPort } = setup
  const { transport = 'auto', frontendPolicies } = variant
  const provider = { [model === 'converted' ? 'anthropic' : 'openai']: {}, host: '127.0.0.1', port: upstreamPort }
  const backends = model === null ? [{ host: `127.0.0.1:${upstreamPort}` }] : [{ ai: { provider } }]
  const extAuth = { host: `127.0.0.1:${checkPort}`, grpc: {} }
  const policies = { ...(hasChain ? CHAIN : {}), ...(checkPort === null ? {} : { extAuth }) }
  const all = [{ name: 'all', policies, backends }]
  const many = Array.from({ length: routes }, (_, i) => ({
    name: `service-${i}`,
    matches: [{ path: { pathPrefix: routePath(i) } }],
    backends
  }))
  return {
    config: {
      adminAddr: 'off',
      statsAddr: 'off',
      readinessAddr: 'off',
      workerThreads: threads,
      ...(isLogged ? {} : { logging: { level: 'warn' } })
    },
    ...(frontendPolicies === undefined ? {} : { frontendPolicies }),
    binds: [{ port, transport, listeners: [listenerOf(setup, routes === 0 ? all : many)] }]
  }
}

function listenerOf({ wire, certificate, upstreamPort }: Setup, routes: readonly object[]): object {
  const name = 'bench'
  if (wire === 'tcp')
    return { name, protocol: 'TCP', tcpRoutes: [{ backends: [{ host: `127.0.0.1:${upstreamPort}` }] }] }
  if (wire !== 'https' && wire !== 'h2') return { name, routes }
  return { name, protocol: 'HTTPS', tls: { cert: certificate.chain, key: certificate.key }, routes }
}
