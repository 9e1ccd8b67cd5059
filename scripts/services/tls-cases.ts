/** Clients over TLS: what services are told of their certificates, of the gateway's own and of the handshake. */
import { type Case, group, type Setup } from './case.ts'
import { grpcCheck, processing } from './setups.ts'
import type { Certificate, ListenerTls, RequestTls } from './tls.ts'

const certificate = (subject: string, ...names: string[]): Certificate => ({ subject, names })

const GATEWAY = certificate('/O=weir/CN=gateway', 'DNS:a.test', 'DNS:b.test')
const WORKLOAD = certificate('/O=weir/CN=ann', 'URI:spiffe://td/ns/shop/sa/ann')
const REQUIRED: ListenerTls = { certificate: GATEWAY, clientCertificates: 'required' }

const over = (tls: Partial<RequestTls> = {}) => ({ tls: { serverName: 'a.test', certificate: WORKLOAD, ...tls } })
const shows = (...of: Parameters<typeof certificate>) => ({ request: over({ certificate: certificate(...of) }) })
const behind = (tls: ListenerTls, setup: Setup): Setup => ({ ...setup, tls })

// --- extAuth ---

const SESSION = { include_tls_session: true }
const CHECK = grpcCheck({ envoy: SESSION })

const own = (...of: Parameters<typeof certificate>): Setup =>
  behind({ certificate: certificate(...of), clientCertificates: 'none' }, CHECK)
const withoutOne = { 'a client without one': { request: over({ certificate: null }) } }

const PRINCIPALS: Case[] = [
  ...group('extAuth gRPC, certificate of the client', behind(REQUIRED, CHECK), {
    'with a SPIFFE ID': { request: over() },
    'with a SPIFFE ID over HTTP/2': { request: { ...over(), http: 2 } },
    'with a DNS name': shows('/O=weir/CN=ann', 'DNS:ann.test'),
    'with a URN': shows('/O=weir/CN=ann', 'DNS:ann.test', 'URI:urn:example:ann'),
    'with two URIs behind other names': shows(
      '/CN=ann',
      ...['email:ann@a.test', 'DNS:ann.test', 'IP:192.0.2.1', 'URI:https://a.test/ann', 'URI:spiffe://td/ann']
    ),
    'with two DNS names behind other names': shows(
      '/CN=ann',
      ...['email:ann@a.test', 'IP:192.0.2.1', 'DNS:ann.test', 'DNS:second.test']
    ),
    'with an email address and an IP address alone': shows('/O=weir/CN=ann', 'email:ann@a.test', 'IP:192.0.2.1'),
    'with a subject alone': shows('/C=DE/O=weir/OU=one/CN=ann'),
    'with signs in its subject': shows('/O=weir, "ltd"+co/CN=#ann; <x>'),
    'with letters beyond ASCII in its subject': shows('/O=weir/CN=ünit')
  }),
  ...group('extAuth gRPC, certificates that are not asked for', own('/O=weir/CN=gateway'), withoutOne),
  ...group(
    'extAuth gRPC, certificates that are optional',
    behind({ ...REQUIRED, clientCertificates: 'optional' }, CHECK),
    { ...withoutOne, 'a client with one': { request: over() } }
  ),
  ...group('extAuth gRPC, own certificate', own('/CN=gateway', 'DNS:a.test', 'URI:spiffe://td/gateway'), {
    'with a SPIFFE ID': { request: over() }
  }),
  ...group('extAuth gRPC, own certificate of several subjects', own('/C=DE/O=weir/CN=gateway'), {
    'and no name': { request: over() }
  })
]

const WITHOUT_SESSION = behind(REQUIRED, grpcCheck())
const WHOLE_CERTIFICATE = behind(
  REQUIRED,
  grpcCheck({
    envoy: { ...SESSION, include_peer_certificate: true },
    weir: { grpc: { requestMetadata: { peer: '{ "certificate": source.certificate }' } } }
  })
)

const SESSIONS: Case[] = [
  ...group('extAuth gRPC, session of TLS', behind(REQUIRED, CHECK), {
    'with a server name': { request: over() },
    'with a server name in capitals': { request: over({ serverName: 'B.Test' }) },
    'without a server name': { request: over({ serverName: '' }) }
  }),
  ...group('extAuth gRPC, session in clear text', CHECK, { GET: {} }),
  ...group('extAuth gRPC, session that is not asked for', WITHOUT_SESSION, {
    'with a server name': { request: over() }
  }),
  ...group('extAuth gRPC, certificate as a whole', WHOLE_CERTIFICATE, { 'of a client': { request: over() } })
]

// --- extProc ---

/** Envoy's attributes, and the expressions of what they say. */
const ATTRIBUTES: Readonly<Record<string, string>> = {
  'connection.mtls': 'has(source.certificate)',
  'connection.subject_peer_certificate': 'source.subject',
  'connection.uri_san_peer_certificate': 'source.subjectAltNames.filter(name, name.contains("://"))[0]',
  'connection.requested_server_name': 'destination.hostname',
  'connection.dns_san_peer_certificate': 'source.subjectAltNames.filter(name, !name.contains("://"))[0]'
}
const attributes = processing({
  envoy: { request_attributes: Object.keys(ATTRIBUTES) },
  weir: { requestAttributes: ATTRIBUTES }
})

const version = processing({ envoy: { request_attributes: ['connection.tls_version'] } })

const CONNECTIONS: Case[] = [
  ...group('extProc, attributes of TLS', behind(REQUIRED, attributes), {
    'with a SPIFFE ID': { request: over() },
    'with several names': shows('/O=weir/CN=ann', 'DNS:ann.test', 'URI:spiffe://td/ann', 'URI:https://a.test/ann'),
    'with a subject alone': shows('/C=DE/O=weir/OU=one/CN=ann'),
    'without a server name': { request: over({ serverName: '' }) }
  }),
  ...group(
    'extProc, attributes of TLS without certificates of clients',
    behind({ ...REQUIRED, clientCertificates: 'none' }, attributes),
    withoutOne
  ),
  ...group('extProc, version of TLS', behind(REQUIRED, version), { 'of a request': { request: over() } })
]

export const TLS: readonly Case[] = [...PRINCIPALS, ...SESSIONS, ...CONNECTIONS]
