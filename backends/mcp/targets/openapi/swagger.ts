/**
 * Translates operations of Swagger 2.0 (swagger.io/specification/v2) to OpenAPI 3.0. References are kept: they lead to
 * `definitions` and `parameters` of the same document.
 */

import type { Document, Node } from './document.ts'

/** `collectionFormat` as style and explode. "multi" is valid in queries and forms only. */
const COLLECTIONS: Readonly<Record<string, { readonly style?: string; readonly explode: boolean }>> = {
  csv: { explode: false },
  ssv: { style: 'spaceDelimited', explode: false },
  tsv: { style: 'tabDelimited', explode: false },
  pipes: { style: 'pipeDelimited', explode: false },
  multi: { style: 'form', explode: true }
}
/** Members of a parameter that are not part of its schema. */
const OWN = new Set(['name', 'in', 'description', 'required', 'collectionFormat', 'allowEmptyValue'])
const FORMS = ['application/x-www-form-urlencoded', 'multipart/form-data']

/** The operation with the parameters of its path merged in, and with a requestBody. */
export function fromSwagger(document: Document, operation: Node, shared: Node, where: string): Node {
  const parameters = new Map<string, Node>()
  for (const list of [operation.parameters, shared.parameters]) {
    for (const item of Array.isArray(list) ? list : []) {
      const node = document.node(item, `${where}.parameters`)
      document.spend(1, where)
      const key = `${String(node?.in)} ${String(node?.name)}`
      if (node !== null && !parameters.has(key)) parameters.set(key, node)
    }
  }
  const all = [...parameters.values()]
  const consumes = [operation.consumes, document.root.consumes].find(Array.isArray) as unknown[] | undefined
  const types = (consumes ?? []).filter((type) => typeof type === 'string')
  const requestBody = bodyOf(
    all.find((one) => one.in === 'body'),
    all.filter((one) => one.in === 'formData'),
    types
  )
  return {
    ...operation,
    parameters: all.filter((one) => one.in !== 'body' && one.in !== 'formData').map(parameterOnce),
    ...(requestBody === null ? {} : { requestBody })
  }
}

function bodyOf(body: Node | undefined, fields: readonly Node[], types: readonly string[]): Node | null {
  if (body !== undefined) {
    const offered = types.length === 0 ? ['application/json'] : types
    const content = Object.fromEntries(offered.map((type) => [type, { schema: body.schema }]))
    return { required: body.required === true, content }
  }
  if (fields.length === 0) return null
  const hasFile = fields.some(({ type }) => type === 'file')
  const declared = types.filter((type) => FORMS.includes(type))
  const offered = hasFile ? [FORMS[1]!] : declared.length === 0 ? [FORMS[0]!] : declared
  const media = { schema: formSchema(fields), encoding: encodingOf(fields) }
  const isRequired = fields.some(({ required }) => required === true)
  return { required: isRequired, content: Object.fromEntries(offered.map((type) => [type, media])) }
}

function formSchema(fields: readonly Node[]): Node {
  const named = fields.filter(({ name }) => typeof name === 'string')
  return {
    type: 'object',
    properties: Object.fromEntries(
      named.map((field) => {
        const schema = schemaOf(field)
        const binary = schema.type === 'file' ? { type: 'string', format: 'binary' } : {}
        return [field.name, { ...schema, ...binary, description: field.description }]
      })
    ),
    required: named.filter(({ required }) => required === true).map(({ name }) => name)
  }
}

function encodingOf(fields: readonly Node[]): Node {
  const lists = fields.filter(({ name, type }) => typeof name === 'string' && type === 'array')
  return Object.fromEntries(lists.map((field) => [field.name, collectionOf(field)]))
}

/** One result for all operations that refer to the parameter, so that its schema is written once. */
const parameters = new WeakMap<Node, Node>()

function parameterOnce(parameter: Node): Node {
  const known = parameters.get(parameter) ?? parameterOf(parameter)
  parameters.set(parameter, known)
  return known
}

function parameterOf(parameter: Node): Node {
  const { name, description, required } = parameter
  return { name, in: parameter.in, description, required, schema: schemaOf(parameter), ...collectionOf(parameter) }
}

/** In Swagger the keywords of the schema are members of the parameter itself. */
function schemaOf(parameter: Node): Node {
  return Object.fromEntries(Object.entries(parameter).filter(([key]) => !OWN.has(key)))
}

/** Empty if it is no list, or stands where lists have only one form. */
function collectionOf({ type, in: place, collectionFormat }: Node): { style?: string; explode?: boolean } {
  if (type !== 'array') return {}
  const { style, explode } = COLLECTIONS[String(collectionFormat ?? 'csv')] ?? { explode: false }
  const hasStyles = place === 'query' || place === 'formData'
  return { explode: hasStyles && explode, ...(hasStyles && style !== undefined ? { style } : {}) }
}
