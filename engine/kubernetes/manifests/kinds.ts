/** Which objects of a manifest are for a gateway, and by which schema each is checked. */

import { structural } from '#engine/kubernetes/crds/structural.ts'
import type { Defaults } from '#engine/kubernetes/gateway-api/defaults.ts'
import { gatewayApiSpec, OLDER_VERSIONS } from '#engine/kubernetes/gateway-api/index.ts'
import { KINDS, type KindName } from '#engine/kubernetes/objects/object.ts'
import type { Resource } from '#engine/kubernetes/resources/index.ts'
import { GATEWAY_GROUP, GROUP } from '#engine/kubernetes/resources/names.ts'
import { z } from '#engine/schema/schema.ts'
import { nearest } from '#engine/schema/suggest.ts'
import { CORE_FIELDS, metadataSchema } from './core.ts'

/** How an object of a kind is checked. */
export interface KindSchema {
  readonly kind: KindName
  /** Of the whole object, behind its defaults. */
  readonly schema: z.ZodType
  /** Defaults of `spec`; null: none. */
  readonly defaults: Defaults | null
}

export type Recognized =
  | KindSchema
  /** It is for something else, and says nothing to a gateway. */
  | 'ignored'
  /** Only its apiVersion or kind is wrong. */
  | { readonly field: 'apiVersion' | 'kind'; readonly message: string; readonly hint?: string | undefined }

const groupOf = (apiVersion: string): string => (apiVersion.includes('/') ? apiVersion.split('/')[0]! : '')

/** Groups of which every kind is for a gateway. */
const GATEWAY_GROUPS: readonly string[] = [GATEWAY_GROUP, GROUP]

/** Groups whose kinds tell another gateway what to do: ignored, they would leave open what they close there. */
const FOREIGN_GROUPS: Readonly<Record<string, string>> = {
  'networking.istio.io': 'Istio',
  'gateway.envoyproxy.io': 'Envoy Gateway',
  'gateway.kgateway.dev': 'kgateway',
  'agentgateway.dev': 'agentgateway',
  'configuration.konghq.com': 'Kong',
  'traefik.io': 'Traefik'
}

/** Groups of which the kinds that are not read are nothing to a gateway. */
const isOurs = (name: KindName, group: string): boolean => groupOf(KINDS[name].apiVersion) === group

export class KindSchemas {
  readonly #resources: ReadonlyMap<string, Resource>
  readonly #made = new Map<KindName, KindSchema>()

  /** `resources`: those of weir.dev. */
  constructor(resources: readonly Resource[]) {
    this.#resources = new Map(resources.map((resource) => [resource.kind, resource]))
  }

  recognize(apiVersion: string, kind: string): Recognized {
    const group = groupOf(apiVersion)
    const name = Object.hasOwn(KINDS, kind) ? (kind as KindName) : null
    if (name !== null && isOurs(name, group)) {
      const known = KINDS[name].apiVersion
      const older = (OLDER_VERSIONS[name] ?? []).map((version) => `${group}/${version}`)
      if (apiVersion === known || (group !== '' && older.includes(apiVersion))) return this.#schemaOf(name)
      return { field: 'apiVersion', message: `is a version of ${kind} that weir does not read`, hint: `write ${known}` }
    }
    if (GATEWAY_GROUPS.includes(group)) {
      const names = Object.keys(KINDS).filter((one) => isOurs(one as KindName, group))
      const near = nearest(kind, names)
      const hint = near === null ? `kinds of it are: ${names.join(', ')}` : `did you mean ${near}?`
      return { field: 'kind', message: `is no kind of ${group} that weir reads`, hint }
    }
    const other = FOREIGN_GROUPS[group]
    if (other !== undefined) {
      const hint = `what weir does instead is GatewayPolicy and GatewayBackend of ${GROUP}: leave this resource out`
      return { field: 'apiVersion', message: `is of ${other}, and does nothing here`, hint }
    }
    // A frequent mistake: a kind that is read, in the group of another.
    if (name === null || group !== '') return 'ignored'
    return { field: 'apiVersion', message: `has no kind ${kind}`, hint: `write ${KINDS[name].apiVersion}` }
  }

  #schemaOf(kind: KindName): KindSchema {
    const known = this.#made.get(kind)
    if (known !== undefined) return known
    const made = this.#make(kind)
    this.#made.set(kind, made)
    return made
  }

  #make(kind: KindName): KindSchema {
    const resource = this.#resources.get(kind)
    if (resource !== undefined) {
      const { spec } = resource
      return { kind, schema: wholeOf({ spec }), defaults: structural(spec) }
    }
    const gatewayApi = gatewayApiSpec(kind)
    if (gatewayApi === undefined) return { kind, schema: wholeOf(CORE_FIELDS[kind]!()), defaults: null }
    return { kind, schema: wholeOf({ spec: gatewayApi.schema }), defaults: gatewayApi.openApi }
  }
}

/** What an API server writes may stand there too: the object may have been read from one. */
const wholeOf = (fields: Readonly<Record<string, z.ZodType>>): z.ZodType =>
  z.strictObject({
    apiVersion: z.string(),
    kind: z.string(),
    metadata: metadataSchema(),
    ...fields,
    status: z.unknown().optional()
  })
