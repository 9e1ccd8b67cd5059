/**
 * spec.traffic.cors: which sites may read answers in a browser (Fetch standard, section 3.2; Gateway API,
 * HTTPCORSFilter). Preflights are answered here. An origin that is not allowed is not refused: its browser
 * is, by an answer without CORS headers. What an upstream says about CORS is replaced, never doubled.
 */

import { CORS_DECISION, type CorsDecision } from '#engine/contract/cors-decision.ts'
import { placeOf } from '#engine/contract/detail.ts'
import type { Exchange, LocalReply } from '#engine/contract/exchange.ts'
import { CONTINUE, type Verdict } from '#engine/contract/filter.ts'
import type { Compiled, Policy } from '#engine/contract/policy.ts'
import { answer } from '#engine/contract/refuse.ts'
import type { HeaderBlock } from '#engine/http/headers.ts'
import { duration } from '#engine/schema/duration.ts'
import { fieldName, method } from '#engine/schema/http.ts'
import { enforcedAs, ONLY_GATEWAY } from '#engine/schema/rule.ts'
import { deferred, list, shortString, whole, z } from '#engine/schema/schema.ts'
import { inResources } from '#engine/schema/spelling.ts'
import { onlyValue } from '#policies/shared/only-value.ts'
import { type OriginMatcher, originMatcher, originPatternProblem } from '#policies/shared/origin-pattern.ts'
import { shownText } from '#policies/shared/text.ts'

/** Of lists of names (docs/specification.md#leaf-types). */
const ENTRIES_MAX = 64
const YEAR_S = 31_536_000
const ANY = '*'

const origin = () =>
  shortString().superRefine((text, context) => {
    const problem = originPatternProblem(text)
    if (problem !== null) context.addIssue({ code: 'custom', message: problem })
  }, enforcedAs(ONLY_GATEWAY))

const seconds = () => whole(0, YEAR_S)

const maxAge = () =>
  inResources(
    z.union([
      seconds(),
      duration()
        .refine((ms) => ms <= YEAR_S * 1000, 'must be at most a year')
        .refine((ms) => ms % 1000 === 0, 'must be whole seconds')
        .transform((ms) => ms / 1000)
    ]),
    seconds()
  )

const schema = deferred(() =>
  z.strictObject({
    allowOrigins: list(origin(), 1, ENTRIES_MAX).describe(
      'Sites that may read answers: "https://example.com", with wildcards in the host "https://*.example.com", or "*".'
    ),
    allowMethods: list(method(), 0, ENTRIES_MAX)
      .optional()
      .describe('Methods that preflights allow; "*" for every one. GET, HEAD and POST need no permission.'),
    allowHeaders: list(fieldName(), 0, ENTRIES_MAX)
      .optional()
      .describe('Request headers that preflights allow; "*" for every one.'),
    exposeHeaders: list(fieldName(), 0, ENTRIES_MAX)
      .optional()
      .describe('Response headers that scripts may read; "*" for every one.'),
    allowCredentials: z
      .boolean()
      .optional()
      .describe('Whether cookies and other credentials may be sent. Default false.'),
    maxAge: maxAge().optional().describe('How long browsers keep the answer to a preflight: a duration, or seconds.')
  })
)

type Config = z.output<typeof schema>

// --- build time ---

/** Headers that answer a preflight or a request, and that only this policy sets. */
const OWN = [
  'access-control-allow-origin',
  'access-control-allow-credentials',
  'access-control-allow-methods',
  'access-control-allow-headers',
  'access-control-expose-headers',
  'access-control-max-age'
]

const OWN_CHARS_MIN = Math.min(...OWN.map((name) => name.length))

/** A list as it is sent; null: say nothing. With "*" in it the answer depends on the request. */
interface Names {
  readonly all: boolean
  readonly text: string | null
}

interface Plan {
  /** Null: every origin. */
  readonly origins: OriginMatcher | null
  /** Every origin and no credentials: one answer for all requests, those without Origin too. */
  readonly isStatic: boolean
  readonly credentials: boolean
  readonly methods: Names
  readonly headers: Names
  readonly expose: Names
  readonly maxAge: string | null
}

function compile(config: Config): Compiled {
  const everyOrigin = config.allowOrigins.includes(ANY)
  const credentials = config.allowCredentials ?? false
  const plan: Plan = {
    origins: everyOrigin ? null : originMatcher(config.allowOrigins),
    isStatic: everyOrigin && !credentials,
    credentials,
    methods: namesOf(config.allowMethods),
    headers: namesOf(config.allowHeaders),
    expose: namesOf(config.exposeHeaders),
    maxAge: config.maxAge === undefined ? null : String(config.maxAge)
  }
  return {
    filter: {
      onRequest: (ex) => admit(ex, plan),
      onResponse: (ex) => {
        if (ex.response !== null) mark(ex, ex.response, plan)
        return CONTINUE
      }
    }
  }
}

function namesOf(list: readonly string[] | undefined): Names {
  const text = list === undefined || list.length === 0 ? null : [...new Set(list)].join(', ')
  return { all: list?.includes(ANY) ?? false, text }
}

function warnings({ allowOrigins, allowCredentials }: Config): string[] {
  if (!allowOrigins.includes(ANY) || allowCredentials !== true) return []
  return [
    '"*" with allowCredentials lets every site on the web read answers in the name of its visitors: list the sites'
  ]
}

// --- request time ---

/** The answer to a preflight. A class of its own, so that the response hook can tell it from other replies. */
class PreflightReply implements LocalReply {
  readonly status = 200 // not 204: older browsers and televisions take only 200 for success
  readonly body = null
  readonly contentType = null
  readonly headers: readonly string[] | null

  constructor(headers: readonly string[] | null) {
    this.headers = headers
  }
}

/** The answer to a preflight, for the log. */
function preflight(ex: Exchange): string {
  const place = placeOf(ex, 'cors')
  const { origin, isAllowed } = CORS_DECISION.get(ex) ?? { origin: null, isAllowed: false }
  if (isAllowed) return `${place} answers the preflight`
  return origin === null
    ? `${place}: the preflight names no origin, or more than one`
    : `${place}: the preflight is told nothing: ${shownText(origin)} is not one of allowOrigins`
}

function admit(ex: Exchange, plan: Plan): Verdict {
  const { request } = ex
  const isOptions = ex.method === 'OPTIONS'
  if (plan.isStatic && !isOptions) {
    decide(ex, null, true)
    return CONTINUE
  }
  const origin = onlyValue(request, 'origin')
  decide(ex, origin ?? null, typeof origin === 'string' && allows(plan, origin))
  if (!isOptions || origin === undefined) return CONTINUE
  const wanted = onlyValue(request, 'access-control-request-method')
  if (wanted === undefined || wanted === '') return CONTINUE
  // Which of two origins or methods is meant would be a guess: answered, and nothing allowed.
  const isAllowed = origin !== null && wanted !== null && allows(plan, origin)
  return answer(ex, new PreflightReply(isAllowed ? permissions(request, wanted, plan) : null), preflight)
}

const ANY_SITE: CorsDecision = { origin: null, isAllowed: true }

/** The policy may stand in both phases: the first has seen Origin as it was sent, the last decides. */
function decide(ex: Exchange, origin: string | null, isAllowed: boolean): void {
  const before = CORS_DECISION.get(ex)?.origin ?? origin
  CORS_DECISION.set(ex, before === null && isAllowed ? ANY_SITE : { origin: before, isAllowed })
}

function allows({ origins }: Plan, origin: string): boolean {
  return origins === null || origins.matches(origin)
}

/** Fields of a preflight's answer beside those of every answer. Lists with "*" echo the request. */
function permissions(request: HeaderBlock, wanted: string, plan: Plan): string[] {
  const { methods, headers, maxAge } = plan
  const out: string[] = []
  const allowMethods = methods.all ? wanted : methods.text
  if (allowMethods !== null) out.push('Access-Control-Allow-Methods', allowMethods)
  // "*" itself would not cover Authorization (Fetch, CORS non-wildcard request-header name).
  const allowHeaders = headers.all ? (request.getAll('access-control-request-headers') ?? null) : headers.text
  if (allowHeaders !== null) out.push('Access-Control-Allow-Headers', allowHeaders)
  if (maxAge !== null) out.push('Access-Control-Max-Age', maxAge)
  if (methods.all || headers.all) out.push('Vary', 'Access-Control-Request-Method, Access-Control-Request-Headers')
  return out
}

/** Says on an answer, of whomever, who may read it. */
function mark(ex: Exchange, response: HeaderBlock, plan: Plan): void {
  const isPreflight = ex.localReply instanceof PreflightReply
  // Of no use to browsers before the answer itself; the Gateway API wants it, and names of a preflight help nobody.
  const exposes = plan.expose.text !== null && !(isPreflight && plan.expose.all)
  if (!isPreflight && mayHaveOwn(response)) for (let i = 0; i < OWN.length; i++) response.remove(OWN[i]!)
  if (plan.isStatic) {
    // Also where no Origin was sent: the answer may be kept and given to one who sends it (Fetch, CORS and caches).
    response.append('Access-Control-Allow-Origin', ANY)
    if (exposes) expose(response, plan)
    return
  }
  vary(response)
  const origin = CORS_DECISION.get(ex)?.origin ?? null
  if (origin === null || !allows(plan, origin)) return
  response.append('Access-Control-Allow-Origin', origin)
  if (plan.credentials) response.append('Access-Control-Allow-Credentials', 'true')
  if (exposes) expose(response, plan)
}

/** Whether some name is long enough to be one of OWN: one look at the table instead of six. */
function mayHaveOwn({ at, count, added }: HeaderBlock): boolean {
  if (added !== null) return true
  for (let i = 0; i < count; i++) if (at[i * 4 + 1]! - at[i * 4]! >= OWN_CHARS_MIN) return true
  return false
}

const VARIES_BY_ORIGIN = /(?:^|,)[ \t]*(?:\*|origin)[ \t]*(?:,|$)/i

/** The answer depends on Origin, or would have if there had been one. */
function vary(response: HeaderBlock): void {
  const known = response.getAll('vary')
  if (known === undefined || !VARIES_BY_ORIGIN.test(known)) response.append('Vary', 'Origin')
}

function expose(response: HeaderBlock, { expose: { all, text }, credentials }: Plan): void {
  // With credentials browsers read "*" as the name of a header, so every name is listed. It
  // costs a list per answer, in this one configuration.
  const names = !all ? text! : credentials ? namesIn(response) : ANY
  response.append('Access-Control-Expose-Headers', names)
}

function namesIn(response: HeaderBlock): string {
  const names = new Set<string>()
  response.forEach((name) => {
    names.add(name.toLowerCase())
  })
  for (const own of OWN) names.delete(own)
  // Scripts never see it, whatever the list has.
  names.delete('set-cookie')
  return [...names].join(', ')
}

export const cors: Policy = {
  name: 'cors',
  section: 'traffic',
  schema,
  aliases: [],
  atReferences: true,
  warnings,
  compile
}
