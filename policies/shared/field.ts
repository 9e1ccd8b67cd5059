/** Names of header fields that a policy may set, add or remove. */
import { cel } from '#engine/schema/rule.ts'
import { shortString } from '#engine/schema/schema.ts'

/** Per list (docs/specification.md#traffic-policies). */
export const FIELDS_MAX = 16

/** What frames a message or belongs to one connection is the engine's: another value would break it. */
const RESERVED = new Set([
  'content-length',
  'transfer-encoding',
  'connection',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'upgrade'
])

/** Whether a field of that name, in lower case, is the engine's. */
export function isReservedField(name: string): boolean {
  return RESERVED.has(name)
}

export const headerName = () =>
  shortString()
    .regex(/^[A-Za-z0-9!#$%&'*+\-.^_`|~]+$/, { error: ({ input }) => unfit(String(input)) })
    .refine((name) => !RESERVED.has(name.toLowerCase()), {
      error: (issue) => `${String(issue.input).toLowerCase()} frames the message and cannot be modified`,
      params: cel(`!(self.lowerAscii() in [${[...RESERVED].map((name) => `'${name}'`).join(', ')}])`, {
        message: 'frames the message and cannot be modified'
      })
    })

function unfit(name: string): string {
  return name.startsWith(':')
    ? 'is a pseudo header: only set of a transformation can change one'
    : 'is not a header name'
}
