/**
 * What a Gateway's data planes run as: Deployment, Service, ServiceAccount, ConfigMap, and, when asked for,
 * PodDisruptionBudget and HorizontalPodAutoscaler. Pure: objects in, objects to apply out.
 */
import type { KubernetesObject, ObjectMeta } from '#engine/kubernetes/objects/object.ts'
import type { Fault } from '#engine/kubernetes/translation/parts.ts'
import { objectOf, type Raw } from '#engine/schema/placed.ts'
import { CA_FILE, CONFIG_FILE, deploymentSpec } from './deployment.ts'
import type { ObjectName, Provisioned, ProvisionInput, ProvisionOptions } from './input.ts'
import { commonMeta, objectsName, ownerReference, selectorOf } from './names.ts'
import { ON_DEMAND, OVERLAID, overlaid } from './overlays.ts'
import { type Level, levelsOf, mergedParameters, type OverlayName } from './parameters.ts'
import { processConfigOf } from './process-config.ts'
import { listenerPorts, serviceSpec } from './service.ts'
import { withVariablesInOrder } from './variables.ts'

export type { ObjectName, Provisioned, ProvisionInput, ProvisionOptions } from './input.ts'
export { isOfMesh } from './mesh.ts'
export { isOwnedBy, objectsName } from './names.ts'
export { conflictFault, type Refusal, refusalFault } from './refusal.ts'

export function provision(input: ProvisionInput, options: ProvisionOptions): Provisioned {
  const { gateway, classParameters, gatewayParameters, listenerSets = [] } = input
  const judged = levelsOf([classParameters, gatewayParameters])
  if ('faults' in judged) return refused(judged.faults)
  const { levels } = judged
  const parameters = mergedParameters(levels)
  const process = processConfigOf(parameters, options.policies)
  if ('faults' in process) return refused(process.faults)
  const { config } = process
  const ports = listenerPorts([gateway, ...listenerSets], config.reserved)
  const name = objectsName(gateway, input.gatewayClass)
  const meta = commonMeta(gateway, input.gatewayClass)
  const { image, controllerAddress, tokenAudience } = options
  const pods = { gateway, name, meta, parameters, config, ports, image, controllerAddress, tokenAudience }
  return laidOver(input, levels, {
    serviceAccount: { automountServiceAccountToken: false },
    configMap: { data: { [CONFIG_FILE]: config.text, [CA_FILE]: options.controllerCa } },
    deployment: { spec: deploymentSpec(pods) },
    service: ports.length === 0 ? null : { spec: serviceSpec(gateway, ports) },
    podDisruptionBudget: { spec: { selector: { matchLabels: selectorOf(gateway) } } },
    horizontalPodAutoscaler: { spec: { scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name } } }
  })
}

const refused = (faults: readonly Fault[]): Provisioned => ({ objects: [], absent: [], faults })

/** What pods need before them comes first. */
const ORDER = [
  ...(['serviceAccount', 'configMap', 'deployment', 'service'] as const),
  ...(['podDisruptionBudget', 'horizontalPodAutoscaler'] as const)
]

/** Fields of the objects, without metadata. Null: it cannot be now, and stays as it is. */
type Contents = Readonly<Record<(typeof ORDER)[number], Raw | null>>

function laidOver(
  { gateway, gatewayClass }: ProvisionInput,
  levels: readonly Level[],
  contents: Contents
): Provisioned {
  const objects: KubernetesObject[] = []
  const absent: ObjectName[] = []
  const faults: Fault[] = []
  const metadata: ObjectMeta & { readonly ownerReferences: readonly Raw[] } = {
    ...commonMeta(gateway, gatewayClass),
    name: objectsName(gateway, gatewayClass),
    ...(gateway.metadata.namespace === undefined ? {} : { namespace: gateway.metadata.namespace }),
    ownerReferences: [ownerReference(gateway)]
  }
  for (const one of ORDER) {
    const fields = contents[one]
    if (fields === null) continue
    if (one === 'configMap') {
      objects.push({ apiVersion: 'v1', kind: 'ConfigMap', metadata, ...fields })
      continue
    }
    const { apiVersion, kind } = OVERLAID[one]
    const isWanted = !ON_DEMAND.includes(one) || levels.some(({ spec }) => spec[one] !== undefined)
    const outcome = isWanted ? overlaid({ apiVersion, kind, metadata, ...fields }, one, levels) : null
    if (outcome === null) absent.push({ apiVersion, kind, metadata })
    else if ('fault' in outcome) faults.push(outcome.fault)
    else objects.push(COMPLETED[one]?.(outcome.object) ?? outcome.object)
  }
  return faults.length > 0 ? refused(faults) : { objects, absent, faults }
}

/** What overlays leave to be done. */
const COMPLETED: Partial<Readonly<Record<OverlayName, (object: KubernetesObject) => KubernetesObject>>> = {
  deployment: withVariablesInOrder,
  podDisruptionBudget: withBudget
}

/** One that says nothing would let all pods be evicted at once. */
function withBudget(object: KubernetesObject): KubernetesObject {
  const spec = objectOf(object.spec)
  if (spec.minAvailable !== undefined || spec.maxUnavailable !== undefined) return object
  return { ...object, spec: { ...spec, maxUnavailable: 1 } }
}
