/**
 * Signatures of one provider in the messages of another's format. Clients send back what they were given, so a
 * signature that is not of their format travels as "weir." and base64url JSON, which names its provider.
 */

import type { FormatName, Signature } from '#backends/llm/conversation.ts'
import { parseJson } from '#engine/kit/json.ts'

const MARK = 'weir.'

/** The text that a message of `format` carries for `signature`. */
export function sealSignature(signature: Signature, format: FormatName): string {
  if (signature.format === format) return signature.data
  return MARK + Buffer.from(JSON.stringify([signature.format, signature.data])).toString('base64url')
}

/** The signature in a text of `format`: another's that was sealed, or one of the format itself. */
export function openSignature(text: string, format: FormatName): Signature {
  return opened(text) ?? { format, data: text }
}

/** An unknown name of a format is that of another version of the gateway: its signature is for no provider here. */
function opened(text: string): Signature | null {
  if (!text.startsWith(MARK)) return null
  const value = parseJson(Buffer.from(text.slice(MARK.length), 'base64url').toString())
  // Another text that begins alike.
  if (value === undefined) return null
  if (!Array.isArray(value) || value.length !== 2) return null
  const [format, data] = value as unknown[]
  return typeof format === 'string' && typeof data === 'string' ? { format: format as FormatName, data } : null
}
