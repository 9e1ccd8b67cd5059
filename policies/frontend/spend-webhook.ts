/** spec.frontend.spendWebhook: records of model calls for a receiver of JSON. docs/spend.md is the page for users. */
import { createHmac } from 'node:crypto'
import type { ExportOutcome } from '#engine/contract/otlp.ts'
import type { CompileContext, Compiled, Policy } from '#engine/contract/policy.ts'
import type { HttpServiceAnswer, ServiceFailure } from '#engine/contract/service.ts'
import { HeaderBlock } from '#engine/http/headers.ts'
import { reveal, type Secret, secret } from '#engine/kit/secret.ts'
import { authKey } from '#engine/schema/credential.ts'
import { deferred, whole, z } from '#engine/schema/schema.ts'
import { namesService, serviceFields, serviceOf } from '#engine/schema/service-ref.ts'
import { onlyInFiles } from '#engine/schema/spelling.ts'
import { otlpPath, positive } from '#policies/shared/otlp/settings.ts'

const DELAY_MS = 5_000
const TIMEOUT_MS = 10_000
const BATCH = 500
const QUEUE = 10_000
/** An answer has nothing that is read. */
const ANSWER_BYTES_MAX = 64 * 1024
/** Statuses after which the same may be sent again. */
const REPEATABLE: ReadonlySet<number> = new Set([408, 425, 429, 500, 502, 503, 504])

const schema = deferred(() =>
  z
    .strictObject({
      ...serviceFields,
      path: otlpPath().optional().describe('May have a query. Default /.'),
      signingKey: onlyInFiles(authKey().transform(secret).optional()).describe(
        'Signs what is sent: x-weir-signature is t=SECONDS,v1=HMAC-SHA256 of SECONDS, a dot and the body.'
      ),
      scheduleDelay: positive().optional().describe('How long records wait for others. Default 5s.'),
      timeout: positive().optional().describe('For one attempt to send a batch. Default 10s.'),
      maxBatchRecords: whole(1, 1_000).optional().describe('Records of one request. Default 500.'),
      maxQueueRecords: whole(1_000, 1_000_000)
        .optional()
        .describe('Records that wait in one worker while the receiver is slow or away. Default 10000.')
    })
    .check(namesService())
)

type Config = z.output<typeof schema>

function compile(config: Config, { services, exportSpend, log }: CompileContext): Compiled {
  const service = services.http(serviceOf(config))
  const { path: target = '/', signingKey, timeout: timeoutMs = TIMEOUT_MS } = config
  const mark = target.indexOf('?')
  const [path, query] = mark < 0 ? [target, ''] : [target.slice(0, mark), target.slice(mark)]
  const background = exportSpend({
    name: service.name,
    send(body, done) {
      const headers = new HeaderBlock()
      headers.append('Content-Type', 'application/json')
      if (signingKey !== undefined) headers.append('X-Weir-Signature', signatureOf(signingKey, body))
      const request = { method: 'POST', path, query, headers, body, timeoutMs, ex: null }
      return service.request({ ...request, answerBytesMax: ANSWER_BYTES_MAX }, (answer) => done(outcomeOf(answer)))
    },
    delayMs: config.scheduleDelay ?? DELAY_MS,
    batchMax: config.maxBatchRecords ?? BATCH,
    queueMax: config.maxQueueRecords ?? QUEUE,
    log
  })
  return { background }
}

/** With the time, so that what was overheard cannot be sent again later. */
function signatureOf(key: Secret, body: Buffer): string {
  const seconds = Math.floor(Date.now() / 1000)
  return `t=${seconds},v1=${createHmac('sha256', reveal(key)).update(`${seconds}.`).update(body).digest('hex')}`
}

function outcomeOf(answer: HttpServiceAnswer | ServiceFailure): ExportOutcome {
  if (answer.error !== null) return { kind: 'again', afterMs: null, message: answer.error }
  const { status, headers } = answer
  if (status >= 200 && status < 300) return { kind: 'taken', rejected: 0, message: '' }
  const message = `HTTP status ${status}`
  if (!REPEATABLE.has(status)) return { kind: 'refused', message }
  const after = headers.get('retry-after') ?? ''
  return { kind: 'again', afterMs: /^\d{1,6}$/.test(after) ? Number(after) * 1000 : null, message }
}

export const spendWebhook: Policy = { name: 'spendWebhook', section: 'frontend', schema, aliases: [], compile }
