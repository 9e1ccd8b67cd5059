/**
 * Which policies of a backend act on its kind. One that does not is left out of it, with the reason: a mistake of a
 * GatewayPolicy must not take the backend with it.
 */
import type { BackendConfig, BackendPolicies } from '#engine/contract/backend-config.ts'
import type { Fault } from '#engine/kubernetes/translation/parts.ts'
import { objectOf } from '#engine/schema/placed.ts'
import type { Field, Fields } from './fields.ts'
import type { PolicyOptions } from './options.ts'
import { schemasOf } from './schemas.ts'

export interface Fit {
  readonly fields: Fields
  readonly faults: readonly Fault[]
}

export function fitting(fields: Fields, config: BackendConfig | undefined, options: PolicyOptions): Fit {
  const { kinds } = schemasOf(options)
  const others = kinds.policies.filter(
    (group) => group.actsOnAll !== true && config !== undefined && !config.policies.includes(group)
  )
  const plain = kinds.keys.filter((key) => key.config.isPlain && !key.isAlias)
  const plainKeys = plain.map(({ name }) => name).join(', ')
  const faults: Fault[] = []
  const kept = [...fields].filter(([name, field]) => {
    const group = others.find((one) => isOf(one, name, field))
    if (group !== undefined) faults.push(unfit(field, group.words.misplaced(plainKeys, config?.advice)))
    return group === undefined
  })
  return { fields: new Map(kept), faults }
}

function isOf({ keys, inside }: BackendPolicies, name: string, { value }: Field): boolean {
  return Object.hasOwn(keys, name) && (inside === undefined || objectOf(value)[inside] !== undefined)
}

export const unfit = ({ key, from }: Field, message: string): Fault => ({
  type: UNFIT,
  reason: 'Invalid',
  message,
  place: { key, path: from }
})

/** Of faults of a policy that is in force but for this. */
export const UNFIT = 'Unfit'
