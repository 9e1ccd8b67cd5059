/** Methods and notifications of the stateful era, 2024-11-05 to 2025-11-25 (schema/<revision>/schema.ts). */

import { type MethodTable, method } from './method.ts'
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

export const STATEFUL_NOTIFICATIONS: ReadonlySet<string> = new Set([
  'notifications/initialized',
  'notifications/cancelled',
  'notifications/progress',
  'notifications/message',
  'notifications/roots/list_changed',
  'notifications/tools/list_changed',
  'notifications/prompts/list_changed',
  'notifications/resources/list_changed',
  'notifications/resources/updated',
  'notifications/tasks/status',
  'notifications/elicitation/complete'
])

/** Codes of this era alone: the stateless one must not say them (2026-07-28, basic/index, Error Codes). */
export const RESOURCE_NOT_FOUND = -32002
export const URL_ELICITATION_REQUIRED = -32042
