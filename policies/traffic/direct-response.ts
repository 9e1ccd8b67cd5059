/** spec.traffic.directResponse: the gateway answers itself. */

import { REQUEST_ROOTS } from '#engine/cel/exchange.ts'
import { expression } from '#engine/cel/expression.ts'
import type { Value } from '#engine/cel/index.ts'
import { bodiesOf, evaluation, showEvaluation } from '#engine/cel/offload.ts'
import { type Detail, placeOf } from '#engine/contract/detail.ts'
import type { Exchange, LocalReply } from '#engine/contract/exchange.ts'
import type { Verdict } from '#engine/contract/filter.ts'
import type { CompileContext, Compiled, Policy } from '#engine/contract/policy.ts'
import { answer, refuse } from '#engine/contract/refuse.ts'
import { bufferOf } from '#engine/kit/shared-bytes.ts'
import { atMostOne } from '#engine/schema/choice.ts'
import { cel } from '#engine/schema/rule.ts'
import { deferred, z } from '#engine/schema/schema.ts'
import { sound } from '#engine/schema/together.ts'
import { textOf } from '#policies/shared/text.ts'

/** Statuses whose responses end after the header section (RFC 9110 section 6.4.1). */
const BODILESS = [204, 205, 304]

const NO_BODY = 'a response with status 204, 205 or 304 has no body'

/** Of a body that is no text; a policy for headers can say better. */
const BYTES = 'application/octet-stream'

const schema = deferred(() =>
  z
    .strictObject({
      status: z.int().min(200).max(599),
      body: z.string().min(1).max(4096).optional(),
      bodyExpression: expression(REQUEST_ROOTS).optional()
    })
    .refine(({ status, body }) => body === undefined || !BODILESS.includes(status), {
      path: ['body'],
      message: NO_BODY,
      when: sound('status'),
      params: cel(`!has(self.body) || !(self.status in [${BODILESS}])`)
    })
    .refine(({ status, bodyExpression }) => bodyExpression === undefined || !BODILESS.includes(status), {
      when: sound('status'),
      path: ['bodyExpression'],
      message: NO_BODY,
      params: cel(`!has(self.bodyExpression) || !(self.status in [${BODILESS}])`)
    })
    .check(atMostOne(['body', 'bodyExpression']))
)

// --- build time ---

const place = (ex: Exchange): string => placeOf(ex, 'directResponse')

function compile({ status, body, bodyExpression }: z.output<typeof schema>, context: CompileContext): Compiled {
  // One reply for all requests: it never changes.
  const fixed: LocalReply = { status, body: body ?? null, contentType: null, headers: null }
  if (bodyExpression === undefined) return { filter: { onRequest: (ex) => answer(ex, fixed, place) } }
  const { failed, offload } = context
  const text = evaluation(bodyExpression, 'request', 'any', (name, job, client) => offload.run(name, job, client))
  const noBody: Detail = (ex) => `${place(ex)}.bodyExpression gives no text: ${showEvaluation(text, ex)}`
  const reply = (ex: Exchange, value: Value): Verdict => {
    if (value instanceof Uint8Array) {
      return answer(ex, { status, body: bufferOf(value), contentType: BYTES, headers: null }, place)
    }
    const body = textOf(value)
    if (body !== null) return answer(ex, { status, body, contentType: null, headers: null }, place)
    failed('directResponse')
    return refuse(ex, 'INTERNAL', null, noBody)
  }
  if (!text.mayWait) return { filter: { onRequest: (ex) => reply(ex, text.run(ex) as Value) } }
  return {
    filter: {
      // The body is here and may be large for the expression: then it waits for another thread.
      onRequest: (ex) => {
        const value = text.run(ex)
        return value instanceof Promise ? value.then((known) => reply(ex, known)) : reply(ex, value)
      },
      buffers: bodiesOf([text.program])
    }
  }
}

export const directResponse: Policy = {
  name: 'directResponse',
  section: 'traffic',
  schema,
  aliases: [],
  answersAll: true,
  compile
}
