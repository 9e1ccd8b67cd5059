/** What an API server says against a generated object -> a fault of the Gateway, at the field that it came from. */
import { type KubernetesObject, keyOf } from '#engine/kubernetes/objects/object.ts'
import type { Fault, ObjectPlace } from '#engine/kubernetes/translation/parts.ts'
import { objectOf, type Path, parsePath, type Raw, valueAt } from '#engine/schema/placed.ts'
import type { ProvisionInput } from './input.ts'
import { ON_DEMAND, OVERLAID } from './overlays.ts'
import { invalidParameters, type Level, levelsOf, placeOf } from './parameters.ts'

/** Answer of an API server: a Status of meta/v1. */
export interface Refusal {
  readonly status: number
  readonly message: string
  /** Of `details`: each names a field ("spec.template.spec.containers[0].image"). */
  readonly causes?: readonly { readonly field?: string; readonly message?: string }[] | undefined
}

/** Typed fields by where they end in a Deployment. */
const TYPED: readonly (readonly [RegExp, Path])[] = [
  [/^spec\.template\.spec\.containers\[\d+\]\.(?:image|imagePullPolicy)\b/, ['spec', 'image']],
  [/^spec\.template\.spec\.containers\[\d+\]\.env\b/, ['spec', 'env']],
  [/^spec\.template\.spec\.containers\[\d+\]\.resources\b/, ['spec', 'resources']],
  [/^spec\.template\.spec\.terminationGracePeriodSeconds\b/, ['spec', 'shutdown']]
]

/** As server-side apply names a field that there is not: ".spec.replica: field not declared in schema". */
const UNDECLARED = /\.([\w.[\]=",-]+): field not declared in schema/
const STATUSES = [400, 422]

/**
 * Null: nothing is wrong with the object (no rights, a conflict, a server that cannot): to be tried again.
 * The place is that of the parameters where they say what is refused, else the Gateway.
 */
export function refusalFault(input: ProvisionInput, object: KubernetesObject, refusal: Refusal): Fault | null {
  const { status, message, causes = [] } = refusal
  const undeclared = UNDECLARED.exec(message)?.[1]
  if (!STATUSES.includes(status) && undeclared === undefined) return null
  const judged = levelsOf([input.classParameters, input.gatewayParameters])
  const levels = 'levels' in judged ? judged.levels : []
  const field = undeclared ?? causes.find((cause) => cause.field !== undefined && cause.field !== '')?.field ?? ''
  const place = overlayPlace(object, field, levels) ?? typedPlace(object, field, levels)
  const { kind, metadata } = object
  const text = `the API server refuses the ${kind} ${metadata.namespace ?? ''}/${metadata.name}: ${message}`
  return invalidParameters(text, place ?? { key: keyOf(input.gateway), path: ['spec'] })
}

/** The deepest field of an overlay on the way to `field`, in the topmost level that has one. */
function overlayPlace({ kind }: KubernetesObject, field: string, levels: readonly Level[]): ObjectPlace | null {
  const name = Object.entries(OVERLAID).find(([, overlay]) => overlay.kind === kind)?.[0]
  if (name === undefined) return null
  const isFlat = kind === OVERLAID.serviceAccount.kind
  for (const { object } of levels.toReversed()) {
    const overlay = objectOf(valueAt(object, ['spec', name]))
    const path = isFlat && !field.startsWith('metadata') ? `spec.${field}` : field
    const steps = deepest(overlay, path)
    if (steps.length > 1) return { key: keyOf(object), path: ['spec', name, ...steps] }
  }
  // Without an overlay there were no such object.
  return ON_DEMAND.some((one) => one === name) ? placeOf(levels, ['spec', name]) : null
}

/** Items of lists have other places in a patch than in what it makes. */
function deepest(overlay: Raw, field: string): Path {
  const steps: string[] = []
  let at: Raw = overlay
  for (const step of parsePath(field)) {
    if (typeof step !== 'string' || !Object.hasOwn(at, step)) break
    steps.push(step)
    at = objectOf(at[step])
  }
  return steps
}

function typedPlace({ kind }: KubernetesObject, field: string, levels: readonly Level[]): ObjectPlace | null {
  if (kind !== OVERLAID.deployment.kind) return null
  const path = TYPED.find(([pattern]) => pattern.test(field))?.[1]
  return path === undefined ? null : placeOf(levels, path)
}

/** An object of that name is there, and is not the Gateway's own (isOwnedBy): to apply would take it from its owner. */
export function conflictFault(gateway: KubernetesObject, { kind, metadata }: KubernetesObject): Fault {
  const name = `${kind} ${metadata.namespace ?? ''}/${metadata.name}`
  const message = `there is already a ${name}, which is not of this Gateway: rename or delete one of them`
  return invalidParameters(message, { key: keyOf(gateway), path: ['metadata', 'name'] })
}
