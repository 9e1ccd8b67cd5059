/** A collector as one URL, as the OTLP exporters of the SDKs are told it (OTLP exporter specification). */
import type { InlineService } from '#engine/contract/service.ts'
import { parseAuthority } from '#engine/http/authority.ts'
import { longString, z } from '#engine/schema/schema.ts'

const EXPECTED = 'must be a URL such as http://localhost:4317 or https://collector.example/otlp'
/** The scheme grpc is clear text, as http is. */
const ENDPOINT = /^(?:(https?|grpc):\/\/)?([^/?#]+)(\/[!-~]*)?$/i

export interface OtlpEndpoint {
  readonly service: InlineService
  /** With its query; '' for none. */
  readonly path: string
}

/** The system's authorities are trusted. */
const TLS = { tls: { hostname: null, ca: null }, tcp: null }

/** Messages do not repeat the text: what stands before an "@" is a password. */
export const otlpEndpoint = () =>
  longString().transform((text, context): OtlpEndpoint => {
    const refuse = (message: string): never => {
      context.addIssue({ code: 'custom', message })
      return z.NEVER
    }
    const [, scheme = '', server = '', path = ''] = ENDPOINT.exec(text) ?? []
    if (server.includes('@')) return refuse('must not have a user or password: send them in headers')
    if (path.includes('#')) return refuse('must not have a fragment: take out what begins with "#"')
    const authority = parseAuthority(server)
    if (authority === null) return refuse(EXPECTED)
    const isTls = scheme.toLowerCase() === 'https'
    const usual = { '': null, http: 80, https: 443, grpc: null }[scheme.toLowerCase()] ?? null
    const port = authority.port ?? usual
    if (port === null) {
      return refuse(
        scheme === ''
          ? 'must have a scheme or a port, such as https://collector.example or localhost:4317'
          : 'must have a port, such as grpc://localhost:4317'
      )
    }
    const service = { host: authority.host.toLowerCase(), port, unixPath: null }
    return { service: isTls ? { ...service, transport: TLS } : service, path: path === '/' ? '' : path }
  })
