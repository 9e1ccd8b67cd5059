/** An OpenAPI document as it is given: text of the file, another file, or the document itself. */
import type { Sources } from '#engine/contract/policy.ts'
import { parsePlain } from '#engine/standalone/source-document.ts'

type Given = string | { readonly file?: unknown; readonly openapi?: unknown }
export type OpenApiDocument = Readonly<Record<string, unknown>>

/** What is in it is looked at where the target is built. Throws an Error that says in words why there is none. */
export function readDocument(given: Given, sources: Sources): OpenApiDocument {
  if (typeof given === 'string') return parsed(given, 'the document')
  if (typeof given.file === 'string' && given.openapi === undefined)
    return parsed(sources.readFile(given.file), given.file)
  return given as OpenApiDocument
}

function parsed(text: string, name: string): OpenApiDocument {
  let value: unknown
  try {
    value = text.trimStart().startsWith('{') ? JSON.parse(text) : parsePlain(text)
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

/** Path of the first server of the document (OpenAPI 3.1, Server Object), "" where there is none. */
export function serverPath({ servers }: OpenApiDocument): string {
  const [first] = Array.isArray(servers) ? (servers as unknown[]) : []
  const url = (first as { url?: unknown } | null | undefined)?.url
  // Variables in it are for people to choose: the file says which path is meant.
  if (typeof url !== 'string' || url.includes('{')) return ''
  const { pathname } = URL.parse(url, 'http://host/') ?? { pathname: '' }
  return pathname === '/' ? '' : pathname
}
