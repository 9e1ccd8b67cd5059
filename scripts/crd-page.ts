/** docs/kubernetes-resources.md: the fields of the resources, from the schemas that API servers enforce. */
import { crdOf } from '#engine/kubernetes/crds/crd.ts'
import { type Structural, structural } from '#engine/kubernetes/crds/structural.ts'
import type { Resource } from '#engine/kubernetes/resources/index.ts'
import { duration } from '#engine/schema/duration.ts'

/** What stands ahead of it is written by hand. */
const MARK = '<!-- What is below is made by npm run schema. -->\n'

export const PAGE_FILE = new URL('../docs/kubernetes-resources.md', import.meta.url)

interface Row {
  readonly path: string
  readonly schema: Structural
  readonly isRequired: boolean
  /** A path with the same schema, whose fields are not repeated; null: there is none. */
  readonly same: string | null
}

/** `page`: as it is now. */
export function resourcesPage(page: string, resources: readonly Resource[]): string {
  const [written] = page.split(MARK)
  return [`${written}${MARK}`, ...resources.map(section)].join('\n')
}

function section(resource: Resource): string {
  const { kind, description, plural } = resource
  const [version] = crdOf(resource).spec.versions
  const { spec } = version!.schema.openAPIV3Schema.properties
  const rows = rowsOf(spec, '', new Map())
  return [
    `## ${kind}`,
    '',
    `${description} \`kubectl get ${resource.shortNames[0]}\`, or \`${plural}\`.${rulesText(spec)}`,
    '',
    '| field of spec | value | |',
    '|---|---|---|',
    ...rows.map(line),
    ''
  ].join('\n')
}

function rowsOf({ properties = {}, required = [] }: Structural, path: string, seen: Map<string, string>): Row[] {
  return Object.entries(properties).flatMap(([name, schema]) => {
    const at = path === '' ? name : `${path}.${name}`
    const inner = innerOf(schema)
    const key = JSON.stringify(inner.schema)
    const known = inner.schema.properties === undefined ? undefined : seen.get(key)
    if (known === undefined) seen.set(key, `${at}${inner.mark}`)
    const row: Row = { path: at, schema, isRequired: required.includes(name), same: known ?? null }
    return known === undefined ? [row, ...rowsOf(inner.schema, `${at}${inner.mark}`, seen)] : [row]
  })
}

/** The entries of a list or a map. */
function innerOf(schema: Structural): { readonly schema: Structural; readonly mark: string } {
  if (schema.items !== undefined) return { schema: schema.items, mark: '[]' }
  return schema.additionalProperties === undefined
    ? { schema, mark: '' }
    : { schema: schema.additionalProperties, mark: '.*' }
}

function line({ path, schema, isRequired, same }: Row): string {
  const notes = [
    ...(isRequired ? ['Required.'] : []),
    ...(schema.default === undefined ? [] : [`Filled in: \`${JSON.stringify(schema.default)}\`.`]),
    ...(schema.description === undefined ? [] : [sentence(schema.description)]),
    ...(same === null ? [] : [`Fields as \`${same}\`.`])
  ]
  const cell = `${notes.join(' ')}${same === null ? rulesText(schema) : ''}`.trim()
  return `| \`${path}\` | ${valueText(schema)} | ${cell.replaceAll('|', '\\|')} |`
}

const sentence = (text: string) => (/[.!?]$/.test(text) ? text : `${text}.`)

function rulesText({ 'x-kubernetes-validations': rules = [] }: Structural): string {
  const shown = rules.filter(({ message }) => !OF_DURATIONS.includes(message))
  return shown.map(({ message, fieldPath = '' }) => ` *${`${fieldPath.slice(1)} ${message}`.trim()}.*`).join('')
}

const DURATION = structural(duration())
/** Said once, and not of each duration. */
const OF_DURATIONS = (DURATION['x-kubernetes-validations'] ?? []).map(({ message }) => message)

function valueText(schema: Structural): string {
  const { type, enum: choices, items, additionalProperties: values } = schema
  if (choices !== undefined) return choices.map((choice) => `\`${String(choice)}\``).join(', ')
  if (items !== undefined) return `list${range(schema, 'Items')} of ${valueText(items)}`
  if (values !== undefined) return `map${range(schema, 'Properties')} to ${valueText(values)}`
  if (type === 'integer' || type === 'number') return `${type === 'integer' ? 'number' : 'decimal'}${bounds(schema)}`
  if (type === 'string') return schema.pattern === DURATION.pattern ? 'duration' : `text${range(schema, 'Length')}`
  if (type === 'boolean') return '`true`, `false`'
  if (schema['x-kubernetes-int-or-string'] === true) return 'number or text'
  return type === 'object' && schema['x-kubernetes-preserve-unknown-fields'] !== true ? 'object' : 'any JSON'
}

const range = (schema: Structural, of: string) => between(schema[`min${of}`] ?? 0, schema[`max${of}`])
const bounds = ({ minimum, maximum }: Structural) => between(minimum, maximum)

function between(min: unknown, max: unknown): string {
  if (max !== undefined) return ` ${String(min)}..${String(max)}`
  return min === undefined || min === 0 ? '' : ` from ${String(min)}`
}
