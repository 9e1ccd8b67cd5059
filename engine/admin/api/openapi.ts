/** The admin API as an OpenAPI 3.1 document, made from its operations. */
import { type ZodType, z } from '#engine/schema/schema.ts'
import { API_PATH, type Operation, type Parameter, type ReplyRule } from './operation.ts'

type Json = Readonly<Record<string, unknown>>

const ERROR = z
  .strictObject({
    error: z.strictObject({
      code: z.string().describe('For programs: INVALID, NOT_FOUND, CONFLICT and so on.'),
      message: z.string().describe('For people: what is wrong, and what is allowed.'),
      field: z.string().optional().describe('The field of the body, or the parameter, that it is about.')
    })
  })
  .meta({ title: 'Error' })

/** Of every call. */
const REFUSALS: Readonly<Record<number, string>> = {
  400: 'A parameter or the body is wrong; `field` says which.',
  403: 'The caller may not do this, or is a page of another site.',
  405: 'The path has no such method; `allow` names those that it has.'
}
const BODY_REFUSALS: Readonly<Record<number, string>> = {
  413: 'The body is too long.',
  415: 'The body has no `content-type: application/json`.'
}

export function openApi(operations: readonly Operation[], version: string): Json {
  const paths: Record<string, Record<string, Json>> = {}
  for (const operation of operations) {
    const path = `${API_PATH}${operation.path}`
    paths[path] ??= {}
    paths[path][operation.method.toLowerCase()] = documented(operation)
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Admin API of weir',
      version,
      description: 'What the gateway does, and changes to what may be changed while it runs.'
    },
    servers: [{ url: '/' }],
    tags: [...new Set(operations.map(({ tag }) => tag))].map((name) => ({ name })),
    paths,
    components: { schemas: { Error: schemaOf(ERROR, 'output') } }
  }
}

function documented({ id, tag, role, summary, names = {}, query = {}, body, replies, refusals }: Operation): Json {
  const failures = { ...REFUSALS, ...(body === undefined ? {} : BODY_REFUSALS), ...refusals }
  return {
    operationId: id,
    tags: [tag],
    summary,
    'x-weir-role': role,
    parameters: [
      ...Object.entries(names).map(([name, rule]) => ({ name, in: 'path', required: true, ...parameter(rule) })),
      ...Object.entries(query).map(([name, rule]) => ({ name, in: 'query', ...parameter(rule) }))
    ],
    ...(body === undefined
      ? {}
      : {
          requestBody: {
            required: body.isOptional !== true,
            content: { 'application/json': { schema: schemaOf(body.schema, 'input') } }
          }
        }),
    responses: {
      ...Object.fromEntries(Object.entries(replies).map(([status, rule]) => [status, reply(rule)])),
      ...Object.fromEntries(Object.entries(failures).map(([status, about]) => [status, failure(about)]))
    }
  }
}

function parameter({ about, schema, isList }: Parameter): Json {
  const one = schemaOf(schema, 'input')
  return { description: about, schema: isList === true ? { type: 'array', items: one } : one }
}

function reply({ about, schema, types = [] }: ReplyRule): Json {
  const json = schema === undefined ? [] : [['application/json', { schema: schemaOf(schema, 'output') }]]
  const content = [...json, ...types.map((type) => [type, { schema: { type: 'string' } }])]
  return { description: about, ...(content.length === 0 ? {} : { content: Object.fromEntries(content) }) }
}

const failure = (description: string): Json => ({
  description,
  content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } }
})

/** OpenAPI 3.1 takes JSON Schema as it is. */
function schemaOf(schema: ZodType, io: 'input' | 'output'): Json {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io, target: 'draft-2020-12', unrepresentable: 'any' })
  return rest
}
