/**
 * Operations of Swagger 2.0 (swagger.io/specification/v2) in the words of OpenAPI 3.0. References stay what they are:
 * they lead to `definitions` and `parameters` of the same document.
 */

import { type Document, isNode, type Node } from './document.ts'

/** `collectionFormat` in style and explode. "multi" is for queries and forms. */
const COLLECTIONS: Readonly<Record<string, { readonly style?: string; readonly explode: boolean }>> = {
  csv: { explode: false },
  ssv: { style: 'spaceDelimited', explode: false },
  tsv: { style: 'tabDelimited', explode: false },
  pipes: { style: 'pipeDelimited', explode: false },
  multi: { style: 'form', explode: true }
}
/** What a parameter has beside its schema. */
const OWN = new Set(['name', 'in', 'description', 'required', 'collectionFormat', 'allowEmptyValue'])
const FORMS = ['application/x-www-form-urlencoded', 'multipart/form-data']

/** The operation with the parameters of its path, and with its body. */
export function fromSwagger(document: Document, given: Node, shared: Node, where: string): Node {
  const parameters = new Map<string, Node>()
  for (const list of [given.parameters, shared.parameters]) {
    for (const item of Array.isArray(list) ? list : []) {
      const node = document.node(item, `${where}.parameters`)
      document.spend(1, where)
      const key = `${String(node?.in)} ${String(node?.name)}`
      if (node !== null && !parameters.has(key)) parameters.set(key, node)
    }
  }
  const all = [...parameters.values()]
  const consumes = [given.consumes, document.root.consumes].find(Array.isArray) as unknown[] | undefined
  const types = (consumes ?? []).filter((type) => typeof type === 'string')
  const requestBody = bodyOf(
    all.find((one) => one.in === 'body'),
    all.filter((one) => one.in === 'formData'),
    types
  )
  return {
    ...given,
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
  const said = types.filter((type) => FORMS.includes(type))
  const offered = hasFile ? [FORMS[1]!] : said.length === 0 ? [FORMS[0]!] : said
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

/** One node for all operations that refer to one parameter, so that its schema is written once. */
const parameters = new WeakMap<Node, Node>()

function parameterOnce(given: Node): Node {
  const known = parameters.get(given) ?? parameterOf(given)
  parameters.set(given, known)
  return known
}

function parameterOf(given: Node): Node {
  const { name, description, required } = given
  return { name, in: given.in, description, required, schema: schemaOf(given), ...collectionOf(given) }
}

/** Keywords of the schema stand beside the parameter's own. */
function schemaOf(given: Node): Node {
  return Object.fromEntries(Object.entries(given).filter(([key]) => !OWN.has(key)))
}

/** Nothing for what is no list, and for the places where lists have one form only. */
function collectionOf({ type, in: place, collectionFormat }: Node): { style?: string; explode?: boolean } {
  if (type !== 'array') return {}
  const { style, explode } = COLLECTIONS[String(collectionFormat ?? 'csv')] ?? { explode: false }
  const hasStyles = place === 'query' || place === 'formData'
  return { explode: hasStyles && explode, ...(hasStyles && style !== undefined ? { style } : {}) }
}

/** Path below which a Swagger document's paths are; "" where it says none. */
export function basePath({ basePath: given }: Node): string {
  return typeof given === 'string' && given.startsWith('/') ? given.replace(/\/+$/, '') : ''
}

export function isSwagger(root: unknown): boolean {
  return isNode(root) && root.swagger === '2.0'
}
