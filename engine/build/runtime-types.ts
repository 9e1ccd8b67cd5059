/** What a Runtime is built with, and what it shows of itself. */
import type { AccessLogPlan } from '#engine/contract/access-log.ts'
import type { BackendContext, BackendKind, UpstreamClient } from '#engine/contract/backend.ts'
import type { Background } from '#engine/contract/background.ts'
import type { Children } from '#engine/contract/children.ts'
import type { ErrorCode } from '#engine/contract/errors.ts'
import type { Exchange, LocalReply } from '#engine/contract/exchange.ts'
import type { RouteSettings } from '#engine/contract/filter.ts'
import type { InProcess } from '#engine/contract/in-process.ts'
import type { ContentReader } from '#engine/contract/kept-content.ts'
import type { MetricsPlan } from '#engine/contract/otlp.ts'
import type { Policy, PolicyServices } from '#engine/contract/policy.ts'
import type { Revocations } from '#engine/contract/revocations.ts'
import type { MirrorRecorder, Recorder, RecorderLabels, RouteMirror, Router } from '#engine/contract/route.ts'
import type { ServiceRecorder } from '#engine/contract/service.ts'
import type { StreamClient } from '#engine/contract/tcp.ts'
import type { Tracer, TracingPlan } from '#engine/contract/tracing.ts'
import type { Places } from '#engine/ir/places.ts'
import type { RouteMatch, Snapshot } from '#engine/ir/snapshot.ts'
import type { TcpDeps } from './tcp.ts'

export interface RuntimeDeps {
  /** The registry, in run order. */
  readonly policies: readonly Policy[]
  /** What the thread lends to policies, beside what the configuration says. */
  readonly services: Omit<PolicyServices, 'maxBufferBytes'>
  readonly backends: readonly BackendKind[]
  readonly upstream: UpstreamClient & StreamClient
  /** As recorderFor, of connections whose bytes are passed on. */
  readonly tcpRecorderFor: TcpDeps['tcpRecorderFor']
  /** `route` is '' for exchanges that found none on the listener. */
  readonly recorderFor: (labels: RecorderLabels, log: AccessLogPlan | null, content?: ContentReader | null) => Recorder
  /** Absent: nothing is served here, so nothing is traced. */
  readonly tracerFor?: (plan: TracingPlan, content: ContentReader | null) => Tracer | null
  /** What sends metrics to a collector while a configuration is in force. Absent: nothing is served here. */
  readonly exportMetrics?: (plan: MetricsPlan) => Background | null
  /** Records the copies that the mirrors of a route get. */
  readonly mirrorRecorderFor: (route: string) => MirrorRecorder
  /** Counts calls of a policy, or a kind of backend, to a service. Absent: nothing is served here. */
  readonly serviceRecorderFor?: (service: string, policy: string) => ServiceRecorder
  /** Ends an exchange with the gateway's own reply. */
  readonly fail: (ex: Exchange, code: ErrorCode) => void
  readonly reply: (ex: Exchange, reply: LocalReply) => void
  /** Sends copies of a request that is about to be sent itself. */
  readonly mirror: (ex: Exchange, mirrors: readonly RouteMirror[]) => void
  readonly inProcess: InProcess
  readonly children: Children
  /** BackendContext.secret. */
  readonly secret: Uint8Array
  /** BackendContext.worker. Absent: of none, nothing is served here. */
  readonly worker?: BackendContext['worker']
  readonly revocations: Revocations
  /** BackendContext.owners. Absent: nothing is served here. */
  readonly owners?: BackendContext['owners']
  /** Where parts of the Snapshot were written. Absent or null: unknown. */
  readonly places?: Places | null
}

export interface Runtime extends Router {
  readonly snapshot: Snapshot
  /** What runs, for people: plain data without configuration values. */
  describe(): RuntimeDescription
}

export interface RuntimeDescription {
  readonly version: number
  readonly hash: string
  readonly acceptedAt: string
  readonly routes: readonly RouteDescription[]
}

export interface RouteDescription {
  readonly name: string
  readonly rule?: string
  readonly listener: string
  readonly port: number
  readonly hostnames: readonly string[]
  readonly matches: readonly RouteMatch[]
  /** Names in run order. */
  readonly policies: readonly string[]
  readonly settings: RouteSettings
  readonly backends: readonly { readonly backend: string; readonly weight: number }[]
}
