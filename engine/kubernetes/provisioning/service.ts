/** The Service before a Gateway's data planes. */
import { type KubernetesObject, keyOf } from '#engine/kubernetes/objects/object.ts'
import type { Fault } from '#engine/kubernetes/translation/parts.ts'
import { entriesOf, objectOf, type Path, type Raw } from '#engine/schema/placed.ts'
import { selectorOf } from './names.ts'

/** A port that some listener has. */
export interface ListenerPort {
  /** Unique, and short enough for a container (15 characters): PROTOCOL-PORT. */
  readonly name: string
  readonly port: number
}

/** In the order of ports. `reserved`: ports of the process itself. */
export function listenerPorts(
  owners: readonly KubernetesObject[],
  reserved: ReadonlyMap<number, string>
): { readonly ports: readonly ListenerPort[]; readonly faults: readonly Fault[] } {
  const found = new Map<number, ListenerPort>()
  const faults: Fault[] = []
  for (const owner of owners) {
    for (const { raw, path } of entriesOf(objectOf(owner.spec).listeners, ['spec', 'listeners'])) {
      const { port, protocol } = raw
      if (typeof port !== 'number' || typeof protocol !== 'string') continue
      const setting = reserved.get(port)
      if (setting !== undefined) faults.push(taken(owner, [...path, 'port'], port, setting))
      else if (!found.has(port)) found.set(port, { name: `${prefixOf(protocol)}-${port}`, port })
    }
  }
  return { ports: [...found.values()].toSorted((a, b) => a.port - b.port), faults }
}

/** Protocols may be of other domains ("example.com/x"). */
const prefixOf = (protocol: string): string => (/^[A-Za-z]{1,8}$/.test(protocol) ? protocol.toLowerCase() : 'port')

const taken = (owner: KubernetesObject, path: Path, port: number, setting: string): Fault => ({
  type: 'Accepted',
  reason: 'ListenersNotValid',
  message: `${port} is a port of the process itself: choose another, or set rawConfig.config.${setting} of GatewayParameters`,
  place: { key: keyOf(owner), path }
})

export function serviceSpec(gateway: KubernetesObject, ports: readonly ListenerPort[]): Raw {
  const [address] = staticAddresses(gateway)
  return {
    type: 'LoadBalancer',
    ...(address === undefined ? {} : { loadBalancerIP: address }),
    selector: selectorOf(gateway),
    ports: ports.map(({ name, port }) => ({ name, port, protocol: 'TCP', targetPort: port }))
  }
}

/** Addresses that the Gateway asks for. */
const staticAddresses = ({ spec }: KubernetesObject): readonly string[] =>
  entriesOf(objectOf(spec).addresses, []).flatMap(({ raw: { type = 'IPAddress', value } }) =>
    type === 'IPAddress' && typeof value === 'string' && value !== '' ? [value] : []
  )

/** A Service has one address at most, and no load balancer chooses a name. */
export function addressFaults(gateway: KubernetesObject): readonly Fault[] {
  const addresses = entriesOf(objectOf(gateway.spec).addresses, ['spec', 'addresses']).filter(
    ({ raw }) => raw.value !== undefined && raw.value !== ''
  )
  const refused = addresses.filter(({ raw: { type = 'IPAddress' } }, i) => i > 0 || type !== 'IPAddress')
  return refused.map(({ path }) => ({
    type: 'Accepted',
    reason: 'UnsupportedAddress',
    message: 'must be one address of type IPAddress: it becomes the address of a Service of type LoadBalancer',
    place: { key: keyOf(gateway), path }
  }))
}
