/** What a JSON Schema allows at a path: keys with what they are about, and values. */

export interface SchemaNode {
  readonly type?: string | readonly string[]
  readonly description?: string
  readonly properties?: Readonly<Record<string, SchemaNode>>
  readonly additionalProperties?: boolean | SchemaNode
  readonly items?: boolean | SchemaNode
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly anyOf?: readonly SchemaNode[]
  readonly oneOf?: readonly SchemaNode[]
  readonly allOf?: readonly SchemaNode[]
  readonly $ref?: string
  readonly $defs?: Readonly<Record<string, SchemaNode>>
}

export interface Option {
  readonly label: string
  readonly detail: string
  readonly about: string
}

/** A schema that refers to itself ends here. */
const DEPTH_MAX = 12

/** All schemas that hold at the path: there are several where one of them may be chosen. */
function nodesAt(root: SchemaNode, path: readonly (string | null)[]): readonly SchemaNode[] {
  let nodes = choicesOf(root, root)
  for (const step of path) {
    nodes = nodes.flatMap((node) => {
      const next = step === null ? node.items : (node.properties?.[step] ?? node.additionalProperties)
      return typeof next === 'object' ? choicesOf(root, next) : []
    })
  }
  return nodes
}

function choicesOf(root: SchemaNode, node: SchemaNode, depth = 0): readonly SchemaNode[] {
  if (depth > DEPTH_MAX) return []
  const name = /^#\/\$defs\/(.+)$/.exec(node.$ref ?? '')?.[1]
  const referred = name === undefined ? undefined : root.$defs?.[name]
  const parts = [
    ...(node.anyOf ?? []),
    ...(node.oneOf ?? []),
    ...(node.allOf ?? []),
    ...(referred === undefined ? [] : [referred])
  ]
  return [node, ...parts.flatMap((part) => choicesOf(root, part, depth + 1))]
}

export function keysAt(root: SchemaNode, path: readonly (string | null)[]): readonly Option[] {
  const found = new Map<string, Option>()
  for (const { properties = {} } of nodesAt(root, path)) {
    for (const [label, node] of Object.entries(properties)) {
      if (!found.has(label)) found.set(label, { label, detail: typeOf(root, node), about: aboutOf(root, node) })
    }
  }
  return [...found.values()]
}

export function valuesAt(root: SchemaNode, path: readonly (string | null)[]): readonly Option[] {
  const values = nodesAt(root, path).flatMap((node) => [
    ...(node.enum ?? []),
    ...(node.const === undefined ? [] : [node.const]),
    ...(node.type === 'boolean' ? [true, false] : [])
  ])
  return [...new Set(values.map(String))].map((label) => ({ label, detail: '', about: '' }))
}

/** Null: nothing is known of it. */
export function aboutAt(root: SchemaNode, path: readonly (string | null)[]): string | null {
  return nodesAt(root, path).find(({ description }) => description !== undefined)?.description ?? null
}

const aboutOf = (root: SchemaNode, node: SchemaNode): string =>
  choicesOf(root, node).find(({ description }) => description !== undefined)?.description ?? ''

function typeOf(root: SchemaNode, node: SchemaNode): string {
  const types = choicesOf(root, node).flatMap(({ type = [] }) => [type].flat())
  return [...new Set(types)].filter((type) => type !== 'null').join(' or ')
}
