/**
 * The registry: the order of the lines is the order in which request hooks run (response hooks run
 * in reverse). The only place that knows the order, so every line says why it stands where it does.
 */
import type { Policy } from '#engine/contract/policy.ts'
import { authorization } from './traffic/authorization.ts'
import { directResponse } from './traffic/direct-response.ts'
import { headerModifiers } from './traffic/header-modifiers.ts'
import { hostRewrite } from './traffic/host-rewrite.ts'
import { requestMirror } from './traffic/request-mirror.ts'
import { requestRedirect } from './traffic/request-redirect.ts'
import { retry } from './traffic/retry.ts'
import { timeouts } from './traffic/timeouts.ts'
import { transformation } from './traffic/transformation.ts'
import { urlRewrite } from './traffic/url-rewrite.ts'

export const policies: readonly Policy[] = [
  timeouts, // settings only: the clock of the exchange runs before any hook does
  retry, // settings only: what is done when the backend fails, after all hooks
  requestMirror, // settings only: copies are made where the backend is called, so they are what hooks have made of the request
  authorization, // who may pass, before anything is spent on the request or changed in it
  transformation, // computed values; behind whoever may refuse, so that no refused request costs a buffered body
  headerModifiers, // fixed values; its response side sees every reply made below, redirects included
  hostRewrite, // settings only; a general rule for the host, so whatever names a host comes after it
  urlRewrite, // names path and authority for the upstream: has the last word on both (spec 2.6, hostRewrite)
  requestRedirect, // ends the exchange, so everything above could still refuse or decorate it
  directResponse // last: a fixed answer where nothing above has ended the exchange
]
