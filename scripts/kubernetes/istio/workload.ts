/**
 * What is in the pods: a server that says who has asked. With FRIEND it does what a sidecar does: it gets its own
 * certificate from istiod (grpc-js, and a request of OpenSSL), and takes connections of that one account alone.
 */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createServer, type RequestListener } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { setTimeout as after } from 'node:timers/promises'
import type { TLSSocket } from 'node:tls'
import { credentials, Metadata, makeGenericClientConstructor } from '@grpc/grpc-js'
import { IstioCertificateRequest, IstioCertificateResponse } from '#engine/proto/generated/istio/v1/auth/ca.ts'

const AUTHORITY = 'istiod.istio-system.svc:15012'
const ROOT_FILE = '/var/run/secrets/istio/root-cert.pem'
const TOKEN_FILE = '/var/run/secrets/tokens/istio-token'
const KEY_FILE = '/tmp/workload.key'
const REQUEST_FILE = '/tmp/workload.csr'
const RETRY_MS = 1_000

/** What a workload answers: of the certificate that was shown. Empty: there was none. */
export interface Seen {
  readonly client: string
  readonly serial: string
}

const answer: RequestListener = ({ socket }, response) => {
  const { subjectaltname = '', serialNumber: serial = '' } = (socket as TLSSocket).getPeerCertificate?.() ?? {}
  // The next request is on a connection of its own, with the certificate of then.
  response.setHeader('connection', 'close')
  const seen: Seen = { client: subjectaltname.replace('URI:', ''), serial }
  response.end(JSON.stringify(seen))
}

const { PORT = '8080', FRIEND = '' } = process.env
if (FRIEND === '') createServer(answer).listen(Number(PORT))
else await serveFriend(FRIEND)

async function serveFriend(friend: string): Promise<void> {
  const curve = ['ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes']
  execFileSync('openssl', ['req', '-newkey', ...curve, '-subj', '/', '-keyout', KEY_FILE, '-out', REQUEST_FILE])
  const key = readFileSync(KEY_FILE)
  const chain = await signed(readFileSync(REQUEST_FILE, 'utf8'))
  const server = createTlsServer(
    {
      key,
      cert: chain.slice(0, -1).join(''),
      ca: readFileSync(ROOT_FILE),
      requestCert: true,
      rejectUnauthorized: true,
      // A sidecar takes those for its mesh that offer this name.
      ALPNCallback: ({ protocols }) =>
        protocols.includes('istio') && protocols.includes('http/1.1') ? 'http/1.1' : undefined
    },
    answer
  )
  server.on('secureConnection', (socket: TLSSocket) => {
    if (socket.getPeerCertificate().subjectaltname !== `URI:${friend}`) socket.destroy()
  })
  server.listen(Number(PORT))
}

/** Until istiod answers. */
async function signed(csr: string): Promise<readonly string[]> {
  const methods = {
    CreateCertificate: {
      path: '/istio.v1.auth.IstioCertificateService/CreateCertificate',
      requestStream: false,
      responseStream: false,
      requestSerialize: (one: IstioCertificateRequest) => Buffer.from(IstioCertificateRequest.encode(one).finish()),
      requestDeserialize: (bytes: Buffer) => IstioCertificateRequest.decode(bytes),
      responseSerialize: (one: IstioCertificateResponse) => Buffer.from(IstioCertificateResponse.encode(one).finish()),
      responseDeserialize: (bytes: Buffer) => IstioCertificateResponse.decode(bytes)
    }
  }
  const Client = makeGenericClientConstructor(methods, 'IstioCertificateService')
  for (;;) {
    const client = new Client(AUTHORITY, credentials.createSsl(readFileSync(ROOT_FILE)))
    const metadata = new Metadata()
    metadata.set('authorization', `Bearer ${readFileSync(TOKEN_FILE, 'utf8').trim()}`)
    const outcome = await new Promise<readonly string[] | Error>((resolve) => {
      const call = client.CreateCertificate as (...args: unknown[]) => void
      call.call(
        client,
        { csr, validityDuration: 0n },
        metadata,
        (error: Error | null, found: IstioCertificateResponse) => resolve(error ?? found.certChain)
      )
    })
    client.close()
    if (!(outcome instanceof Error)) return outcome
    console.error(outcome.message)
    await after(RETRY_MS)
  }
}
