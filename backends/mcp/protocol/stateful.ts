/** Methods and notifications of the stateful era, 2024-11-05 to 2025-11-25 (schema/<revision>/schema.ts). */

import { type MethodTable, method, type NotificationTable } from './method.ts'
export const STATEFUL_METHODS: MethodTable = new Map([
  ['initialize', method('gateway')],
  ['ping', method('gateway')],
  ['tools/list', method('all')],
  ['tools/call', method('tool', { named: 'name', asksBack: true })],
  ['prompts/list', method('all')],
  ['prompts/get', method('prompt', { named: 'name', asksBack: true })],
  ['resources/list', method('all')],
  ['resources/templates/list', method('all')],
  ['resources/read', method('resource', { named: 'uri', asksBack: true })],
  ['resources/subscribe', method('resource', { named: 'uri' })],
  ['resources/unsubscribe', method('resource', { named: 'uri' })],
  ['completion/complete', method('reference')],
  ['logging/setLevel', method('all')],
  // 2025-11-25, experimental.
  ['tasks/get', method('task')],
  ['tasks/result', method('task')],
  ['tasks/cancel', method('task')],
  ['tasks/list', method('all')],
  ['sampling/createMessage', method('client')],
  ['elicitation/create', method('client')],
  ['roots/list', method('client')]
])

export const STATEFUL_NOTIFICATIONS: NotificationTable = new Map([
  ['notifications/initialized', { from: 'client', scope: 'session' }],
  ['notifications/roots/list_changed', { from: 'client', scope: 'session' }],
  ['notifications/cancelled', { from: 'both', scope: 'request' }],
  ['notifications/progress', { from: 'both', scope: 'request' }],
  ['notifications/message', { from: 'server', scope: 'session' }],
  ['notifications/tools/list_changed', { from: 'server', scope: 'session' }],
  ['notifications/prompts/list_changed', { from: 'server', scope: 'session' }],
  ['notifications/resources/list_changed', { from: 'server', scope: 'session' }],
  ['notifications/resources/updated', { from: 'server', scope: 'session' }],
  ['notifications/tasks/status', { from: 'both', scope: 'session' }],
  ['notifications/elicitation/complete', { from: 'server', scope: 'session' }]
])

/** Codes of this era alone: the stateless one must not say them (2026-07-28, basic/index, Error Codes). */
export const RESOURCE_NOT_FOUND = -32002
export const URL_ELICITATION_REQUIRED = -32042
