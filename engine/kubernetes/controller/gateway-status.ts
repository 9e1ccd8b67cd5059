/** What a Gateway's status has beside the translation's: addresses, and whether data planes have it in force. */
import { isIP } from 'node:net'
import type { KubernetesObject } from '#engine/kubernetes/objects/object.ts'
import type { DataPlane } from '#engine/kubernetes/stream/index.ts'
import { condition, conditionOf } from '#engine/kubernetes/translation/conditions.ts'
import type { Condition, Fault } from '#engine/kubernetes/translation/parts.ts'
import { objectOf } from '#engine/schema/placed.ts'
import type { Refusal } from './refusals.ts'
import type { Status } from './status.ts'

export interface GatewayAddress {
  readonly type: 'IPAddress' | 'Hostname'
  readonly value: string
}

export interface GatewayFacts {
  readonly addresses: readonly GatewayAddress[]
  /** Where addresses come from, for the message while there are none: "Service demo/edge". */
  readonly addressSource: string
  readonly dataPlanes: readonly DataPlane[]
  /** The first version of the draft that has this generation of the Gateway. */
  readonly version: number
  /** What data planes refuse; null: nothing. */
  readonly refusal: Refusal | null
  /** Of provisioning. */
  readonly faults: readonly Fault[]
}

/** Gateway API, GatewayStatus. */
const ADDRESSES_MAX = 16

export function gatewayStatus(gateway: KubernetesObject, desired: Status, facts: GatewayFacts): Status {
  const conditions = (desired.conditions ?? []) as readonly Condition[]
  return {
    ...desired,
    addresses: facts.addresses.slice(0, ADDRESSES_MAX),
    conditions: conditions.map((one) => {
      if (one.status !== 'True') return one
      if (one.type === 'Accepted') return conditionOf(gateway, 'Accepted', facts.faults, one)
      return one.type === 'Programmed' ? programmed(gateway, facts, one) : one
    })
  }
}

function programmed(gateway: KubernetesObject, facts: GatewayFacts, good: Condition): Condition {
  const { addresses, addressSource, dataPlanes, version, refusal, faults } = facts
  const isNot = (reason: string, message: string) => condition(gateway, 'Programmed', 'False', reason, message)
  if (faults.length > 0) return isNot('Invalid', 'the data planes cannot be provisioned; see Accepted')
  const missing = wantedAddresses(gateway).find((wanted) => !addresses.some(({ value }) => value === wanted))
  if (missing !== undefined) return isNot('AddressNotUsable', `${addressSource} does not get the address ${missing}`)
  if (addresses.length === 0) return isNot('AddressNotAssigned', `${addressSource} has no address yet`)
  if (refusal !== null) return isNot('Invalid', `data plane ${refusal.pod} goes on with what it has: ${refusal.reason}`)
  if (!dataPlanes.some(({ inForce }) => inForce >= version))
    return isNot('Pending', 'no data plane has put this generation in force yet')
  return good
}

/** Addresses of `spec`; one without a value is any of its type. */
const wantedAddresses = ({ spec }: KubernetesObject): readonly string[] =>
  listOf(objectOf(spec).addresses).flatMap((one) => {
    const { value } = objectOf(one)
    return typeof value === 'string' && value !== '' ? [value] : []
  })

/** Of the Service in front of data planes. */
export function addressesOf(service: KubernetesObject | undefined): readonly GatewayAddress[] {
  const { type, clusterIPs, clusterIP, externalIPs } = objectOf(service?.spec)
  const { ingress } = objectOf(objectOf(service?.status).loadBalancer)
  const balanced = listOf(ingress).map((one) => objectOf(one).ip ?? objectOf(one).hostname)
  const inside = listOf(clusterIPs).length > 0 ? listOf(clusterIPs) : [clusterIP]
  const values = [...listOf(externalIPs), ...(type === 'LoadBalancer' ? balanced : inside)]
  const found = values.filter((value): value is string => typeof value === 'string' && value !== '' && value !== 'None')
  return [...new Set(found)].map((value) => ({ type: isIP(value) !== 0 ? 'IPAddress' : 'Hostname', value }))
}

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])
