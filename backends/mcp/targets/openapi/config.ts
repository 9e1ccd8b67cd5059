/** The configuration of HTTP APIs that are offered as tools, and its form in the Snapshot. */

import type { McpTarget } from '#backends/mcp/config/snapshot.ts'
import { addressFields, addressOf, declaredOnce } from '#backends/mcp/targets/address.ts'
import type { TargetConnection, TargetKey } from '#backends/mcp/targets/kind.ts'
import type { BackendTransport } from '#engine/contract/backend-transport/transport.ts'
import { atLeastOne, oneOf } from '#engine/schema/choice.ts'
import { objectOf, parsePath, text } from '#engine/schema/placed.ts'
import { list, longString, refusedKeys, says, z } from '#engine/schema/schema.ts'
import { readDocument, serverPath } from './read-document.ts'

/** An HTTP API as tools, compiled from its document once. Texts, because those are cheap to send to threads. */
export interface McpApi {
  /** JSON: the result of `initialize`. */
  readonly facts: string
  readonly tools: readonly {
    readonly name: string
    /** JSON: an entry of tools/list. */
    readonly tool: string
    /** JSON: the plan of its requests (plan.ts). */
    readonly plan: string
  }[]
}

export interface McpOpenApiTarget extends McpTarget {
  readonly kind: 'openapi'
  /** The parsed document; null once BackendKind.prepare has compiled it. */
  readonly document: Readonly<Record<string, unknown>> | null
  /** The compiled document. */
  readonly api?: McpApi | undefined
  /** Patterns that select the operations that become tools; an empty list of `include` selects all. */
  readonly operations?: { readonly include: readonly string[]; readonly exclude: readonly string[] } | undefined
  readonly host: string
  readonly port: number
  readonly hasTls: boolean
  readonly transport?: BackendTransport | undefined
  /** Prepended to the paths of the document. */
  readonly pathPrefix: string
  readonly auth: TargetConnection['auth']
}

const DOCUMENT_CHARS_MAX = 4 * 1024 * 1024
const URL_CHARS_MAX = 2048
const PATTERNS_MAX = 256
const PATTERN_CHARS_MAX = 256

const URL_EXPECTED = 'must be an http:// or https:// URL without a user and a fragment'

/** Whether a document can be fetched from it. */
function isFetched(text: string): boolean {
  const url = URL.parse(text)
  return url !== null && /^https?:$/.test(url.protocol) && url.username + url.password + url.hash === ''
}

const documentUrl = () => z.string().max(URL_CHARS_MAX).refine(isFetched, URL_EXPECTED)

/** As text, in another file, at a URL, or inline. */
const documentSchema = () =>
  z.union(
    [
      z.string().min(1).max(DOCUMENT_CHARS_MAX),
      oneOf({ file: longString().optional(), url: documentUrl().optional() }),
      z.looseObject({ openapi: z.string() }),
      z.looseObject({ swagger: z.string() })
    ],
    { error: says('must be an OpenAPI document: as text, as an object with "openapi", { file: PATH } or { url: URL }') }
  )

const pattern = () => z.string().min(1).max(PATTERN_CHARS_MAX)

const operations = () =>
  atLeastOne({
    include: list(pattern(), 1, PATTERNS_MAX).optional().describe('Only these become tools.'),
    exclude: list(pattern(), 1, PATTERNS_MAX).optional().describe('These do not.')
  })

const schema = () => {
  const { host, port, path } = addressFields()
  return z
    .strictObject({
      schema: documentSchema().describe(
        'The OpenAPI document, 3.0 or newer, or Swagger 2.0: { file: PATH }, { url: URL }, or inline.'
      ),
      operations: operations()
        .optional()
        .describe(
          'Which operations become tools: "tag:NAME", "METHOD /path", an operationId; "*" stands for anything.'
        ),
      host,
      port,
      path: path.describe("Before the paths of the document. Default: that of the document's first server."),
      ...refusedKeys('address of an MCP target', ['backend', 'service'])
    })
    .check(declaredOnce())
}

export const openApiKey: TargetKey<McpOpenApiTarget> = {
  name: 'openapi',
  schema: () => schema().optional().describe('An HTTP API: its operations become tools.'),
  translate(value: z.output<ReturnType<typeof schema>>, common, { sources, connection }) {
    const { auth, hasTls, configured } = connection()
    const document = readDocument(value.schema, sources)
    const { path, ...place } = addressOf(value, hasTls)
    const prefix = (path ?? serverPath(document)).replace(/\/+$/, '')
    const { include = [], exclude = [] } = value.operations ?? {}
    const operations = value.operations === undefined ? {} : { operations: { include, exclude } }
    return { ...common, kind: 'openapi', document, ...operations, ...place, ...configured, pathPrefix: prefix, auth }
  },
  check({ raw: { schema }, path }, sources, attempt) {
    const place = [...path, 'schema']
    const { file, url } = { file: text(objectOf(schema).file), url: text(objectOf(schema).url) }
    if (typeof schema === 'string') attempt(place, () => readDocument(schema, sources))
    else if (file !== undefined) attempt([...place, 'file'], () => readDocument({ file }, sources))
    else if (url !== undefined && isFetched(url)) attempt([...place, 'url'], () => readDocument({ url }, sources))
  },
  locate(path, text) {
    const { part, within = '' } = /^(?<part>document|operations)(?<within>.*)$/.exec(text)?.groups ?? {}
    if (part === undefined) return null
    if (part === 'operations') return { path: [...path, 'operations', ...parsePath(within)], prefix: '' }
    // The document may be another file, so the configuration has no line for what is inside it.
    return { path: [...path, 'schema'], prefix: within === '' ? '' : `${within.replace(/^\./, '')}: ` }
  }
}
