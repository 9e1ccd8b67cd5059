/** Reads an OpenAPI document: text in the configuration, a file, a URL, or an inline object. */
import type { Documents } from '#engine/contract/policy.ts'

type Source = string | { readonly file?: unknown; readonly url?: unknown } | OpenApiDocument
export type OpenApiDocument = Readonly<Record<string, unknown>>

/** Documents are parsed once per load of the configuration: a large one takes half a second. */
const known = new WeakMap<Documents, Map<string, OpenApiDocument>>()

/**
 * The contents are checked when the target is compiled. Throws an Error whose message explains why nothing could be
 * read.
 */
export function readDocument(source: Source, sources: Documents): OpenApiDocument {
  if (typeof source === 'string') return once(source, 'the document', sources)
  if ('openapi' in source || 'swagger' in source) return source as OpenApiDocument
  if (typeof source.file === 'string') return once(sources.readLarge(source.file), source.file, sources)
  const url = String(source.url)
  return once(sources.readUrl(url), url.replace(/[?#].*$/, ''), sources)
}

function once(text: string, name: string, sources: Documents): OpenApiDocument {
  const texts = known.get(sources) ?? new Map<string, OpenApiDocument>()
  known.set(sources, texts)
  const document = texts.get(text) ?? parsed(text, name, sources)
  texts.set(text, document)
  return document
}

function parsed(text: string, name: string, { readYaml }: Documents): OpenApiDocument {
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

/** Whether the text looks like a file name in place of a document. */
const isName = (text: string): boolean => /^[\w./~-]{1,200}$/.test(text)

const firstLine = (text: string): string => text.split('\n', 1)[0]!.replace(/:$/, '')

/** Path of the first server (OpenAPI 3.1, Server Object; basePath of Swagger); "": none. */
export function serverPath({ servers, swagger, basePath }: OpenApiDocument): string {
  if (swagger !== undefined) return typeof basePath === 'string' && basePath.startsWith('/') ? basePath : ''
  const [first] = Array.isArray(servers) ? (servers as unknown[]) : []
  const { url, variables } = (first ?? {}) as { url?: unknown; variables?: unknown }
  if (typeof url !== 'string') return ''
  const filled = url.replace(/\{([^{}]*)\}/g, (whole, name: string) => defaultOf(variables, name) ?? whole)
  // A path with a variable that has no default is not guessed: the configuration has to say it.
  const { pathname } = URL.parse(filled, 'http://host/') ?? { pathname: '' }
  return pathname === '/' || /%7B|\{/i.test(pathname) ? '' : pathname
}

function defaultOf(variables: unknown, name: string): string | undefined {
  const isOwn = typeof variables === 'object' && variables !== null && Object.hasOwn(variables, name)
  const variable = isOwn ? (variables as Record<string, { default?: unknown } | null>)[name] : null
  return typeof variable?.default === 'string' ? variable.default : undefined
}
