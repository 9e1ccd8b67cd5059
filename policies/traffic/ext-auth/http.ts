/** External authorization over HTTP: status 200 lets the request pass; any other answer goes to the client. */

import { RESPONSE_ROOTS } from '#engine/cel/exchange.ts'
import { compileExpression, type Expression } from '#engine/cel/expression.ts'
import { CelError, toJson, type Value } from '#engine/cel/index.ts'
import type { Evaluation } from '#engine/cel/offload.ts'
import { BODY_LENGTH, type Exchange } from '#engine/contract/exchange.ts'
import type { CompileContext } from '#engine/contract/policy.ts'
import type { HttpServiceAnswer, ServiceFailure } from '#engine/contract/service.ts'
import { type FieldChange, settableName } from '#policies/shared/service-fields.ts'
import { textOf } from '#policies/shared/text.ts'
import type { CheckSender } from './grpc.ts'
import { type HttpParts, type RequestPlan, requestOf } from './http-request.ts'
import type { Expressions, ExtAuthConfig, HttpCheck } from './schema.ts'
import type { Decision, Denied, Failed } from './verdict.ts'

const OK = 200
const FORBIDDEN = 403
const FOUND = 302

interface HttpPlan extends RequestPlan {
  readonly redirect: Evaluation | null
  readonly metadata: readonly { readonly name: string; readonly value: Expression }[]
}

/** Expressions over what the service has answered. */
function answerExpressions(sources: Expressions): HttpPlan['metadata'] {
  return Object.entries(sources).map(([name, source]) => ({ name, value: compileExpression(source, RESPONSE_ROOTS) }))
}

export function httpCheckSender(
  check: HttpCheck,
  config: ExtAuthConfig,
  parts: HttpParts & { readonly redirect: Evaluation | null },
  { services, failed }: CompileContext
): CheckSender {
  const client = services.http(config.service)
  const metadata = answerExpressions(check.responseMetadata)
  const plan: HttpPlan = { ...parts, check, config, metadata, failed: () => failed('extAuth') }
  return (ex, onDecision) => {
    const request = requestOf(ex, plan)
    if ('unusable' in request) {
      plan.failed()
      const detail = `${client.name}: the expression for its ${request.unusable} gives none`
      onDecision({ kind: 'failed', detail, reply: null, isOfRequest: true })
      return
    }
    client.request(request, (answer) => onDecision(decisionOf(ex, answer, plan, client.name)))
  }
}

// --- the answer ---

function decisionOf(
  ex: Exchange,
  answer: HttpServiceAnswer | ServiceFailure,
  plan: HttpPlan,
  service: string
): Decision | Failed {
  if (answer.error !== null) {
    return { kind: 'failed', detail: `${service}: ${answer.error}, ${answer.detail}`, reply: null }
  }
  const { status, headers } = answer
  // As Envoy has it: a service that is broken has not judged.
  if (status >= 500) return { kind: 'failed', detail: `${service}: it answers with status ${status}`, reply: null }
  const metadata = metadataOf(ex, answer, plan)
  const lifetimeMs = lifetimeOf(headers.getAll('cache-control'))
  if (status !== OK) {
    // Denials that are not about the caller (404, 429) are of the moment.
    const isLasting = status === 401 || status === FORBIDDEN
    const verdict: Denied = { kind: 'denied', reply: replyOf(ex, answer, plan), metadata }
    return { verdict, lifetimeMs: isLasting ? lifetimeMs : 0 }
  }
  const fields = plan.check.allowedResponseHeaders.flatMap((header): FieldChange[] => {
    const name = settableName(header)
    const value = headers.getAll(header)
    return name === null || value === undefined ? [] : [{ name, value, action: 'overwrite' }]
  })
  // What the service does not say, a client must not say for it.
  const removed = plan.check.allowedResponseHeaders.flatMap((name) =>
    headers.has(name) ? [] : (settableName(name) ?? [])
  )
  const nothing = { setQuery: [], removedQuery: [], responseFields: [] }
  return { verdict: { kind: 'allowed', fields, removed, ...nothing, metadata }, lifetimeMs }
}

/** What the client gets: the answer of the service, or a redirect to the login. */
function replyOf(ex: Exchange, { status, headers, body }: HttpServiceAnswer, plan: HttpPlan): Denied['reply'] {
  if (plan.redirect !== null && (status === 401 || status === FORBIDDEN)) {
    const location = textOf(plan.redirect.program.run(ex) as Value)
    if (location !== null && /^[!-~]+$/.test(location))
      return { status: FOUND, headers: ['location', location], body: NO_BODY }
    plan.failed()
  }
  const fields: string[] = []
  headers.forEach((header, value) => {
    const name = settableName(header)
    if (name !== null && name !== 'date' && name !== 'server') fields.push(name, value)
  })
  // A refusal must not look like success to the client.
  return status < 300 ? { status: FORBIDDEN, headers: [], body: NO_BODY } : { status, headers: fields, body }
}

const NO_BODY = Buffer.alloc(0)

/** Of expressions that fail, nothing is kept. Null: there are none. */
function metadataOf(ex: Exchange, answer: HttpServiceAnswer, { metadata, failed }: HttpPlan) {
  if (metadata.length === 0) return null
  const view = Object.create(ex) as Exchange
  view.status = answer.status
  view.response = answer.headers
  view.responseBody = BODY_LENGTH
  view.responseBytes = answer.body
  const found: Record<string, unknown> = {}
  for (const { name, value } of metadata) {
    const result = value.run(view) as Value
    const json = result instanceof CelError ? result : toJson(result)
    if (typeof json === 'string') found[name] = JSON.parse(json)
    else failed()
  }
  return found
}

/** RFC 9111 section 5.2.2, as far as it makes a lifetime shorter; null: the field has none. */
function lifetimeOf(cacheControl: string | undefined): number | null {
  if (cacheControl === undefined) return null
  const directives = cacheControl
    .toLowerCase()
    .split(',')
    .map((directive) => directive.trim())
  if (directives.includes('no-store') || directives.includes('no-cache')) return 0
  const age = directives.find((directive) => directive.startsWith('max-age='))
  if (age === undefined) return null
  const seconds = Number(age.slice('max-age='.length).replaceAll('"', ''))
  // What is no lifetime is over (RFC 9111 section 4.2.1).
  return Number.isFinite(seconds) && seconds >= 0 ? seconds * 1000 : 0
}
