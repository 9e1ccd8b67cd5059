/** spec.traffic.directResponse: the gateway answers itself. */
import type { LocalReply } from '#engine/contract/exchange.ts'
import { type Compiled, STOP } from '#engine/contract/filter.ts'
import type { Policy } from '#engine/contract/policy.ts'
import { z } from '#engine/schema/schema.ts'

/** Statuses whose responses end after the header section (RFC 9110 section 6.4.1). */
const BODILESS = [204, 205, 304]

const schema = z
  .strictObject({
    status: z.int().min(200).max(599),
    body: z.string().min(1).max(4096).optional()
  })
  .refine(({ status, body }) => body === undefined || !BODILESS.includes(status), {
    path: ['body'],
    message: 'a response with status 204, 205 or 304 has no body'
  })

// --- build time ---

function compile(config: z.output<typeof schema>): Compiled {
  // One reply for all requests: nobody changes it.
  const reply: LocalReply = { status: config.status, body: config.body ?? null, contentType: null, headers: null }
  return {
    filter: {
      // --- request time ---
      onRequest: (ex) => {
        ex.localReply = reply
        return STOP
      }
    }
  }
}

export const directResponse: Policy = { name: 'directResponse', section: 'traffic', schema, aliases: [], compile }
