/** The request that an authorization service gets over HTTP. */
import type { Value } from '#engine/cel/index.ts'
import type { Evaluation } from '#engine/cel/offload.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import type { HttpServiceRequest } from '#engine/contract/service.ts'
import { parseAuthority } from '#engine/http/authority.ts'
import { HeaderBlock } from '#engine/http/headers.ts'
import { isReservedField } from '#policies/shared/field.ts'
import { isFieldText } from '#policies/shared/service-fields.ts'
import { textOf } from '#policies/shared/text.ts'
import type { NamedValues } from './grpc.ts'
import type { ExtAuthConfig, HttpCheck } from './schema.ts'

/** A sign-in page is some tens of kilobytes. */
const ANSWER_BYTES_MAX = 1024 * 1024

/** What expressions say of the request; null: the configuration says nothing of it. */
export interface HttpParts {
  readonly method: Evaluation | null
  readonly path: Evaluation | null
  readonly authority: Evaluation | null
  readonly body: Evaluation | null
  readonly added: NamedValues
}

export interface RequestPlan extends HttpParts {
  readonly check: HttpCheck
  readonly config: ExtAuthConfig
  /** Counts what was left out: an expression that has failed, a field that cannot be set. */
  readonly failed: () => void
}

/** The request for the service, or the name of the part that has no usable value. */
export function requestOf(ex: Exchange, plan: RequestPlan): HttpServiceRequest | { readonly unusable: string } {
  const { config, check } = plan
  const method = textFor(ex, plan.method, isMethod)
  if (method === null) return { unusable: 'method' }
  const target = textFor(ex, plan.path, isTarget) ?? (plan.path === null ? ex.originalPath + ex.query : null)
  if (target === null || !isTarget(target)) return { unusable: 'path' }
  const authority = textFor(ex, plan.authority, isAuthority)
  if (authority === null) return { unusable: 'authority' }
  const written = textFor(ex, plan.body, isAny)
  if (written === null) return { unusable: 'body' }
  const forwarded = config.forwardBody === null ? null : (ex.requestBytes ?? null)
  const at = target.indexOf('?')
  return {
    method: method ?? ex.method,
    path: at < 0 ? target : target.slice(0, at),
    query: at < 0 ? '' : target.slice(at),
    headers: headersOf(ex, plan, written === undefined && forwarded !== null && forwarded.length > 0),
    body: written === undefined ? forwarded : Buffer.from(written),
    ...authorityOf(ex, check, authority),
    timeoutMs: config.timeoutMs,
    answerBytesMax: ANSWER_BYTES_MAX,
    ex
  }
}

/** Undefined: nothing is configured. Null: the expression failed, or its text is not `isFit`. */
function textFor(ex: Exchange, evaluation: Evaluation | null, isFit: (text: string) => boolean) {
  if (evaluation === null) return undefined
  const text = textOf(evaluation.program.run(ex) as Value)
  return text !== null && isFit(text) ? text : null
}

const isAny = () => true
const isMethod = (text: string) => /^[A-Z][A-Z-]{0,31}$/.test(text) && text !== 'CONNECT'
const isTarget = (text: string) => /^\/[!-"$-~]*$/.test(text)
const isAuthority = (text: string) => parseAuthority(text) !== null

/** The service gets its own name, unless the configuration names another or forwards the client's. */
function authorityOf(ex: Exchange, check: HttpCheck, written: string | undefined): { authority?: string } {
  if (written !== undefined) return { authority: written }
  return check.allowedRequestHeaders.includes('host') ? { authority: ex.authority } : {}
}

function headersOf(ex: Exchange, { check, added, failed }: RequestPlan, hasForwardedBody: boolean): HeaderBlock {
  const headers = new HeaderBlock()
  for (const name of check.allowedRequestHeaders) {
    const value = isReservedField(name) || name === 'host' ? undefined : ex.request.getAll(name)
    if (value !== undefined) headers.receive(name, value)
  }
  for (const { name, value } of added) {
    const text = textOf(value.program.run(ex) as Value)
    if (text === null || !isFieldText(text)) failed()
    else headers.set(name, text.trim())
  }
  // As Envoy says that the body is whole.
  if (hasForwardedBody) headers.receive('x-envoy-auth-partial-body', 'false')
  return headers
}
