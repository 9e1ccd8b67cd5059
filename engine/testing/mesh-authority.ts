/** The authority of a mesh for tests: the official messages over TLS, and signatures that hold. */
import { Server, ServerCredentials, type ServerUnaryCall, type sendUnaryData, status } from '@grpc/grpc-js'
import { IstioCertificateRequest, IstioCertificateResponse } from '#engine/proto/generated/istio/v1/auth/ca.ts'
import type { Authority } from './certificates.ts'

export interface MeshAuthority {
  readonly port: number
  /** Texts of the requests that were signed. */
  readonly signed: string[]
  /** Of which the requests said that they come. */
  readonly clusters: string[]
  /** Who signs; another one after a rotation. */
  root: Authority
  /** Roots that are answered behind the certificate; default: that of `root`. */
  roots: string | null
  /** It refuses requests for more, as istiod does. */
  validSecondsMax: bigint
  /** Why it refuses; null: it does not. */
  refusal: string | null
  close(): void
}

export interface MeshAuthorityOptions {
  /** Default: any. */
  readonly port?: number
  /** Of its own certificate; default: that of loopback. */
  readonly names?: readonly string[]
}

/** It listens as 127.0.0.1 with a certificate of `root`, and signs for those who show `token`, or one that is good. */
export async function startMeshAuthority(
  root: Authority,
  token: string | ((shown: string) => Promise<boolean>),
  { port = 0, names = ['IP:127.0.0.1'] }: MeshAuthorityOptions = {}
): Promise<MeshAuthority> {
  const isGood = async (shown: string) => (typeof token === 'string' ? shown === token : await token(shown))
  const server = new Server()
  const own = {
    port: 0,
    signed: [] as string[],
    clusters: [] as string[],
    root,
    roots: null as string | null,
    validSecondsMax: 86_400n,
    refusal: null as string | null,
    close: () => server.forceShutdown()
  }
  const createCertificate = {
    path: '/istio.v1.auth.IstioCertificateService/CreateCertificate',
    requestStream: false as const,
    responseStream: false as const,
    requestSerialize: (request: IstioCertificateRequest) =>
      Buffer.from(IstioCertificateRequest.encode(request).finish()),
    requestDeserialize: (bytes: Buffer) => IstioCertificateRequest.decode(bytes),
    responseSerialize: (answer: IstioCertificateResponse) =>
      Buffer.from(IstioCertificateResponse.encode(answer).finish()),
    responseDeserialize: (bytes: Buffer) => IstioCertificateResponse.decode(bytes)
  }
  type Call = ServerUnaryCall<IstioCertificateRequest, IstioCertificateResponse>
  server.addService(
    { createCertificate },
    {
      async createCertificate({ request, metadata }: Call, done: sendUnaryData<IstioCertificateResponse>) {
        if (own.refusal !== null) return done({ code: status.UNAVAILABLE, details: own.refusal })
        const [, shown = ''] = /^Bearer (.+)$/.exec(String(metadata.get('authorization')[0])) ?? []
        if (!(await isGood(shown))) {
          return done({ code: status.UNAUTHENTICATED, details: 'request authenticate failure' })
        }
        if (request.validityDuration > own.validSecondsMax) {
          return done({
            code: status.INVALID_ARGUMENT,
            details: 'CSR signing error (requested TTL 24h0m0s is greater)'
          })
        }
        own.signed.push(request.csr)
        own.clusters.push(metadata.get('clusterid').join())
        done(null, { certChain: [own.root.sign(request.csr), own.roots ?? own.root.cert] })
      }
    }
  )
  const { cert, key } = root.issue('/O=istiod', names)
  const pair = { cert_chain: Buffer.from(cert), private_key: Buffer.from(key) }
  own.port = await new Promise<number>((resolve, reject) => {
    server.bindAsync(`127.0.0.1:${port}`, ServerCredentials.createSsl(null, [pair]), (error, at) =>
      error === null ? resolve(at) : reject(error)
    )
  })
  return own
}
