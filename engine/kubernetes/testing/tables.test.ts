import assert from 'node:assert/strict'
import { test } from 'node:test'
import { backends } from '#backends/index.ts'
import { type Structural, structural } from '#engine/kubernetes/crds/structural.ts'
import { objectSchema, resourcesOf } from '#engine/kubernetes/resources/index.ts'
import type { z } from '#engine/schema/schema.ts'
import { policies } from '#policies/index.ts'
import { type Kind, objectOf } from './case.ts'
import { ACCEPTED, REFUSED } from './tables.ts'

const RESOURCES = new Map(resourcesOf(policies, backends).map((resource) => [resource.kind, resource]))
const SCHEMAS = new Map([...RESOURCES.values()].map((resource) => [resource.kind, objectSchema(resource)]))

const issuesOf = (kind: Kind, object: unknown): readonly z.core.$ZodIssue[] =>
  SCHEMAS.get(kind)!.safeParse(object).error?.issues ?? []

/** As API servers write it. */
const placeText = (path: readonly PropertyKey[]) =>
  path.map((key, i) => (typeof key === 'number' ? `[${key}]` : `${i === 0 ? '' : '.'}${String(key)}`)).join('')

test('schemas of resources accept what API servers are to accept', () => {
  for (const one of ACCEPTED) {
    const issues = issuesOf(one.kind, objectOf(one, 'a'))
    assert.deepEqual(issues, [], `${one.kind}: ${one.name}`)
  }
})

test('schemas of resources refuse what API servers are to refuse, and name the place', () => {
  for (const one of REFUSED) {
    const places = issuesOf(one.kind, objectOf(one, 'a')).map(({ path }) => placeText(path))
    const isNamed = places.some((place) => place.startsWith(one.at) || one.at.startsWith(place))
    assert.ok(isNamed, `${one.kind}: ${one.name}: ${one.at} is not among [${places.join(', ')}]`)
  }
})

/** A field and what is in it: equal wherever the same schema stands under the same name. */
const fieldKey = (name: string, schema: Structural) => `${name} ${JSON.stringify(schema)}`

/** All fields below `schema`, by their keys, with a path of each. */
function fieldsOf(schema: Structural, path: string, found: Map<string, string>): Map<string, string> {
  for (const [name, field] of Object.entries(schema.properties ?? {})) {
    const key = fieldKey(name, field)
    if (found.has(key)) continue
    found.set(key, `${path}.${name}`)
    fieldsOf(field, `${path}.${name}`, found)
  }
  for (const inner of [schema.items, schema.additionalProperties]) {
    if (inner !== undefined) fieldsOf(inner, `${path}[]`, found)
  }
  return found
}

/** Takes away from `unused` what `value` has. */
function useFields(schema: Structural, value: unknown, unused: Map<string, string>): void {
  if (typeof value !== 'object' || value === null) return
  for (const [name, inner] of Object.entries(value)) {
    const field = schema.properties?.[name]
    if (field !== undefined) unused.delete(fieldKey(name, field))
    const below = field ?? schema.items ?? schema.additionalProperties
    if (below !== undefined) useFields(below, inner, unused)
  }
}

test('the accepted objects use every field', () => {
  const schemas = new Map([...RESOURCES].map(([kind, { spec }]) => [kind, structural(spec)] as const))
  const unused = new Map<string, string>()
  for (const [kind, schema] of schemas) fieldsOf(schema, kind, unused)
  for (const { kind, spec } of ACCEPTED) useFields(schemas.get(kind)!, spec, unused)
  assert.deepEqual([...unused.values()], [])
})
