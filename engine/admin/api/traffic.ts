/** What each route has got in the last minutes. */

import { jsonReply } from '#engine/admin/server.ts'
import { z } from '#engine/schema/schema.ts'
import { ROUTES_MAX, type Traffic } from '#engine/telemetry/figures/routes.ts'
import { type Operation, refusal } from './operation.ts'

const count = () => z.int().min(0)

const answer = () =>
  z.strictObject({
    seconds: count().describe('How long ago the counting began: five minutes, but for the first ones after a start.'),
    routes: z
      .array(
        z.strictObject({
          port: z.int(),
          listener: z.string(),
          route: z.string().describe('Its rules are counted together. Empty: no route took the request.'),
          requests: count().describe('Of this time; connections, of a route of TCP or TLS.'),
          refused: count().describe('Answered with 4xx.'),
          failed: count().describe('Answered with 5xx; connections that were cut.'),
          total: count().describe('Requests since the start.')
        })
      )
      .describe(`Those that have got any, the busiest first; ${ROUTES_MAX} at most.`),
    leftOut: count().describe('Routes that are not listed, since there are too many.')
  })

/** `traffic`: absent where nothing is counted. */
export function trafficOperation(traffic: (() => Traffic) | undefined): Operation {
  return {
    ...{ id: 'getTraffic', method: 'GET', path: '/traffic', tag: 'Gateway', role: 'see' },
    summary: 'What each route has got in the last five minutes, and since the start.',
    replies: { 200: { about: 'Of all workers together.', schema: answer() } },
    refusals: { 404: 'Nothing is counted here.' },
    answer: () =>
      traffic === undefined ? refusal(404, 'NOT_FOUND', 'nothing is counted here') : jsonReply(200, traffic())
  }
}
