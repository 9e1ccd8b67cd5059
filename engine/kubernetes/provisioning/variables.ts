/** Variables of containers in an order in which kubelets can expand them: "$(NAME)" needs NAME before it. */
import type { KubernetesObject } from '#engine/kubernetes/objects/object.ts'
import { objectOf, type Raw } from '#engine/schema/placed.ts'
import { isMap } from './strategic-merge/directives.ts'

/** "$$(NAME)" is literal. */
const REFERENCE = /\$\$|\$\(([^()]+)\)/g

/** Nobody writes more; references are followed one in another. */
const ORDERED_MAX = 1024

/** Those that others refer to come before them; otherwise the order stays. In circles, too. */
function inReferenceOrder(variables: readonly unknown[]): readonly unknown[] {
  if (variables.length > ORDERED_MAX) return variables
  const byName = new Map(variables.map((one) => [isMap(one) ? one.name : undefined, one]))
  const placed = new Set<unknown>()
  const visiting = new Set<unknown>()
  const place = (variable: unknown): void => {
    if (placed.has(variable) || visiting.has(variable)) return
    visiting.add(variable)
    for (const name of referencesOf(variable)) if (byName.has(name)) place(byName.get(name))
    placed.add(variable)
  }
  for (const variable of variables) place(variable)
  return [...placed]
}

function referencesOf(variable: unknown): readonly string[] {
  if (!isMap(variable) || typeof variable.value !== 'string') return []
  return [...variable.value.matchAll(REFERENCE)].flatMap(([, name]) => (name === undefined ? [] : [name]))
}

/** A Deployment whose containers have theirs in order: a merge puts new ones first. */
export function withVariablesInOrder(deployment: KubernetesObject): KubernetesObject {
  const spec = objectOf(deployment.spec)
  const template = objectOf(spec.template)
  const pod = objectOf(template.spec)
  const ordered = (containers: unknown) =>
    Array.isArray(containers) ? containers.map((one) => (isMap(one) ? withOrder(one) : one)) : containers
  const containers = ordered(pod.containers)
  const made = pod.initContainers === undefined ? {} : { initContainers: ordered(pod.initContainers) }
  return { ...deployment, spec: { ...spec, template: { ...template, spec: { ...pod, ...made, containers } } } }
}

const withOrder = (container: Raw): Raw =>
  Array.isArray(container.env) ? { ...container, env: inReferenceOrder(container.env) } : container
