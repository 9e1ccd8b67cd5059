/** What tracing, log records and metrics have in common: which collector gets them, and how. */

import { expression } from '#engine/cel/expression.ts'
import type { BatchSettings, OtlpPlan } from '#engine/contract/otlp.ts'
import type { CompileContext } from '#engine/contract/policy.ts'
import type { InlineService } from '#engine/contract/service.ts'
import type { Secret } from '#engine/kit/secret.ts'
import { positiveDuration } from '#engine/schema/duration.ts'
import { cel } from '#engine/schema/rule.ts'
import { whole, z } from '#engine/schema/schema.ts'
import { serviceFields, serviceOf } from '#engine/schema/service-ref.ts'
import { inResources } from '#engine/schema/spelling.ts'
import { together } from '#engine/schema/together.ts'
import { addedEither } from '#policies/shared/log-attributes.ts'
import type { Signal } from './export-response.ts'
import { RESOURCE_ROOTS, resourceAttributes } from './resource.ts'
import { otlpOverGrpc, otlpOverHttp } from './transport.ts'

const KIB = 1024
const GRPC_PORT = 4317
const BATCH_DEFAULTS = {
  scheduleDelay: 5_000,
  exportTimeout: 10_000,
  maxExportBatchBytes: 512 * KIB,
  maxQueueBytes: 8 * KIB * KIB
}

const resourceExpression = () => expression(RESOURCE_ROOTS)

/** Longer than 0. */
export const positive = () => positiveDuration('must be longer than 0')

export const exportTimeout = () => positive().optional().describe('For one attempt to send a batch. Default 10s.')

/** It may have a query. */
export const otlpPath = () => z.string().regex(/^\/[!-~]*$/, 'must begin with "/" and have no spaces')

/** Fields of a policy that sends a signal: spread into its schema, which also has namesService(). */
export const otlpFields = (signal: Signal) => ({
  ...serviceFields,
  protocol: inResources(z.enum(['HTTP', 'GRPC', 'http', 'grpc']), z.enum(['HTTP', 'GRPC']).default('HTTP'))
    .optional()
    .describe('OTLP over HTTP (protobuf) or over gRPC. Default HTTP; for a host with port 4317 GRPC.'),
  path: otlpPath().optional().describe(`Of OTLP over HTTP. Default /v1/${signal}.`),
  resources: addedEither(resourceExpression)
    .optional()
    .describe('Attributes of the resource, for example service.name: names with expressions that read env alone.')
})

type Batch = { readonly [K in keyof typeof BATCH_DEFAULTS]?: number | undefined }

/** What a file leaves out is absent, not undefined. */
const settingsOf = (input: Batch): typeof BATCH_DEFAULTS => ({
  ...BATCH_DEFAULTS,
  ...(input as Partial<typeof BATCH_DEFAULTS>)
})

const QUEUE_EXPECTED = 'must be at least maxExportBatchBytes'

const inForce = (field: 'maxQueueBytes' | 'maxExportBatchBytes') =>
  `(has(self.${field}) ? self.${field} : ${BATCH_DEFAULTS[field]})`

/** `items`: what the signal consists of. */
export const batch = (items: string) =>
  z
    .strictObject({
      scheduleDelay: positive().optional().describe(`How long ${items} wait for others. Default 5s.`),
      exportTimeout: exportTimeout(),
      maxExportBatchBytes: whole(8 * KIB, 4 * KIB * KIB)
        .optional()
        .describe('Bytes of one request to the collector. Default 524288 (512 KiB).'),
      maxQueueBytes: whole(8 * KIB, 1024 * KIB * KIB)
        .optional()
        .describe(
          `Bytes of ${items} that wait in one worker while the collector is slow or away. Default 8388608 (8 MiB).`
        )
    })
    .check(
      together<Batch>(
        [],
        ({ value, issues }) => {
          const { maxExportBatchBytes, maxQueueBytes } = settingsOf(value)
          if (maxQueueBytes >= maxExportBatchBytes) return
          issues.push({ code: 'custom', path: ['maxQueueBytes'], message: QUEUE_EXPECTED, input: value })
        },
        cel(`${inForce('maxQueueBytes')} >= ${inForce('maxExportBatchBytes')}`, {
          field: 'maxQueueBytes',
          message: QUEUE_EXPECTED
        })
      )
    )

type Fields = { readonly [K in keyof ReturnType<typeof otlpFields>]?: z.output<ReturnType<typeof otlpFields>[K]> } & {
  /** In place of backendRef, backend and host. */
  readonly service?: InlineService | undefined
  /** Sent with every export; names in lower case. */
  readonly headers?: readonly (readonly [name: string, value: Secret])[] | undefined
}

/** `at`: where the fields stand in the value of the policy. */
export function otlpPlan(
  input: Fields & { readonly batch?: Batch | undefined },
  signal: Signal,
  context: CompileContext,
  at: readonly PropertyKey[] = []
): OtlpPlan {
  return {
    transport: transportOf(input, signal, context, at),
    batch: batchOf(input.batch ?? {}),
    resource: resourceAttributes(input.resources ?? [], () => context.failed('tracing')),
    log: context.log
  }
}

function batchOf(input: Batch): BatchSettings {
  const { scheduleDelay, exportTimeout: timeout, maxExportBatchBytes, maxQueueBytes } = settingsOf(input)
  return {
    delayMs: scheduleDelay,
    exportTimeoutMs: timeout,
    batchBytesMax: maxExportBatchBytes,
    queueBytesMax: maxQueueBytes
  }
}

function transportOf(
  input: Fields,
  signal: Signal,
  { services }: CompileContext,
  at: readonly PropertyKey[]
): OtlpPlan['transport'] {
  const ref = input.service ?? serviceOf(input, at)
  const isGrpcPort = 'port' in ref && ref.port === GRPC_PORT
  const protocol = (input.protocol ?? (isGrpcPort ? 'GRPC' : 'HTTP')).toUpperCase()
  return protocol === 'GRPC'
    ? otlpOverGrpc(services.grpc(ref), signal, input.headers)
    : otlpOverHttp(services.http(ref), signal, input.path ?? `/v1/${signal}`, input.headers)
}
