/** The schemas of the Gateway API, for objects that no API server has seen. */

import type { z } from '#engine/schema/schema.ts'
import { type OpenApi, schemaOf } from './openapi.ts'
import crds from './schemas.json' with { type: 'json' }

const { $comment: _, ...byKind } = crds
const SPECS = byKind as unknown as Readonly<Record<string, OpenApi>>

export interface KindSpec {
  /** With its defaults. */
  readonly openApi: OpenApi
  readonly schema: z.ZodType
}

const made = new Map<string, KindSpec>()

/** Of the kind's `spec`; undefined: not a kind of the Gateway API that weir reads. */
export function gatewayApiSpec(kind: string): KindSpec | undefined {
  const known = made.get(kind)
  const openApi = Object.hasOwn(SPECS, kind) ? SPECS[kind] : undefined
  if (known !== undefined || openApi === undefined) return known
  const spec = { openApi, schema: schemaOf(openApi) }
  made.set(kind, spec)
  return spec
}

/** Versions that API servers take beside v1. What is read is the same in them. */
export const OLDER_VERSIONS: Readonly<Record<string, readonly string[]>> = {
  GatewayClass: ['v1beta1'],
  Gateway: ['v1beta1'],
  HTTPRoute: ['v1beta1'],
  ReferenceGrant: ['v1beta1']
}
