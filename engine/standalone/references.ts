/**
 * What no single value shows: names that must exist, names and ports that must be unique, settings
 * that exclude each other. Works on data of any shape, so that these mistakes are reported together
 * with all others.
 */
import { nearest } from '#engine/kit/near.ts'
import type { Path } from './document.ts'

export interface Finding {
  readonly path: Path
  readonly message: string
}

/** The idle timeout that uWebSockets.js has, and its limit on headers; neither can be set. */
const UWS_IDLE = '10s'
const UWS_HEADERS_MAX = 98

export function checkReferences(data: unknown): Finding[] {
  const findings: Finding[] = []
  const report = (path: Path, message: string) => findings.push({ path, message })
  const backends = namesOf(data, report)
  const ports = new Map<unknown, Path>()
  for (const [b, bind] of list(data, 'binds')) {
    const path = ['binds', b]
    const port = field(bind, 'port')
    const first = ports.get(port)
    if (first !== undefined) report([...path, 'port'], `port ${String(port)} is already used by ${first.join('.')}`)
    else if (port !== undefined) ports.set(port, path)
    checkTransport(data, bind, path, report)
    checkListeners(bind, path, backends, report)
  }
  checkOwnPorts(data, ports, report)
  return findings
}

type Report = (path: Path, message: string) => void

/** Names of the top-level backends. */
function namesOf(data: unknown, report: Report): Set<string> {
  const names = new Set<string>()
  for (const [i, backend] of list(data, 'backends')) {
    const name = field(backend, 'name')
    if (typeof name !== 'string') continue
    if (names.has(name)) report(['backends', i, 'name'], `there is already a backend called '${name}'`)
    names.add(name)
  }
  return names
}

function checkListeners(bind: unknown, path: Path, backends: ReadonlySet<string>, report: Report): void {
  const names = new Set<string>()
  const hosts = new Set<string>()
  for (const [l, listener] of list(bind, 'listeners')) {
    const at = [...path, 'listeners', l]
    const name = field(listener, 'name')
    if (typeof name === 'string' && names.has(name))
      report([...at, 'name'], `this bind already has a listener called '${name}'`)
    if (typeof name === 'string') names.add(name)
    const host = String(field(listener, 'hostname') ?? '*').toLowerCase()
    if (hosts.has(host)) report(at, `this bind already has a listener for hostname '${host}'`)
    hosts.add(host)
    for (const [r, route] of list(listener, 'routes')) checkRoute(route, [...at, 'routes', r], backends, report)
  }
}

function checkRoute(route: unknown, path: Path, backends: ReadonlySet<string>, report: Report): void {
  const entries = list(route, 'backends')
  for (const [i, entry] of entries) {
    const name = field(entry, 'backend')
    if (typeof name !== 'string' || backends.has(name)) continue
    const near = nearest(name, backends)
    const hint = near === null ? 'define it under the top-level backends' : `did you mean '${near}'?`
    report([...path, 'backends', i, 'backend'], `there is no backend called '${name}'; ${hint}`)
  }
  if (entries.length > 0 && entries.every(([, entry]) => field(entry, 'weight') === 0)) {
    report([...path, 'backends'], 'every weight is 0: no request could be sent anywhere')
  }
  const answers = ['directResponse', 'requestRedirect'].some(
    (name) => field(field(route, 'policies'), name) !== undefined
  )
  if (entries.length === 0 && !answers) {
    report(path, 'the route has neither backends nor a policy that answers (directResponse, requestRedirect)')
  }
}

/** The uws transport has fixed values where others have settings; it never pretends. */
function checkTransport(data: unknown, bind: unknown, path: Path, report: Report): void {
  if (field(bind, 'transport') !== 'uws') return
  const http = field(field(data, 'frontendPolicies'), 'http')
  if (field(http, 'http1IdleTimeout') !== UWS_IDLE) {
    report(
      [...path, 'transport'],
      `uws closes idle connections after ${UWS_IDLE} and nothing else can be set: write frontendPolicies.http.http1IdleTimeout: ${UWS_IDLE}, or use transport node`
    )
  }
  const headers = field(http, 'http1MaxHeaders') ?? 100
  if (typeof headers === 'number' && headers > UWS_HEADERS_MAX) {
    report(
      [...path, 'transport'],
      `uws takes at most ${UWS_HEADERS_MAX} headers: write frontendPolicies.http.http1MaxHeaders: ${UWS_HEADERS_MAX} or less, or use transport node`
    )
  }
}

/** The gateway's own servers need ports of their own. */
function checkOwnPorts(data: unknown, ports: ReadonlyMap<unknown, Path>, report: Report): void {
  const config = field(data, 'config')
  const own: readonly [string, string][] = [
    ['adminAddr', 'localhost:15000'],
    ['statsAddr', '[::]:15020'],
    ['readinessAddr', '[::]:15021']
  ]
  for (const [name, standard] of own) {
    const address = field(config, name) ?? standard
    if (typeof address !== 'string') continue
    const bind = ports.get(Number(/:([0-9]+)$/.exec(address)?.[1]))
    if (bind !== undefined) {
      report([...bind, 'port'], `the port is also that of config.${name} (${address}); change one of them`)
    }
  }
}

function list(parent: unknown, key: string): [number, unknown][] {
  const value = field(parent, key)
  return Array.isArray(value) ? value.map((item, i) => [i, item]) : []
}

function field(parent: unknown, key: string): unknown {
  if (typeof parent !== 'object' || parent === null || Array.isArray(parent)) return undefined
  return Object.hasOwn(parent, key) ? (parent as Record<string, unknown>)[key] : undefined
}
