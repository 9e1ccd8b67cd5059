/**
 * What is read of routes of the Gateway API (v1). API servers have checked them; manifests that never were at one are
 * checked here. What is not read is not named.
 */
import { fieldName, method, path, regexSource } from '#engine/schema/http.ts'
import { host, port } from '#engine/schema/net.ts'
import { list, shortString, whole, z } from '#engine/schema/schema.ts'

const RULES_MAX = 16
const ENTRIES_MAX = 64
const WEIGHT_MAX = 1_000_000
const TEXT_CHARS_MAX = 4096

const text = () => z.string().check(z.minLength(1), z.maxLength(TEXT_CHARS_MAX))
const several = <T extends z.ZodType>(item: T) => list(item, 0, ENTRIES_MAX).optional()

const backendRef = () =>
  z.object({
    group: z.string().optional(),
    kind: shortString().optional(),
    name: shortString(),
    namespace: shortString().optional(),
    port: port().optional()
  })

const valueMatch = () =>
  z
    .object({ type: z.enum(['Exact', 'RegularExpression']).optional(), name: text(), value: text() })
    .refine(({ type, value }) => type !== 'RegularExpression' || regexSource().safeParse(value).success, {
      path: ['value'],
      error: 'is no RE2 expression'
    })

const headerMatch = () => valueMatch().refine(({ name }) => fieldName().safeParse(name).success, 'has no header name')

const pathMatch = () =>
  z
    .object({ type: z.enum(['Exact', 'PathPrefix', 'RegularExpression']).optional(), value: text().optional() })
    .refine(
      ({ type, value = '/' }) => (type === 'RegularExpression' ? regexSource() : path()).safeParse(value).success,
      {
        path: ['value'],
        error: 'must be a percent-encoded path that begins with "/", or an RE2 expression with type RegularExpression'
      }
    )

const httpMatch = () =>
  z.object({
    path: pathMatch().optional(),
    headers: several(headerMatch()),
    queryParams: several(valueMatch()),
    method: method().optional()
  })

/** Of the path of a gRPC request, "/SERVICE/METHOD". What is not said is anything. */
export function grpcPattern({ service = ANY, method = ANY }: GrpcNames): string {
  return `/(?:${service})/(?:${method})`
}

interface GrpcNames {
  readonly service?: string | undefined
  readonly method?: string | undefined
}

const ANY = '[^/]+'

const grpcMatch = () =>
  z.object({
    method: z
      .object({
        type: z.enum(['Exact', 'RegularExpression']).optional(),
        service: text().optional(),
        method: text().optional()
      })
      .refine(
        ({ type, ...names }) => type !== 'RegularExpression' || regexSource().safeParse(grpcPattern(names)).success,
        {
          error: 'is no RE2 expression'
        }
      )
      .optional(),
    headers: several(headerMatch())
  })

const header = () => z.object({ name: fieldName(), value: z.string() })

const headerFilter = () =>
  z.object({ set: several(header()), add: several(header()), remove: several(fieldName()) }).optional()

const pathModifier = () =>
  z
    .object({
      type: z.enum(['ReplaceFullPath', 'ReplacePrefixMatch']),
      replaceFullPath: z.string().optional(),
      replacePrefixMatch: z.string().optional()
    })
    .optional()

const filter = () =>
  z.object({
    type: shortString(),
    requestHeaderModifier: headerFilter(),
    responseHeaderModifier: headerFilter(),
    requestMirror: z
      .object({
        backendRef: backendRef(),
        percent: whole(0, 100).optional(),
        fraction: z.object({ numerator: z.int().min(0), denominator: z.int().min(1).optional() }).optional()
      })
      .optional(),
    requestRedirect: z
      .object({
        scheme: z.enum(['http', 'https']).optional(),
        hostname: host().optional(),
        path: pathModifier(),
        port: port().optional(),
        statusCode: z.literal([301, 302, 303, 307, 308]).optional()
      })
      .optional(),
    urlRewrite: z.object({ hostname: host().optional(), path: pathModifier() }).optional(),
    cors: z
      .object({
        allowOrigins: several(text()),
        allowMethods: several(text()),
        allowHeaders: several(text()),
        exposeHeaders: several(text()),
        allowCredentials: z.boolean().optional(),
        maxAge: z.int().min(1).optional()
      })
      .optional(),
    extensionRef: z.object({ group: z.string(), kind: z.string(), name: z.string() }).optional()
  })

const weighted = () => z.object({ ...backendRef().shape, weight: whole(0, WEIGHT_MAX).optional() })
const filtered = () => z.object({ ...weighted().shape, filters: several(filter()) })

const rule = <T extends z.ZodType>(match: T) =>
  z.object({
    name: shortString().optional(),
    matches: several(match),
    filters: several(filter()),
    backendRefs: several(filtered()),
    timeouts: z.object({ request: z.string().optional(), backendRequest: z.string().optional() }).optional()
  })

/** One rule by itself: a mistake in it leaves the others alone. */
export const HTTP_RULE = rule(httpMatch())
export const GRPC_RULE = rule(grpcMatch())
export const STREAM_RULE = z.object({ name: shortString().optional(), backendRefs: several(weighted()) })

/** A route, but for what its rules say. */
export const ROUTE = z.object({ rules: list(z.unknown(), 1, RULES_MAX) })

export type HttpMatch = z.output<ReturnType<typeof httpMatch>>
export type GrpcMatch = z.output<ReturnType<typeof grpcMatch>>
export type RouteFilter = z.output<ReturnType<typeof filter>>
export type WeightedRef = z.output<ReturnType<typeof weighted>> & {
  readonly filters?: readonly RouteFilter[] | undefined
}
export type HeaderFilter = NonNullable<RouteFilter['requestHeaderModifier']>
export type PathModifier = NonNullable<NonNullable<RouteFilter['urlRewrite']>['path']>
