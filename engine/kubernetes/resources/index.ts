/** The resources of the group, each with all that its CRD says. */
import type { BackendKind } from '#engine/contract/backend.ts'
import type { Policy } from '#engine/contract/policy.ts'
import { z } from '#engine/schema/schema.ts'
import { kindsOf } from '#engine/source/kinds.ts'
import { gatewayBackendSpec } from './gateway-backend.ts'
import { gatewayParametersSpec, parametersStatus } from './gateway-parameters.ts'
import { gatewayPolicySpec } from './gateway-policy.ts'
import { API_VERSION } from './names.ts'
import { ResourceSchemas } from './resource-schema.ts'
import { backendStatus, policyStatus } from './status.ts'
import { resourceWords } from './words.ts'

/** Beside the name; `jsonPath`: of the object. */
export interface Column {
  readonly name: string
  readonly type: 'string' | 'date'
  readonly jsonPath: string
  readonly description: string
}

export interface Resource {
  readonly kind: string
  readonly plural: string
  readonly shortNames: readonly string[]
  readonly description: string
  readonly spec: z.ZodType
  readonly status: z.ZodType
  readonly columns: readonly Column[]
}

const ACCEPTED: Column = {
  name: 'Accepted',
  type: 'string',
  jsonPath: '.status.conditions[?(@.type=="Accepted")].status',
  description: 'Whether it is in order.'
}

const OF_ANCESTORS: Column = { ...ACCEPTED, jsonPath: '.status.ancestors[*].conditions[?(@.type=="Accepted")].status' }

const AGE: Column = {
  name: 'Age',
  type: 'date',
  jsonPath: '.metadata.creationTimestamp',
  description: 'Since it was made.'
}

export function resourcesOf(policies: readonly Policy[], backends: readonly BackendKind[]): readonly Resource[] {
  const kinds = kindsOf(backends)
  const words = resourceWords(policies)
  const schemas: ResourceSchemas = new ResourceSchemas((word) => words[word](schemas))
  return [
    {
      kind: 'GatewayBackend',
      plural: 'gatewaybackends',
      shortNames: ['gwbe'],
      description: 'Where requests may go: models, MCP servers, a host, or the host that a request names.',
      spec: gatewayBackendSpec(kinds, schemas),
      status: backendStatus(),
      columns: [ACCEPTED, AGE]
    },
    {
      kind: 'GatewayPolicy',
      plural: 'gatewaypolicies',
      shortNames: ['gwpol'],
      description: 'What happens to the connections and requests of gateways, routes and backends.',
      spec: gatewayPolicySpec(policies, kinds, schemas),
      status: policyStatus(),
      columns: [OF_ANCESTORS, AGE]
    },
    {
      kind: 'GatewayParameters',
      plural: 'gatewayparameters',
      shortNames: ['gwparams'],
      description: 'How the data planes of a GatewayClass or of a Gateway are provisioned.',
      spec: gatewayParametersSpec(),
      status: parametersStatus(),
      columns: [AGE]
    }
  ]
}

/** Of whole objects; `metadata` is for API servers to judge. */
export function objectSchema({ kind, spec, status }: Resource) {
  return z.strictObject({
    apiVersion: z.literal(API_VERSION),
    kind: z.literal(kind),
    metadata: z.looseObject({}).optional(),
    spec,
    status: status.optional()
  })
}
