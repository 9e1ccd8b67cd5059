/**
 * The accepted objects with one thing changed: the schemas, by which the gateway judges, and the API server must agree.
 * What only the gateway can tell, the API server may take.
 */
import { objectSchema, type Resource } from '#engine/kubernetes/resources/index.ts'
import { type Accepted, objectOf } from '#engine/kubernetes/testing/case.ts'
import type { ApiClient } from './client.ts'
import type { Judged } from './judge.ts'

/** In place of a value: nothing, what is empty, and another type. */
const REPLACEMENTS: readonly unknown[] = [undefined, '', 'x y', -1, 1e9, [], {}, true]

interface Mutation {
  readonly place: string
  readonly spec: object
}

export async function mutationCases(
  client: ApiClient,
  resources: readonly Resource[],
  accepted: readonly Accepted[]
): Promise<Judged[]> {
  const judged: Judged[] = []
  const seen = new Set<string>()
  for (const one of accepted) {
    const resource = resources.find(({ kind }) => kind === one.kind)!
    const schema = objectSchema(resource)
    for (const { place, spec } of mutationsOf(one.spec)) {
      const key = `${one.kind} ${JSON.stringify(spec)}`
      if (seen.has(key)) continue
      seen.add(key)
      const object = objectOf({ ...one, spec }, 'mutated')
      const issues = schema.safeParse(object).error?.issues ?? []
      const { status, body } = await client.create(object, resource.plural, '&dryRun=All')
      const name = `${one.kind}: ${one.name}, ${place}`
      judged.push({ name, why: disagreement(issues, status, body.message) })
    }
  }
  return judged
}

type Issue = { readonly code?: string; readonly message: string }

/** Issues of code custom are of functions, which may have no form in CEL. */
function disagreement(issues: readonly Issue[], status: number, message = ''): string | null {
  if (status === 201) {
    const certain = issues.find(({ code }) => code !== 'custom')
    return certain === undefined ? null : `taken; the schema says: ${certain.message}`
  }
  return issues.length > 0 ? null : `the schema takes what is refused: ${message}`
}

function mutationsOf(spec: object): Mutation[] {
  return placesOf(spec, []).flatMap((path) =>
    REPLACEMENTS.map((value) => ({
      place: `${path.join('.')} = ${JSON.stringify(value)}`,
      spec: replaced(spec, path, value) as object
    }))
  )
}

function placesOf(value: unknown, path: readonly string[]): (readonly string[])[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, inner]) => [[...path, key], ...placesOf(inner, [...path, key])])
}

function replaced(value: unknown, [key, ...rest]: readonly string[], by: unknown): unknown {
  if (key === undefined) return by
  if (Array.isArray(value)) {
    const all = value.map((entry, i) => (String(i) === key ? replaced(entry, rest, by) : entry))
    return all.filter((entry) => entry !== undefined)
  }
  const { [key]: old, ...others } = value as Record<string, unknown>
  const made = replaced(old, rest, by)
  return made === undefined ? others : { ...others, [key]: made }
}
