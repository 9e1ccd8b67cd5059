/** Keys in a configuration, and the header fields that carry them. */
import { fieldName } from './http.ts'
import { keyMissing, z } from './schema.ts'

/** docs/specification.md#backend-authentication. */
const KEY_CHARS_MAX = 2_048

/** A key that goes into a header line. */
export const authKey = (max = KEY_CHARS_MAX) =>
  z
    .string({ error: keyMissing })
    .min(1)
    .max(max)
    .regex(/^[!-~](?:[ -~]*[!-~])?$/, 'must be visible ASCII characters, without spaces around them')

/** The header field that carries a credential. */
export const keyHeader = () =>
  z.strictObject({
    name: fieldName(),
    prefix: z
      .string()
      .max(64)
      .regex(/^[!-~]*[!-~ ]?$/, 'must be visible characters, with at most one space at the end')
      .optional()
      .describe('Before the key. Default nothing.')
  })
