/**
 * Writes the schemas by which resources of the Gateway API are checked where no API server does it (manifests on a
 * laptop): its CRDs of the standard channel, without descriptions and statuses. Needs Go, for its module:
 *
 *     node scripts/kubernetes/gateway-api-schemas.ts
 */
import { writeFileSync } from 'node:fs'
import { parseAllDocuments } from 'yaml'
import { KINDS } from '#engine/kubernetes/objects/object.ts'
import { GATEWAY_API_VERSION, gatewayApiCrds } from './programs.ts'

export const SCHEMAS_FILE = new URL('../../engine/kubernetes/gateway-api/schemas.json', import.meta.url)

/** The terms under which the CRDs may be passed on. */
const NOTICE = `From the CRDs of the Gateway API ${GATEWAY_API_VERSION} (sigs.k8s.io/gateway-api, config/crd/standard), without descriptions and statuses. Copyright The Kubernetes Authors. Licensed under the Apache License, Version 2.0: https://www.apache.org/licenses/LICENSE-2.0`

interface Crd {
  readonly kind: string
  readonly spec: {
    readonly names: { readonly kind: string }
    readonly versions: readonly {
      readonly name: string
      readonly schema: { readonly openAPIV3Schema: { readonly properties: { readonly spec: object } } }
    }[]
  }
}

const withoutDescriptions = (key: string, value: unknown): unknown =>
  key === 'description' && typeof value === 'string' ? undefined : value

/** JSON, one kind in each line. */
export function gatewayApiSchemas(): string {
  const objects = gatewayApiCrds().flatMap((text) => parseAllDocuments(text).map((one) => one.toJS() as Crd | null))
  const lines = objects.flatMap((object) => {
    if (object?.kind !== 'CustomResourceDefinition' || !(object.spec.names.kind in KINDS)) return []
    const version = object.spec.versions.find(({ name }) => name === 'v1')
    if (version === undefined) return []
    const { spec } = version.schema.openAPIV3Schema.properties
    return `${JSON.stringify(object.spec.names.kind)}: ${JSON.stringify(spec, withoutDescriptions)}`
  })
  return `{\n${[`"$comment": ${JSON.stringify(NOTICE)}`, ...lines].join(',\n')}\n}\n`
}

if (import.meta.main) writeFileSync(SCHEMAS_FILE, gatewayApiSchemas())
