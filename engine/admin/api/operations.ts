/** All operations of the admin API: the document of them is one as well. */

import { jsonReply } from '#engine/admin/server.ts'
import { z } from '#engine/schema/schema.ts'
import type { ModelsNow } from '#engine/telemetry/figures/models.ts'
import type { Traffic } from '#engine/telemetry/figures/routes.ts'
import { type AdminChecks, checkOperation } from './check.ts'
import { type AdminGateway, gatewayOperations } from './gateway.ts'
import { type AdminKeys, keyOperations } from './keys.ts'
import { modelsOperation } from './models.ts'
import { openApi } from './openapi.ts'
import type { Operation } from './operation.ts'
import { type AdminRequests, requestOperations } from './requests.ts'
import { sendOperation } from './send.ts'
import { type AdminFigures, seriesOperation } from './series.ts'
import { type AdminSessions, sessionOperation } from './session.ts'
import { type AdminSpend, spendOperations } from './spend.ts'
import { type AdminTexts, textOperations } from './text.ts'
import { trafficOperation } from './traffic.ts'
import { tryOperations } from './try.ts'

export interface ApiParts extends AdminGateway, AdminRequests, AdminSessions, AdminChecks, AdminTexts {
  /** Keys and budgets. Absent: there are none. */
  readonly keys?: AdminKeys
  /** What is drawn over time. Absent: none are kept. */
  readonly figures?: AdminFigures
  /** What routes have got. Absent: nothing is counted. */
  readonly traffic?: () => Traffic
  /** How models have fared. Absent: nothing is counted. */
  readonly models?: () => ModelsNow
  /** Records of model calls. Absent: none are kept. */
  readonly spend?: AdminSpend
}

export function operationsOf(parts: ApiParts): readonly Operation[] {
  const operations = [
    ...gatewayOperations(parts),
    seriesOperation(parts.figures),
    trafficOperation(parts.traffic),
    modelsOperation(parts.models),
    sessionOperation(parts.session),
    checkOperation(parts),
    ...textOperations(parts),
    ...requestOperations(parts),
    ...tryOperations(),
    sendOperation(parts.state),
    ...(parts.keys === undefined ? [] : keyOperations(parts.keys)),
    ...spendOperations(parts.spend)
  ]
  const document: Operation = {
    ...{ id: 'getDocument', method: 'GET', path: '/openapi.json', tag: 'Gateway', role: 'see' },
    summary: 'This document.',
    replies: {
      200: { about: 'OpenAPI 3.1.', schema: z.looseObject({ openapi: z.string(), paths: z.looseObject({}) }) }
    },
    answer: () => jsonReply(200, openApi([...operations, document], parts.state().version))
  }
  return [...operations, document]
}
