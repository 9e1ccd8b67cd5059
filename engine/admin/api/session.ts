/** Who the caller is, for pages. */
import { jsonReply, type Request } from '#engine/admin/server.ts'
import { z } from '#engine/schema/schema.ts'
import { type Operation, ROLES, type Role } from './operation.ts'

export interface AdminSessions {
  /** Of a caller who has been admitted. */
  session(request: Request): { readonly name: string; readonly role: Role; readonly csrf: string }
}

const answer = () =>
  z.strictObject({
    name: z.string().describe('Of the token; "local" without one.'),
    role: z.enum(ROLES),
    csrf: z.string().describe('Pages send it as x-weir-csrf with everything but GET.')
  })

export function sessionOperation(session: AdminSessions['session']): Operation {
  return {
    ...{ id: 'getSession', method: 'GET', path: '/session', tag: 'Gateway', role: 'see' },
    summary: 'Who the caller is, and what they may do.',
    replies: { 200: { about: 'By the token that the request has shown.', schema: answer() } },
    answer: ({ request }) => jsonReply(200, session(request))
  }
}
