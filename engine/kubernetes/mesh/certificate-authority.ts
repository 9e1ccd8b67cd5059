/**
 * The authority of a mesh, which signs the certificates of its workloads: istio.v1.auth.IstioCertificateService, over
 * the engine's own gRPC, in whatever thread asks.
 */
import type { Exchange } from '#engine/contract/exchange.ts'
import type { GrpcAnswer, ServiceFailure } from '#engine/contract/service.ts'
import { HeaderBlock } from '#engine/http/headers.ts'
import { llhttp } from '#engine/http/llhttp.ts'
import { inProcess } from '#engine/lifecycle/in-process.ts'
import { Lifecycle } from '#engine/lifecycle/lifecycle.ts'
import { IstioCertificateRequest, IstioCertificateResponse } from '#engine/proto/generated/istio/v1/auth/ca.ts'
import { callUnary } from '#engine/service/grpc-call.ts'
import { openSockets } from '#engine/socket/open-sockets.ts'
import { TimerWheel } from '#engine/socket/timer-wheel.ts'
import { DestinationState } from '#engine/upstream/destination.ts'
import { EndpointState } from '#engine/upstream/endpoint.ts'
import { MeshTls } from '#engine/upstream/mesh.ts'
import type { UpstreamShared } from '#engine/upstream/shared.ts'
import type { AuthorityAddress } from './authority-address.ts'

const PATH = '/istio.v1.auth.IstioCertificateService/CreateCertificate'
const TIMEOUT_MS = 10_000
const CONNECT_MS_MAX = 5_000
/** A connection is used once in hours. */
const IDLE_MS = 1_000
const ANSWER_BYTES_MAX = 1024 * 1024
/** As agents of Istio ask for. Some authorities give less; istiod refuses what is more than MAX_WORKLOAD_CERT_TTL. */
const VALID_SECONDS = 86_400n
/** istiod gives what DEFAULT_WORKLOAD_CERT_TTL says. */
const AS_IT_LIKES = 0n
const GRPC_INVALID_ARGUMENT = 3
/** Of what the authority says in a refusal. */
const REASON_CHARS_MAX = 300

export interface SigningRequest {
  /** PKCS #10, in PEM. */
  readonly request: string
  /** Who may have signed the certificate of the authority: PEM. */
  readonly ca: string
  /** Of the ServiceAccount, for the audience that the authority wants. */
  readonly token: string
}

export class CertificateAuthority {
  readonly #address: AuthorityAddress
  readonly #clusterId: string
  readonly #shared: UpstreamShared
  readonly #lifecycle: Lifecycle

  /** `clusterId`: of the cluster that has made the tokens, where the authority is that of several; empty: its own. */
  constructor(address: AuthorityAddress, clusterId = '') {
    const parser = llhttp()
    const timers = new TimerWheel()
    this.#address = address
    this.#clusterId = clusterId
    this.#lifecycle = new Lifecycle({
      router: () => ({ route: () => 'LISTENER_NOT_FOUND' }),
      unrouted: { record() {} },
      timers,
      onBroken: (error) => {
        throw error
      }
    })
    this.#shared = {
      sockets: openSockets(parser.memory),
      mesh: new MeshTls(),
      llhttp: parser,
      timers,
      events: this.#lifecycle,
      idleTimeoutMs: IDLE_MS,
      poolMax: 1,
      requestsPerConnectionMax: 0,
      observer: { connected() {}, connectFailed() {}, retried() {} }
    }
  }

  /** PEM: the certificate, those between, and last the root. Rejects with an Error that says why there is none. */
  async sign(request: SigningRequest): Promise<readonly string[]> {
    const answer = await this.#ask(request, VALID_SECONDS)
    const isTooLong = answer.error === null && answer.status === GRPC_INVALID_ARGUMENT
    const outcome = chainOf(isTooLong ? await this.#ask(request, AS_IT_LIKES) : answer)
    if (typeof outcome !== 'string') return outcome
    const { host, port } = this.#address
    throw new Error(`${host}:${port}: ${outcome}`)
  }

  #ask({ request, ca, token }: SigningRequest, validityDuration: bigint): Promise<GrpcAnswer | ServiceFailure> {
    const { host, port } = this.#address
    const options = {
      guarded: false,
      allow: [],
      connectTimeoutMs: CONNECT_MS_MAX,
      tls: { serverName: host, ca },
      http: { version: 'HTTP2' as const, requestTimeoutMs: 0 }
    }
    // One for each call: `ca` is another one when the root of the mesh is.
    const endpoint = new EndpointState(new DestinationState({ host, port, unixPath: null }, options), this.#shared)
    const service = {
      name: 'mesh',
      inProcess: inProcess({ events: this.#lifecycle, upstream: endpoint, timers: this.#lifecycle.timers }),
      serve: (ex: Exchange) => {
        ex.upstreamHost ??= endpoint.hostHeader
        endpoint.send(ex)
      },
      recorder: { record() {} }
    }
    const metadata = new HeaderBlock()
    metadata.receive('authorization', `Bearer ${token}`)
    if (this.#clusterId !== '') metadata.receive('clusterid', this.#clusterId)
    const bounds = { timeoutMs: TIMEOUT_MS, ex: null, messageBytesMax: ANSWER_BYTES_MAX }
    const message = IstioCertificateRequest.encode({ csr: request, validityDuration }).finish()
    return new Promise((resolve) => {
      callUnary(service, { path: PATH, metadata, ...bounds }, message, (answer) => {
        endpoint.closeIdle()
        resolve(answer)
      })
    })
  }
}

function chainOf(answer: GrpcAnswer | ServiceFailure): readonly string[] | string {
  if (answer.error !== null) return answer.detail
  if (answer.bytes === null) {
    const text = answer.message.replace(/[^ -~]/g, '?').slice(0, REASON_CHARS_MAX)
    return `it refuses with gRPC status ${answer.status}${text === '' ? '' : `: ${text}`}`
  }
  try {
    return IstioCertificateResponse.decode(answer.bytes).certChain
  } catch {
    // Bytes of another type say nothing that would help.
    return 'its answer is no IstioCertificateResponse'
  }
}
