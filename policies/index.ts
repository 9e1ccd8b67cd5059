/**
 * The registry: the order of the lines is the order in which request hooks run (response hooks run
 * in reverse). The only place that knows the order, so every line says why it stands where it does.
 */
import type { Policy } from '#engine/contract/policy.ts'
import { accessLog } from './frontend/access-log.ts'
import { metrics } from './frontend/metrics.ts'
import { prices } from './frontend/prices.ts'
import { spendWebhook } from './frontend/spend-webhook.ts'
import { tracing } from './frontend/tracing.ts'
import { apiKeyAuthentication } from './traffic/api-key-authentication.ts'
import { authorization } from './traffic/authorization.ts'
import { basicAuthentication } from './traffic/basic-authentication.ts'
import { cors } from './traffic/cors.ts'
import { csrf } from './traffic/csrf.ts'
import { directResponse } from './traffic/direct-response.ts'
import { extAuth } from './traffic/ext-auth.ts'
import { extProc } from './traffic/ext-proc.ts'
import { headerModifiers } from './traffic/header-modifiers.ts'
import { hostRewrite } from './traffic/host-rewrite.ts'
import { jwtAuthentication } from './traffic/jwt-authentication.ts'
import { mcpAuthentication } from './traffic/mcp-authentication.ts'
import { rateLimit } from './traffic/rate-limit.ts'
import { requestMirror } from './traffic/request-mirror.ts'
import { requestRedirect } from './traffic/request-redirect.ts'
import { retry } from './traffic/retry.ts'
import { timeouts } from './traffic/timeouts.ts'
import { transformation } from './traffic/transformation.ts'
import { urlRewrite } from './traffic/url-rewrite.ts'
import { virtualKeys } from './traffic/virtual-keys.ts'

export const policies: readonly Policy[] = [
  accessLog, // no hooks: it is asked when an exchange is over
  tracing, // no hooks: it is asked ahead of all of them, and when an exchange is over
  metrics, // no hooks: it is about all exchanges
  spendWebhook, // no hooks: it is told when an exchange is over
  prices, // no hooks: backends ask for what calls cost
  timeouts, // settings only: the clock of the exchange runs before any hook does
  retry, // settings only: what is done when the backend fails, after all hooks
  requestMirror, // settings only: copies are made where the backend is called, so they are what hooks have made of the request
  cors, // preflights have no credentials: answered before any are asked for. Its response side marks every refusal below
  mcpAuthentication, // tells callers without a token where to get one, so before the policies that require one
  jwtAuthentication, // identifies the caller: policies below may read its claims
  basicAuthentication, // the caller by a password; behind tokens, which cost less
  apiKeyAuthentication, // the caller by a key; behind the two that claim the Authorization header by its scheme
  virtualKeys, // the caller by a key that has limits: where the other keys are asked for, and counted ahead of what asks others
  extAuth, // behind the policies that identify the caller, which the service gets; before the rules that read what it answers (extauthz)
  authorization, // who may pass, before anything is spent on the request or changed in it
  csrf, // a forged request must spend nothing of an honest caller's, so before every limit
  rateLimit, // after who: callers that are refused above must not spend an honest caller's tokens
  extProc, // sees only requests that are accepted, and may read and change them whole; what the configuration itself writes comes behind it, so that the service cannot undo it
  transformation, // computed values; behind every policy that may refuse, so that no refused request costs a buffered body
  headerModifiers, // fixed values; its response side sees every reply made below, redirects included
  hostRewrite, // settings only; a general rule for the host, so whatever names a host comes after it
  urlRewrite, // names path and authority for the upstream: has the last word on both (docs/specification.md#host-rewrite)
  requestRedirect, // ends the exchange, so everything above could still refuse or decorate it
  directResponse // last: a fixed answer where nothing above has ended the exchange
]
