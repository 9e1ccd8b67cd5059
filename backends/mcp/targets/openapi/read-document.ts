/** An OpenAPI document as it is given: text of the file, another file, or the document itself. */
import type { DocumentSources } from '#engine/contract/policy.ts'

type Given = string | { readonly file?: unknown; readonly url?: unknown } | OpenApiDocument
export type OpenApiDocument = Readonly<Record<string, unknown>>

/** Read once per loading: a large document takes half a second. */
const known = new WeakMap<DocumentSources, Map<string, OpenApiDocument>>()

/** What is in it is looked at where the target is built. Throws an Error that says in words why there is none. */
export function readDocument(given: Given, sources: DocumentSources): OpenApiDocument {
  if (typeof given === 'string') return once(given, 'the document', sources)
  if ('openapi' in given || 'swagger' in given) return given as OpenApiDocument
  if (typeof given.file === 'string') return once(sources.readLarge(given.file), given.file, sources)
  const url = String(given.url)
  return once(sources.readUrl(url), url.replace(/[?#].*$/, ''), sources)
}

function once(text: string, name: string, sources: DocumentSources): OpenApiDocument {
  const texts = known.get(sources) ?? new Map<string, OpenApiDocument>()
  known.set(sources, texts)
  const document = texts.get(text) ?? parsed(text, name, sources)
  texts.set(text, document)
  return document
}

function parsed(text: string, name: string, { readYaml }: DocumentSources): OpenApiDocument {
  let value: unknown
  try {
    value = text.trimStart().startsWith('{') ? JSON.parse(text) : readYaml(text)
  } catch (error) {
    throw new Error(`${name}: ${firstLine((error as Error).message)}`)
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as OpenApiDocument
  const hint = isName(text) ? `; a file is named by { file: ${text} }` : ''
  throw new Error(`${name}: is no OpenAPI document, neither JSON nor YAML: it must be an object${hint}`)
}

/** What looks like the name of a file where a document should be. */
const isName = (text: string): boolean => /^[\w./~-]{1,200}$/.test(text)

const firstLine = (text: string): string => text.split('\n', 1)[0]!.replace(/:$/, '')

/** Path of the first server of the document (OpenAPI 3.1, Server Object; basePath of Swagger), "": there is none. */
export function serverPath({ servers, swagger, basePath }: OpenApiDocument): string {
  if (swagger !== undefined) return typeof basePath === 'string' && basePath.startsWith('/') ? basePath : ''
  const [first] = Array.isArray(servers) ? (servers as unknown[]) : []
  const { url, variables } = (first ?? {}) as { url?: unknown; variables?: unknown }
  if (typeof url !== 'string') return ''
  const filled = url.replace(/\{([^{}]*)\}/g, (whole, name: string) => defaultOf(variables, name) ?? whole)
  // A variable in the path that has no default is for people to choose: the file says which path is meant.
  const { pathname } = URL.parse(filled, 'http://host/') ?? { pathname: '' }
  return pathname === '/' || /%7B|\{/i.test(pathname) ? '' : pathname
}

function defaultOf(variables: unknown, name: string): string | undefined {
  const given = typeof variables === 'object' && variables !== null && Object.hasOwn(variables, name)
  const variable = given ? (variables as Record<string, { default?: unknown } | null>)[name] : null
  return typeof variable?.default === 'string' ? variable.default : undefined
}
