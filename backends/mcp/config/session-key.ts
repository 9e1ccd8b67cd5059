/** The secret of session ids: text of the file, or of another one. */
import type { Sources } from '#engine/contract/policy.ts'

const CHARS_MIN = 16

/** Throws an Error that says in words why there is none; nothing of it is quoted. */
export function readKey(input: string | { readonly file?: string | undefined }, sources: Sources): string {
  if (typeof input === 'string') return input
  const key = sources.readFile(input.file!).trim()
  if (key.length < CHARS_MIN) throw new Error(`${input.file}: a session key must have at least ${CHARS_MIN} characters`)
  return key
}
