/** Writes what the browser application knows of the admin API, from the table of operations: npm run schema. */

import { writeFileSync } from 'node:fs'
import { compile, type JSONSchema } from 'json-schema-to-typescript'
import type { Operation, Parameter } from '#engine/admin/api/operation.ts'
import { type ApiParts, operationsOf } from '#engine/admin/api/operations.ts'
import { type ZodType, z } from '#engine/schema/schema.ts'

export const UI_TYPES_FILE = new URL('../engine/ui/api/generated/operations.ts', import.meta.url)

/** Nothing of it is called: only what operations say of themselves is read. */
const nobody = (): never => {
  throw new Error('this is a table of operations, not a gateway')
}
const parts: ApiParts = {
  ...{ session: nobody, state: nobody, endpoints: nobody, setLogLevel: nobody, explain: nobody },
  traces: { arm: nobody, stories: nobody },
  keys: { keys: new Proxy({}, { get: nobody }) as never, budgets: nobody },
  spend: { query: nobody }
}

/** Names of bodies and answers: "CreateKeyBody". */
const typeName = ({ id }: Operation, what: string): string => `${id[0]!.toUpperCase()}${id.slice(1)}${what}`

export async function uiTypes(): Promise<string> {
  const declared: string[] = []
  const rows: string[] = []
  const paths: string[] = []
  for (const operation of operationsOf(parts)) {
    const { id, method, path, role, names = {}, query = {}, body, replies } = operation
    const answer = Object.values(replies).find(({ schema }) => schema !== undefined)?.schema
    if (body !== undefined) declared.push(await declaration(typeName(operation, 'Body'), body.schema, 'input'))
    if (answer !== undefined) declared.push(await declaration(typeName(operation, 'Answer'), answer, 'output'))
    const fields = [
      `names: ${fieldsOf(names, '')}`,
      `query: ${fieldsOf(query, '?')}`,
      `body: ${body === undefined ? 'undefined' : typeName(operation, 'Body')}`,
      `answer: ${answer === undefined ? 'undefined' : typeName(operation, 'Answer')}`
    ]
    rows.push(`  ${id}: { ${fields.join('; ')} }`)
    paths.push(`  ${id}: { method: '${method}', path: '${path}', role: '${role}' }`)
  }
  return `/** Made from the operations of the admin API by npm run schema: not to be changed here. */
${declared.join('\n')}
export interface Operations {
${rows.join('\n')}
}

export const OPERATIONS = {
${paths.join(',\n')}
} as const
`
}

/** Parameters are text in a URL, whatever they mean. */
function fieldsOf(parameters: Readonly<Record<string, Parameter>>, mark: '' | '?'): string {
  const fields = Object.entries(parameters).map(
    ([name, { isList }]) => `${name}${mark}: ${isList === true ? 'string | readonly string[]' : 'string'}`
  )
  return fields.length === 0 ? 'Record<string, never>' : `{ ${fields.join('; ')} }`
}

/** Lengths are the API's to judge, and would be unions of tuples; descriptions are in its document. */
const UNTYPED = new Set(['description', 'minItems', 'maxItems'])
const COMBINATIONS = ['oneOf', 'anyOf', 'allOf']

async function declaration(name: string, schema: ZodType, io: 'input' | 'output'): Promise<string> {
  const whole = z.toJSONSchema(schema, { io, target: 'draft-7', unrepresentable: 'any' })
  const plain: JSONSchema = JSON.parse(JSON.stringify(whole), (key, value) => {
    if (UNTYPED.has(key) && typeof value !== 'object') return undefined
    if (typeof value !== 'object' || value === null || typeof value.type !== 'string') return value
    // Which keys exclude each other: the types would be unions with objects of unknown keys.
    return Object.fromEntries(Object.entries(value).filter(([part]) => !COMBINATIONS.includes(part)))
  })
  const text = await compile(plain, name, { additionalProperties: false, bannerComment: '', format: false })
  return text.replaceAll('_Schema', `${name}Schema`)
}

if (import.meta.main) writeFileSync(UI_TYPES_FILE, await uiTypes())
