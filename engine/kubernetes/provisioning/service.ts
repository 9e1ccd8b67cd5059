/** The Service before a Gateway's data planes. */
import type { KubernetesObject } from '#engine/kubernetes/objects/object.ts'
import { entriesOf, objectOf, type Raw } from '#engine/schema/placed.ts'
import { selectorOf } from './names.ts'

/** A port that some listener has. */
export interface ListenerPort {
  /** Unique, and short enough for a container (15 characters): PROTOCOL-PORT. */
  readonly name: string
  readonly port: number
}

/** Others are refused where listeners are judged. */
const PROTOCOLS: readonly unknown[] = ['HTTP', 'HTTPS', 'TLS', 'TCP']

/** In the order of ports. Without those of the process itself (`reserved`): their listeners are not served. */
export function listenerPorts(
  owners: readonly KubernetesObject[],
  reserved: ReadonlySet<number>
): readonly ListenerPort[] {
  const found = new Map<number, ListenerPort>()
  for (const owner of owners) {
    for (const { raw } of entriesOf(objectOf(owner.spec).listeners, [])) {
      const { port, protocol } = raw
      if (typeof port !== 'number' || !PROTOCOLS.includes(protocol) || reserved.has(port) || found.has(port)) continue
      found.set(port, { name: `${String(protocol).toLowerCase()}-${port}`, port })
    }
  }
  return [...found.values()].toSorted((a, b) => a.port - b.port)
}

export function serviceSpec(gateway: KubernetesObject, ports: readonly ListenerPort[]): Raw {
  const address = staticAddress(gateway)
  return {
    type: 'LoadBalancer',
    ...(address === undefined ? {} : { loadBalancerIP: address }),
    selector: selectorOf(gateway),
    ports: ports.map(({ name, port }) => ({ name, port, protocol: 'TCP', targetPort: port }))
  }
}

/** The first address that the Gateway asks for: a Service has one. Whether there are others is what its status says. */
const staticAddress = ({ spec }: KubernetesObject): string | undefined =>
  entriesOf(objectOf(spec).addresses, []).flatMap(({ raw: { type = 'IPAddress', value } }) =>
    type === 'IPAddress' && typeof value === 'string' && value !== '' ? [value] : []
  )[0]
