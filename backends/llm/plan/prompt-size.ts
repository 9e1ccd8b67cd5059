/** How long a request is, before anybody has counted it: for the choice among models whose context is limited. */
import { outputTokensMax } from '#backends/llm/usage/spending.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import type { Attempts } from './attempts.ts'

/** Of text, as providers tell their users. */
const BYTES_PER_TOKEN = 4
/** No word of any language is so long: it is a picture or a sound, whose tokens have nothing to do with its bytes. */
const DATA_RUN_BYTES = 1024

/** Whether a byte may stand in base64, of either alphabet. */
const IN_BASE64 = Uint8Array.from({ length: 256 }, (_, i) => (/[A-Za-z0-9+/=_-]/.test(String.fromCharCode(i)) ? 1 : 0))

/** Whether the context of a model with `contextTokens` is too small for the request, as its text tells. */
export function isTooLong({ requestBytes }: Exchange, state: Attempts, contextTokens: number): boolean {
  const output = outputTokensMax(state, 0)
  const bytesMax = (contextTokens - output) * BYTES_PER_TOKEN
  // As a rule it is short, and is not looked through.
  return requestBytes !== null && requestBytes.length > bytesMax && textBytes(requestBytes) > bytesMax
}

/** How many bytes of a body are not data in base64. */
export function textBytes(body: Uint8Array): number {
  let data = 0
  let runFrom = 0
  for (let at = 0; at <= body.length; at++) {
    if (at < body.length && IN_BASE64[body[at]!] === 1) continue
    if (at - runFrom >= DATA_RUN_BYTES) data += at - runFrom
    runFrom = at + 1
  }
  return body.length - data
}
