/** What resources have their own words for (ResourceWord of engine/schema/spelling.ts). */
import type { Policy } from '#engine/contract/policy.ts'
import { isDeep, RESOURCE_DEPTH_MAX } from '#engine/kit/depth.ts'
import { atLeastOne } from '#engine/schema/choice.ts'
import { fieldName } from '#engine/schema/http.ts'
import { keywords, ONLY_GATEWAY } from '#engine/schema/rule.ts'
import { z } from '#engine/schema/schema.ts'
import { plainSelector } from '#engine/schema/secret-ref.ts'
import type { ResourceWord } from '#engine/schema/spelling.ts'
import { backendObjectReference, labelSelector, localObjectReference } from './references.ts'
import type { ResourceSchemas } from './resource-schema.ts'

const mcpSelector = () =>
  atLeastOne({
    namespaces: labelSelector().optional().describe("Default: the backend's own namespace alone."),
    services: labelSelector().optional().describe('Services with these labels.')
  }).describe('Services that are MCP servers, by their labels.')

/** HTTPHeaderMatch of the Gateway API. */
const httpHeaderMatch = () =>
  z.strictObject({
    type: z.enum(['Exact', 'RegularExpression']).default('Exact').describe('RegularExpression: in RE2 syntax.'),
    name: fieldName(),
    value: z.string().check(z.minLength(1), z.maxLength(4096))
  })

/** Any JSON value. */
const json = () =>
  z
    .any()
    .refine((value) => value !== undefined, { error: 'is required', params: keywords({}) })
    .refine((value) => !isDeep(value, RESOURCE_DEPTH_MAX), {
      error: `is nested more than ${RESOURCE_DEPTH_MAX} levels deep`,
      params: ONLY_GATEWAY
    })
    .describe('Any JSON.')

type Words = Readonly<Record<ResourceWord, (schemas: ResourceSchemas) => z.ZodType>>

export function resourceWords(policies: readonly Policy[]): Words {
  return {
    BackendObjectReference: backendObjectReference,
    LocalObjectReference: localObjectReference,
    AuthoritiesReference: localObjectReference,
    SecretSelector: plainSelector,
    McpSelector: mcpSelector,
    // Files have it on routes; resources on what it protects.
    McpAuthentication: (schemas) => {
      const policy = policies.find(({ inResources }) => inResources === 'McpAuthentication')
      return policy === undefined ? z.never() : schemas.of(policy.schema)
    },
    HttpHeaderMatch: httpHeaderMatch,
    Json: json
  }
}
