/**
 * `npm run conformance -- kubernetes-soak`: 300,000 changes of routes, endpoints, Secrets, policies, backends and the
 * Gateway, at the double of an API server, for a controller and a data plane that are processes. What has a bound is
 * filled before. What their threads have after a full collection must not grow (soak/growth.ts).
 */
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as after } from 'node:timers/promises'
import { request } from 'undici'
import { freePort } from '#bench/load/ports.ts'
import { KINDS } from '#engine/kubernetes/objects/object.ts'
import { CONTROLLER_NAME } from '#engine/kubernetes/resources/names.ts'
import { ApiServerDouble } from '#engine/kubernetes/testing/api-server/server.ts'
import { type RunningProgram, runNode } from '#engine/testing/program.ts'
import { Changes, CLASS, GATEWAY, gateway, make, NAMESPACE, routeSpec } from './soak/changes.ts'
import { growthOf, lineOf, type Measured } from './soak/growth.ts'
import type { ThreadMemory } from './soak/probe.ts'

const PROGRAM = join(import.meta.dirname, '..', '..', 'engine', 'process', 'start.ts')
const PROBE = join(import.meta.dirname, 'soak', 'probe.ts')
/** Measures: a third warms up, and the medians of the others are compared. */
const STEPS = 30
/** Behind so many changes the data plane is asked for the last one: none may be left behind. */
const BURST = 250
const RETRY_MS = 5
const BURST_MS_MAX = 60_000
/** Of each program, when something goes wrong. */
const OUTPUT_CHARS = 4_000

/** False: something has grown. */
export async function runSoak(print: (line: string) => void, changes: number): Promise<boolean> {
  const folder = mkdtempSync(join(tmpdir(), 'weir-soak-'))
  const server = new ApiServerDouble()
  const running: RunningProgram[] = []
  const start = (args: readonly string[], env: NodeJS.ProcessEnv) => {
    const flags = ['--disable-warning=ExperimentalWarning', '--expose-gc', `--import=${PROBE}`]
    const program = runNode([...flags, PROGRAM, ...args], '', { ...env, LOG_LEVEL: 'warn,request=off' })
    running.push(program)
    return program
  }
  try {
    return await soak(server, changes, { folder, start, print })
  } catch (error) {
    for (const { output } of running) print(output.slice(-OUTPUT_CHARS))
    throw error
  } finally {
    for (const program of running) await program.stop()
    await server.stop()
    rmSync(folder, { recursive: true })
  }
}

interface Parts {
  readonly folder: string
  readonly start: (args: readonly string[], env: NodeJS.ProcessEnv) => RunningProgram
  readonly print: (line: string) => void
}

async function soak(server: ApiServerDouble, total: number, parts: Parts): Promise<boolean> {
  const ports = [await freePort(), await freePort()] as const
  await server.start()
  server.add({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'weir-system' } })
  server.add(make('GatewayClass', CLASS, { spec: { controllerName: CONTROLLER_NAME } }))
  server.add(make('Gateway', GATEWAY, { spec: gateway(ports) }))
  server.add(make('HTTPRoute', 'marker', { spec: routeSpec('marker', 'v0.example', 'service-0') }))
  const changes = new Changes(server, ports)
  const controllerPort = await freePort()
  const controller = startController(server, controllerPort, parts)
  await server.until(() => authorityOf(server) !== undefined)
  const dataPlane = startDataPlane(server, controllerPort, parts)
  const all: Measured[] = []
  const steps = Array.from({ length: STEPS }, (_, i) => Math.round((total * (i + 1)) / STEPS))
  await changes.fill(async () => {
    await follow(server, ports[0], `filled-${server.store.version}`)
    server.calls.length = 0
    server.store.compact()
  })
  for (const count of steps) {
    while (changes.count < count) {
      changes.next(Math.min(BURST, count - changes.count))
      await follow(server, ports[0], `v${changes.count}`)
      server.calls.length = 0
      if (changes.count % 1_000 < BURST) server.store.compact()
    }
    const measured = await measure(changes.count, controller, dataPlane)
    all.push(measured)
    parts.print(lineOf(measured))
  }
  const faults = [controller, dataPlane].flatMap(
    ({ output }) => output.match(/.*(?:a fault of weir|level=error).*/g) ?? []
  )
  for (const fault of faults.slice(0, 5)) parts.print(`soak: ${fault}`)
  const grown = growthOf(all)
  for (const one of grown) parts.print(`soak: ${one}`)
  return grown.length === 0 && faults.length === 0
}

function startController(server: ApiServerDouble, port: number, { folder, start }: Parts): RunningProgram {
  const kubeconfig = join(folder, 'kubeconfig')
  const contexts = [{ name: 'double', context: { cluster: 'double', user: 'double' } }]
  server.tokens.set('controller', { username: 'controller' })
  const clusters = [{ name: 'double', cluster: { server: server.url } }]
  const users = [{ name: 'double', user: { token: 'controller' } }]
  writeFileSync(kubeconfig, JSON.stringify({ 'current-context': 'double', contexts, clusters, users }))
  const at = `127.0.0.1:${port}`
  const flags = [`--kubeconfig=${kubeconfig}`, `--listen=${at}`, `--controller-address=${at}`, '--leader-elect=false']
  return start(['controller', ...flags], { POD_NAMESPACE: 'weir-system', STATS_ADDR: 'off', READINESS_ADDR: 'off' })
}

/** What data planes trust; undefined: it is not there yet. */
const authorityOf = (server: ApiServerDouble): string | undefined =>
  server.store
    .list(KINDS.ConfigMap, NAMESPACE)
    .flatMap(({ data }) => Object.values((data ?? {}) as Readonly<Record<string, string>>))
    .find((text) => text.includes('BEGIN CERTIFICATE'))

function startDataPlane(server: ApiServerDouble, port: number, { folder, start }: Parts): RunningProgram {
  const name = `${GATEWAY}-${CLASS}`
  server.tokens.set('plane', { username: `system:serviceaccount:${NAMESPACE}:${name}`, audiences: ['weir.dev'] })
  const [ca, token] = [join(folder, 'ca.crt'), join(folder, 'token')]
  writeFileSync(ca, authorityOf(server)!)
  writeFileSync(token, 'plane')
  const flags = {
    'controller-address': `127.0.0.1:${port}`,
    'controller-ca': ca,
    'controller-token': token,
    'state-dir': folder,
    gateway: GATEWAY,
    namespace: NAMESPACE
  }
  const args = Object.entries(flags).map(([flag, value]) => `--${flag}=${value}`)
  const config = `config: { adminAddr: 'off', statsAddr: 'off', readinessAddr: 'off', workerThreads: 1 }`
  return start(['proxy', ...args, '-c', config], { STATE_KEY: 'k'.repeat(32) })
}

/** Until the data plane answers by a route that changes behind all others. */
async function follow(server: ApiServerDouble, port: number, host: string): Promise<void> {
  const body = { spec: routeSpec('marker', `${host}.example`, 'service-0') }
  server.store.write(KINDS.HTTPRoute, NAMESPACE, 'marker', { type: 'merge', body }, false)
  const late = AbortSignal.timeout(BURST_MS_MAX)
  while ((await locationAt(port)) !== `http://${host}.example:${port}/marker`) {
    if (late.aborted) throw new Error(`the data plane does not follow: ${await locationAt(port)}`)
    await after(RETRY_MS)
  }
}

async function locationAt(port: number): Promise<string> {
  try {
    const { headers, body } = await request(`http://127.0.0.1:${port}/marker`)
    await body.dump()
    return String(headers.location)
  } catch (error) {
    return (error as Error).message
  }
}

async function measure(changes: number, controller: RunningProgram, dataPlane: RunningProgram): Promise<Measured> {
  const [[own], [main, worker]] = [await threadsOf(controller, 1), await threadsOf(dataPlane, 2)]
  const fds = { controllerFiles: fdsOf(controller), dataPlaneFiles: fdsOf(dataPlane) }
  return { changes, controller: own!, main: main!, worker: worker!, ...fds }
}

const LINE = /^soak (\{.*\})$/gm

async function threadsOf(program: RunningProgram, count: number): Promise<readonly ThreadMemory[]> {
  const before = program.output.split('soak {').length - 1
  program.signal('SIGUSR2')
  await program.logged('soak {', before + count)
  const lines = [...program.output.matchAll(LINE)].slice(before)
  return lines.map(([, text = '']) => JSON.parse(text) as ThreadMemory).toSorted((a, b) => a.thread - b.thread)
}

const fdsOf = ({ child }: RunningProgram): number => readdirSync(`/proc/${child.pid}/fd`).length
