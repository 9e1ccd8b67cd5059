/** The two gateways, with each setup at a port of its own. */
import { freePort } from '#bench/load/ports.ts'
import type { Snapshot } from '#engine/ir/snapshot.ts'
import { startGateway, type TestGateway } from '#engine/testing/gateway.ts'
import type { Setup } from './case.ts'
import { cluster, listener, startEnvoy } from './envoy.ts'
import type { Ports } from './servers.ts'
import { weirTls } from './tls.ts'

export interface Side {
  portOf(setup: Setup): number
  stop(): Promise<void>
}

export async function envoySide(setups: readonly Setup[], ports: Ports): Promise<Side> {
  const own = new Map<Setup, number>()
  for (const setup of setups) own.set(setup, await freePort())
  const clusters = [
    cluster('backend', ports.backend, false),
    cluster('check', ports.check, true),
    cluster('httpCheck', ports.httpCheck, false),
    cluster('process', ports.process, true),
    cluster('limit', ports.limit, true),
    cluster('dead', ports.dead, true),
    cluster('httpDead', ports.dead, false)
  ]
  const listeners = [...own].map(([{ envoy, tls }, port]) => listener(port, envoy, tls))
  const envoy = await startEnvoy(clusters, listeners, [...own.values()])
  return { portOf: (setup) => own.get(setup)!, stop: () => envoy.stop() }
}

export async function weirSide(setups: readonly Setup[], ports: Ports): Promise<Side> {
  // Each gateway listens to the end of the process.
  process.setMaxListeners(process.getMaxListeners() + setups.length)
  const own = new Map<Setup, TestGateway>()
  for (const setup of setups) {
    const port = await freePort()
    // Services are told the port of the bind.
    const edit = (snapshot: Snapshot) => ({ ...snapshot, binds: snapshot.binds.map((bind) => ({ ...bind, port })) })
    own.set(setup, await startGateway(fileOf(setup, ports), { edit }))
  }
  return {
    portOf: (setup) => own.get(setup)!.port,
    async stop() {
      for (const gateway of own.values()) await gateway.close()
    }
  }
}

/** JSON is YAML. The backend speaks HTTP/1, and so does Envoy to it. */
function fileOf({ weir, tls }: Setup, ports: Ports): string {
  const { policies, file = {} } = weir(ports)
  const backend = { host: `127.0.0.1:${ports.backend}`, policies: { http: { version: 'HTTP1' } } }
  const listener = { ...(tls === undefined ? {} : weirTls(tls)), routes: [{ policies, backends: [backend] }] }
  return JSON.stringify({ ...file, binds: [{ port: 0, listeners: [listener] }] })
}
