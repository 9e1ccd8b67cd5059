/**
 * `config.tracing`, in which files of agentgateway have what is frontendPolicies.tracing now: URL, headers, fields. Its
 * output is what the policy is compiled from.
 */
import { type Secret, secret } from '#engine/kit/secret.ts'
import { authKey } from '#engine/schema/credential.ts'
import { fieldName } from '#engine/schema/http.ts'
import { list, tinyString, z } from '#engine/schema/schema.ts'
import { sound } from '#engine/schema/together.ts'
import { isReservedField } from '#policies/shared/field.ts'
import { addedMap } from '#policies/shared/log-attributes.ts'
import { otlpEndpoint } from '#policies/shared/otlp/endpoint.ts'
import { otlpPath } from '#policies/shared/otlp/settings.ts'
import { samplingFields } from './sampling.ts'

const HEADERS_MAX = 16
/** docs/specification.md#access-log. */
const REMOVED_MAX = 32

/** What OTLP says of its own requests. */
const isOtlps = (name: string): boolean =>
  ['host', 'content-type', 'content-encoding'].includes(name) || isReservedField(name) || name.startsWith('grpc-')

const headers = () =>
  z
    .record(z.string(), authKey())
    .superRefine((map, context) => {
      const names = Object.keys(map)
      if (names.length > HEADERS_MAX) {
        context.addIssue({ code: 'custom', message: `must have at most ${HEADERS_MAX} entries` })
      }
      for (const name of names) {
        const problem = fieldName().safeParse(name).error?.issues[0]?.message
        const message = isOtlps(name.toLowerCase()) ? 'is set by OTLP itself: take it out' : problem
        if (message !== undefined) context.addIssue({ code: 'custom', path: [name], message })
      }
    })
    .transform((map): readonly (readonly [string, Secret])[] =>
      Object.entries(map).map(([name, value]) => [name.toLowerCase(), secret(value)])
    )

/** An empty map says nothing, and stands in many files. */
const added = () => addedMap(undefined, undefined, 0)

const fields = () =>
  z
    .strictObject({
      add: added()
        .optional()
        .describe('Names with expressions, as in attributes of frontendPolicies.tracing. span.name names the span.'),
      remove: list(tinyString(), 0, REMOVED_MAX).optional().describe('Default attributes that are left out.')
    })
    .transform(({ add = [], remove = [] }) => ({ add, remove }))

const NO_PATH = 'is for OTLP over HTTP: take the path out, or set otlpProtocol: http'
const TRACES = '/v1/traces'

/** The URL is the base of the signals, unless it is that of traces (OTLP exporter specification, "Endpoint URLs"). */
function pathBelow(base: string): string {
  const question = base.indexOf('?')
  const path = (question < 0 ? base : base.slice(0, question)).replace(/\/+$/, '')
  const query = question < 0 ? '' : base.slice(question)
  return `${path.endsWith(TRACES) ? path : path + TRACES}${query}`
}

export const configTracing = () =>
  z
    .strictObject({
      otlpEndpoint: otlpEndpoint().describe('URL of the collector; https with the authorities of the system.'),
      otlpProtocol: z.enum(['grpc', 'http']).optional().describe('Default grpc.'),
      path: otlpPath().optional().describe('Of OTLP over HTTP. Default: that of the URL with /v1/traces behind it.'),
      headers: headers().optional().describe('Sent with every export: names and values, for example Authorization.'),
      ...samplingFields(),
      fields: fields().optional().describe('Attributes of the span of a request.')
    })
    .refine(({ otlpEndpoint: { path }, otlpProtocol }) => path === '' || otlpProtocol === 'http', {
      when: sound('otlpEndpoint', 'otlpProtocol'),
      path: ['otlpEndpoint'],
      error: NO_PATH
    })
    .refine(({ path, otlpProtocol }) => path === undefined || otlpProtocol === 'http', {
      when: sound('path', 'otlpProtocol'),
      path: ['path'],
      error: NO_PATH
    })
    .refine(({ path, otlpEndpoint: endpoint }) => path === undefined || endpoint.path === '', {
      when: sound('path', 'otlpEndpoint'),
      path: ['path'],
      error: 'says again what otlpEndpoint says, which has a path: keep one of them'
    })
    .transform(
      ({ otlpEndpoint: endpoint, otlpProtocol = 'grpc', path, headers: sent, fields: attributes, ...shares }) => ({
        ...shares,
        attributes,
        service: endpoint.service,
        protocol: otlpProtocol,
        path: path ?? pathBelow(endpoint.path),
        headers: sent
      })
    )
