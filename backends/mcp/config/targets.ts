/** The targets of an `mcp` backend (docs/specification.md#mcp-backends): the schema. */

import { transportPolicies } from '#engine/contract/backend-transport/policies.ts'
import { atLeastOne, oneOf } from '#engine/schema/choice.ts'
import { authKey } from '#engine/schema/credential.ts'
import { headerName, path } from '#engine/schema/http.ts'
import { host, port } from '#engine/schema/net.ts'
import { objectOf, type Raw } from '#engine/schema/placed.ts'
import {
  deferred,
  list,
  longString,
  misplacedKeys,
  refused,
  refusedKeys,
  says,
  shortString,
  z
} from '#engine/schema/schema.ts'
import { together } from '#engine/schema/together.ts'
import { addressFields, saidOnce } from './address.ts'
import { mcpPolicies } from './policies.ts'

const NAME_EXPECTED =
  'must have only lower-case letters, digits and "-", and a letter or digit at both ends: "_" and "+" divide it from names of tools'
const NAME_MAX = 63
const ARGS_MAX = 256
const ENV_MAX = 256
const VALUE_CHARS_MAX = 32_768
const DOCUMENT_CHARS_MAX = 4 * 1024 * 1024
const URL_CHARS_MAX = 2048
const PATTERNS_MAX = 256
const PATTERN_CHARS_MAX = 256

const targetName = () =>
  z
    .string()
    .min(1)
    .max(NAME_MAX)
    .regex(/^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$/, NAME_EXPECTED)

const noNul = (text: string) => !text.includes('\0')
const word = () => z.string().max(VALUE_CHARS_MAX).refine(noNul, 'cannot have a NUL character')

const auth = () =>
  oneOf(
    {
      key: authKey().optional().describe('Sent as a bearer token; one that names its scheme ("Basic ...") as it is.'),
      ...refusedKeys('authentication of an MCP target', ['aws', 'azure', 'cloudC', 'cloudD', 'gcp']),
      passthrough: refused(
        "authentication 'passthrough' of an MCP target",
        'forwardHeaders: [authorization] lets through what clients send'
      ),
      secretRef: z.never({ error: 'is for resources of Kubernetes: a file has key' }).optional()
    },
    {
      location: oneOf({
        header: z
          .strictObject({
            name: headerName().refine((given) => !given.startsWith(':'), 'must be a header name, not a pseudo header'),
            prefix: z
              .string()
              .max(64)
              .regex(/^[!-~]*[!-~ ]?$/, 'must be visible characters, with at most one space at the end')
              .optional()
              .describe('Before the key. Default nothing.')
          })
          .optional(),
        ...refusedKeys('location of the key of an MCP target', ['cookie', 'queryParameter'])
      })
        .optional()
        .describe('Default: Authorization, as a bearer token.')
    }
  )

const LATER = [
  ...['backendTunnel', 'health', 'http', 'requestHeaderModifier', 'responseHeaderModifier', 'transformations'],
  ...['ai', 'mcpAuthentication', 'mcpGuardrails', 'tunnel', 'transformation', 'headerModifiers']
]

// One of each, so that the JSON Schema has them once.
const AUTH = deferred(() => auth().meta({ id: 'McpTargetAuthentication' }))
const POLICIES = deferred(() =>
  atLeastOne({
    ...mcpPolicies.schemas,
    auth: AUTH.optional().describe('What the target is shown.'),
    backendAuth: AUTH.optional().describe('Another name of auth.'),
    ...transportPolicies.schemas,
    ...refusedKeys('policy of an MCP target', LATER)
  }).meta({ id: 'McpTargetPolicies' })
)

/** Policies that say the same, by pairs of names; and those that mean nothing to a program. */
const TWINS = [
  ['auth', 'backendAuth'],
  ['tls', 'backendTLS'],
  ['tcp', 'tcp']
] as const
const OF_NETWORK = ['auth', 'backendAuth', 'tls', 'backendTLS', 'tcp'] as const

const remote = (what: string) => {
  const { host: place, port: at, path: where } = addressFields()
  return z
    .strictObject({
      host: place,
      port: at,
      path: where.describe(what),
      ...misplacedKeys('is called host here, which takes a URL', ['url']),
      ...refusedKeys('address of an MCP target', ['backend', 'service'])
    })
    .check(saidOnce())
}

const stdio = () =>
  z.strictObject({
    cmd: longString().refine(noNul, 'cannot have a NUL character').describe('Program; found as a shell finds it.'),
    args: list(word(), 0, ARGS_MAX).optional(),
    env: z
      .record(shortString().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'must be the name of a variable'), word())
      .refine((map) => Object.keys(map).length <= ENV_MAX, `must have at most ${ENV_MAX} entries`)
      .optional()
      .describe('Variables beside those that every child gets.'),
    cwd: longString()
      .refine(noNul, 'cannot have a NUL character')
      .optional()
      .describe('Folder where it runs. Default: that of the gateway.'),
    ...misplacedKeys('is called cmd here', ['command']),
    ...refusedKeys('setting of stdio', ['clearEnv'])
  })

const URL_EXPECTED = 'must be an http:// or https:// URL without a user and a fragment'

/** Whether it is a URL that a document is fetched from. */
export function isFetched(text: string): boolean {
  const url = URL.parse(text)
  return url !== null && /^https?:$/.test(url.protocol) && url.username + url.password + url.hash === ''
}

const documentUrl = () => z.string().max(URL_CHARS_MAX).refine(isFetched, URL_EXPECTED)

/** As text, in another file, at a URL, or the document itself. */
const openapiSchema = () =>
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

const openapi = () => {
  const { host: place, port: at, path: where } = addressFields()
  return z
    .strictObject({
      schema: openapiSchema().describe(
        'The OpenAPI document, 3.0 or newer, or Swagger 2.0: { file: PATH }, { url: URL }, or inline.'
      ),
      operations: operations()
        .optional()
        .describe(
          'Which operations become tools: "tag:NAME", "METHOD /path", an operationId; "*" stands for anything.'
        ),
      host: place,
      port: at,
      path: where.describe("Before the paths of the document. Default: that of the document's first server."),
      ...refusedKeys('address of an MCP target', ['backend', 'service'])
    })
    .check(saidOnce())
}

const PROTOCOLS = ['StreamableHTTP', 'SSE'] as const

const fixed = () =>
  z
    .strictObject({
      host: host(),
      port: port(),
      path: path().optional().describe('Default /mcp for StreamableHTTP, /sse for SSE.'),
      protocol: z.enum(PROTOCOLS).optional().describe('Default StreamableHTTP.'),
      policies: POLICIES.optional()
    })
    .describe('As resources have it: one host and port.')

const SELECTOR =
  "selector looks for Services of Kubernetes: in a file targets are named one by one, as 'mcp', 'sse', 'stdio' or 'openapi'"

export const mcpTarget = () =>
  oneOf(
    {
      mcp: remote('Default /mcp.').optional().describe('A server that speaks streamable HTTP.'),
      sse: remote('Default /sse.').optional().describe('A server that speaks HTTP with SSE, as before 2025-03-26.'),
      stdio: stdio().optional().describe('A program that speaks MCP over its standard streams.'),
      openapi: openapi().optional().describe('An HTTP API: its operations become tools.'),
      static: fixed().optional(),
      selector: z.never({ error: SELECTOR }).optional()
    },
    {
      name: targetName().describe('Unique in the backend. Before "_" in names of tools.'),
      policies: POLICIES.optional()
    }
  ).check(
    together<Raw>([], ({ value, issues }) => {
      const report = (path: readonly string[], message: string) => {
        issues.push({ code: 'custom', path: [...path], message, input: value })
      }
      const outer = objectOf(value.policies)
      const inner = objectOf(objectOf(value.static).policies)
      for (const [set, place] of [
        [outer, ['policies']],
        [inner, ['static', 'policies']]
      ] as const) {
        for (const [one, other] of TWINS) {
          if (one !== other && set[one] !== undefined && set[other] !== undefined) {
            report([...place, other], `says again what ${one} says: keep one of them`)
          }
        }
      }
      for (const key of OF_NETWORK) {
        if (outer[key] === undefined) continue
        if (value.stdio !== undefined) report(['policies', key], 'means nothing to a program: give it env or args')
        const twins = TWINS.find((names) => (names as readonly string[]).includes(key))!
        const isRepeated = twins.some((twin) => inner[twin] !== undefined)
        if (isRepeated) report(['policies', key], 'is said by static.policies too: keep one of them')
      }
    })
  )

export type FileTarget = z.output<ReturnType<typeof mcpTarget>>
export type FileTargetPolicies = NonNullable<FileTarget['policies']>
