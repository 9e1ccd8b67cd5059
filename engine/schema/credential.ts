/** What a server is shown to say who asks. */
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
