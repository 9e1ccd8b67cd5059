/** The secret of session ids: text of the file, or of another one. */
import type { Sources } from '#engine/contract/policy.ts'

const CHARS_MIN = 16

/** Throws an Error that says in words why there is none; nothing of it is quoted. */
export function readKey(given: string | { readonly file?: string | undefined }, sources: Sources): string {
  if (typeof given === 'string') return given
  const key = sources.readFile(given.file!).trim()
  if (key.length < CHARS_MIN) throw new Error(`${given.file}: a session key must have at least ${CHARS_MIN} characters`)
  return key
}
