/** The GatewayPolicies of one target, merged. */
import type { KubernetesObject } from '#engine/kubernetes/objects/object.ts'
import type { Objects } from '#engine/kubernetes/objects/objects.ts'
import type { Fault } from '#engine/kubernetes/translation/parts.ts'
import { contentOf, type PolicyContent } from './content.ts'
import { type Field, type Fields, partOf } from './fields.ts'
import { type Merged, mergeContributions, setsOf } from './merge.ts'
import type { FrontendParts, Needs, PolicyOptions, PolicyTarget, TargetPolicies } from './options.ts'
import { policiesFor } from './targets.ts'

export interface TargetFields {
  readonly contents: readonly PolicyContent[]
  readonly preRouting: Merged
  readonly postRouting: Merged
  readonly backend: Merged
  readonly frontend: Merged
  readonly authentication: Field | null
  readonly conflicts: readonly Fault[]
}

const UNSAID: Merged = { fields: new Map(), conflicts: [] }

const NO_FIELDS: TargetFields = {
  contents: [],
  preRouting: UNSAID,
  postRouting: UNSAID,
  backend: UNSAID,
  frontend: UNSAID,
  authentication: null,
  conflicts: []
}

const NO_POLICIES: TargetPolicies = {
  sets: { value: [], origins: [] },
  faults: [],
  backends: new Set(),
  secrets: new Set()
}

export function fieldsFor(target: PolicyTarget, objects: Objects, options: PolicyOptions): TargetFields {
  const policies = policiesFor(target, objects)
  if (policies.length === 0) return NO_FIELDS
  const contents = policies.map((policy) => contentOf(policy, objects, options))
  const merge = (fieldsIn: (content: PolicyContent) => Fields, some: readonly PolicyContent[] = contents) =>
    mergeContributions(
      some.map((content) => ({ policy: content.policy, fields: fieldsIn(content) })),
      options
    )
  const of = (isPre: boolean) => contents.filter(({ isPreRouting }) => isPreRouting === isPre)
  const preRouting = merge(({ traffic }) => traffic, of(true))
  const postRouting = merge(({ traffic }) => traffic, of(false))
  const backend = merge(({ backend: fields }) => fields)
  const frontend = merge(({ frontend: fields }) => fields)
  const authentication = merge(({ authentication: one }) => new Map(one === null ? [] : [['authentication', one]]))
  const all = [preRouting, postRouting, backend, frontend, authentication]
  return {
    contents,
    preRouting,
    postRouting,
    backend,
    frontend,
    authentication: authentication.fields.get('authentication') ?? null,
    conflicts: all.flatMap(({ conflicts }) => conflicts)
  }
}

export function policiesOf(target: PolicyTarget, objects: Objects, options: PolicyOptions): TargetPolicies {
  const found = fieldsFor(target, objects, options)
  if (found === NO_FIELDS) return NO_POLICIES
  const { preRouting, postRouting, backend } = found
  const post = new Map([...postRouting.fields, ...backend.fields])
  return {
    sets: setsOf({ pre: preRouting.fields, post }),
    faults: faultsOf(found),
    ...needsOfAll(found.contents)
  }
}

export function frontendOf(gateway: KubernetesObject, objects: Objects, options: PolicyOptions): FrontendParts {
  const { namespace = '', name } = gateway.metadata
  const found = fieldsFor({ kind: 'Gateway', namespace, name }, objects, options)
  return { frontend: partOf(found.frontend.fields), faults: faultsOf(found), ...needsOfAll(found.contents) }
}

export const faultsOf = ({ contents, conflicts }: TargetFields): readonly Fault[] => [
  ...contents.flatMap(({ faults, doubts }) => [...faults, ...doubts]),
  ...conflicts
]

export function needsOfAll(all: readonly Needs[]): Needs {
  return {
    backends: new Set(all.flatMap(({ backends }) => [...backends])),
    secrets: new Set(all.flatMap(({ secrets }) => [...secrets]))
  }
}
