/**
 * How fields of the kinds that are provisioned are patched, from the OpenAPI of an API server; written by
 * `node scripts/kubernetes/patch-definitions.ts`, and compared with what is there by the conformance run.
 */
import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { PATCH_DEFINITIONS } from '#engine/kubernetes/provisioning/strategic-merge/patch-definitions.ts'
import type { FieldSchema, PatchDefinitions } from '#engine/kubernetes/provisioning/strategic-merge/patch-schema.ts'
import type { ApiClient } from './client.ts'
import type { Judged } from './judge.ts'
import { KUBERNETES_VERSION } from './programs.ts'
import { startKubernetes } from './servers.ts'

const ROOT = join(import.meta.dirname, '..', '..')
const FILE = join(ROOT, 'engine', 'kubernetes', 'provisioning', 'strategic-merge', 'patch-definitions.ts')
const COMMAND = 'node scripts/kubernetes/patch-definitions.ts'

/** Paths of groups in /openapi/v3, and the kinds of each that are provisioned. */
const KINDS = {
  'api/v1': ['Service', 'ServiceAccount', 'ConfigMap'].map((kind) => `io.k8s.api.core.v1.${kind}`),
  'apis/apps/v1': ['io.k8s.api.apps.v1.Deployment'],
  'apis/policy/v1': ['io.k8s.api.policy.v1.PodDisruptionBudget'],
  'apis/autoscaling/v2': ['io.k8s.api.autoscaling.v2.HorizontalPodAutoscaler']
} as const

interface Schema {
  readonly $ref?: string
  readonly allOf?: readonly Schema[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly items?: Schema
  readonly additionalProperties?: Schema
  readonly 'x-kubernetes-patch-merge-key'?: string
  readonly 'x-kubernetes-patch-strategy'?: string
}

type Schemas = Readonly<Record<string, Schema>>

export async function patchDefinitions(client: ApiClient): Promise<PatchDefinitions> {
  const found = new Map<string, Record<string, FieldSchema>>()
  for (const [path, roots] of Object.entries(KINDS)) {
    const { body } = await client.ask('GET', `/openapi/v3/${path}`)
    const { components } = body as unknown as { readonly components: { readonly schemas: Schemas } }
    for (const root of roots) collect(root, components.schemas, found)
  }
  return pruned(found)
}

function collect(name: string, schemas: Schemas, found: Map<string, Record<string, FieldSchema>>): void {
  if (found.has(name)) return
  const fields: Record<string, FieldSchema> = {}
  found.set(name, fields)
  const { properties = {}, additionalProperties } = schemas[name] ?? {}
  const all = additionalProperties === undefined ? properties : { ...properties, '*': additionalProperties }
  for (const [field, schema] of Object.entries(all)) {
    const of = definitionOf(schema) ?? definitionOf(schema.items) ?? definitionOf(schema.additionalProperties)
    fields[field] = { ...strategyOf(schema), ...(of === undefined ? {} : { of }) }
    if (of !== undefined) collect(of, schemas, found)
  }
}

function strategyOf(schema: Schema): FieldSchema {
  const { 'x-kubernetes-patch-merge-key': mergeKey, 'x-kubernetes-patch-strategy': text = '' } = schema
  // retainKeys says how clients make patches; those who merge them do what a directive says, wherever it stands.
  const strategy = text.split(',').find((one) => one === 'merge' || one === 'replace')
  return { ...(mergeKey === undefined ? {} : { mergeKey }), ...(strategy === undefined ? {} : { strategy }) }
}

function definitionOf(schema: Schema | undefined): string | undefined {
  return (schema?.$ref ?? schema?.allOf?.[0]?.$ref)?.replace('#/components/schemas/', '')
}

/** Without fields that merge in the default way, as all below them do. */
function pruned(found: ReadonlyMap<string, Record<string, FieldSchema>>): PatchDefinitions {
  const leads = new Set<string>()
  const isKept = ({ of, strategy }: FieldSchema) => strategy !== undefined || (of !== undefined && leads.has(of))
  for (let size = -1; size < leads.size; ) {
    size = leads.size
    for (const [name, fields] of found) if (Object.values(fields).some(isKept)) leads.add(name)
  }
  const entries = [...leads].toSorted().map((name) => {
    const fields = Object.entries(found.get(name)!).filter(([, field]) => isKept(field))
    return [name, Object.fromEntries(fields.map(([field, schema]) => [field, shortened(schema, leads)]))]
  })
  return Object.fromEntries(entries)
}

/** Without a definition that says nothing. */
function shortened({ of, ...schema }: FieldSchema, leads: ReadonlySet<string>): FieldSchema {
  return of !== undefined && leads.has(of) ? { ...schema, of } : schema
}

export async function patchDefinitionsCase(client: ApiClient): Promise<Judged> {
  const isFresh = isDeepStrictEqual(PATCH_DEFINITIONS, await patchDefinitions(client))
  const why = isFresh ? null : `are not what the API server says: run ${COMMAND}`
  return { name: 'definitions of strategic merge patches', why }
}

function write(definitions: PatchDefinitions): void {
  const lines = [
    `/** From the OpenAPI of Kubernetes ${KUBERNETES_VERSION}, by "${COMMAND}". */`,
    `import type { PatchDefinitions } from './patch-schema.ts'`,
    '',
    `export const PATCH_DEFINITIONS: PatchDefinitions = ${JSON.stringify(definitions)}`
  ]
  writeFileSync(FILE, `${lines.join('\n')}\n`)
  execFileSync(join(ROOT, 'node_modules', '.bin', 'biome'), ['check', '--write', FILE])
}

if (import.meta.main) {
  const servers = await startKubernetes()
  try {
    write(await patchDefinitions(servers.clientOf('admin')))
  } finally {
    await servers.stop()
  }
}
